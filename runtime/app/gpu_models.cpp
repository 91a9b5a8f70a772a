//===- gpu_models.cpp - The models of a job's GPUs ------------------------===//

#include "app/gpu_models.h"

#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

namespace ppopt::train {

std::string describeGpuModels(const ppopt_rank &rank) {
  if (!rank.transport || !rank.program.plan.target.gpu)
    return {};
  std::vector<std::string> models =
      Messages(rank).gatherTexts(rank.device->model());
  std::map<std::string, std::vector<size_t>> ranksOf;
  for (size_t i = 0; i < models.size(); ++i)
    ranksOf[models[i]].push_back(i);
  if (ranksOf.size() < 2)
    return {};
  std::vector<std::string> parts;
  for (const auto &[name, ranks] : ranksOf)
    parts.push_back(fmt::format("{} (ranks {})", name, fmt::join(ranks, ", ")));
  return fmt::format("GPUs of several models: {}; the slowest sets the pace",
                     fmt::join(parts, "; "));
}

} // namespace ppopt::train
