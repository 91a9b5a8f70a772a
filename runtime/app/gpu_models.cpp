//===- gpu_models.cpp - The models of a job's GPUs ------------------------===//

#include "app/gpu_models.h"

#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace ppopt::train {

std::string describeGpuModels(const ppopt_rank &rank) {
  if (!rank.transport || !rank.program.plan.target.gpu)
    return {};
  using Name = std::array<char, 256>;
  Name own{};
  std::string model = rank.device->model();
  std::copy_n(model.begin(), std::min(model.size(), own.size() - 1),
              own.begin());
  std::vector<Name> all(size_t(rank.transport->size()));
  Messages(rank).gather(own.data(), sizeof own, all.data());
  if (rank.index != 0)
    return {};
  std::map<std::string, std::vector<size_t>> ranksOf;
  for (size_t i = 0; i < all.size(); ++i)
    ranksOf[all[i].data()].push_back(i);
  if (ranksOf.size() == 1)
    return {};
  std::vector<std::string> parts;
  for (const auto &[name, ranks] : ranksOf)
    parts.push_back(fmt::format("{} (ranks {})", name, fmt::join(ranks, ", ")));
  return fmt::format("GPUs of several models: {}; the slowest sets the pace",
                     fmt::join(parts, "; "));
}

} // namespace ppopt::train
