//===- gpu_notes.cpp - What the log says of a job's GPUs ------------------===//

#include "app/gpu_notes.h"

#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ppopt::train {
namespace {

using RanksOf = std::map<std::string, std::vector<size_t>>;

std::string describeModels(const std::vector<std::string> &models) {
  RanksOf ranksOf;
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

} // namespace

std::vector<std::string> collectGpuNotes(const ppopt_rank &rank) {
  if (!rank.program.plan.target.gpu)
    return {};
  std::vector<std::string> notes = rank.device->fallbacks();
  if (!rank.transport)
    return notes;
  Messages messages(rank);
  std::vector<std::string> models = messages.gatherTexts(rank.device->model()),
                           all = messages.gatherTexts(
                               fmt::format("{}", fmt::join(notes, "\n")));
  notes.clear();
  if (std::string text = describeModels(models); !text.empty())
    notes.push_back(text);
  RanksOf ranksOf;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t begin = 0, end; begin < all[i].size(); begin = end + 1) {
      end = std::min(all[i].find('\n', begin), all[i].size());
      ranksOf[all[i].substr(begin, end - begin)].push_back(i);
    }
  for (const auto &[text, ranks] : ranksOf)
    notes.push_back(fmt::format("{} (ranks {})", text, fmt::join(ranks, ", ")));
  return notes;
}

} // namespace ppopt::train
