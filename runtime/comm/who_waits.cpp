//===- who_waits.cpp - Which rank holds up the others ---------------------===//

#include "comm/who_waits.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace ppopt::comm {
namespace {

/// Follows the chain of waits to the rank that waits for nobody.
std::string findCause(int rank, const std::map<int, RankWords> &words) {
  std::vector<int> silent;
  for (const auto &[each, said] : words)
    if (!said.answered)
      silent.push_back(each);
  if (!silent.empty())
    return fmt::format("{} {} up the others", fmt::join(silent, ", "),
                       silent.size() == 1 ? "holds" : "hold");
  std::vector<int> path;
  while (std::find(path.begin(), path.end(), rank) == path.end()) {
    path.push_back(rank);
    const RankWords &said = words.at(rank);
    if (!said.waits)
      return fmt::format("{} holds up the others", rank);
    if (words.count(said.waitsFor) == 0)
      return {};
    rank = said.waitsFor;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), rank));
  return fmt::format("{} wait for each other in a circle",
                     fmt::join(path, ", "));
}

} // namespace

RankWords wordsOf(const Activity &activity) {
  Activity::State state = activity.read();
  RankWords words;
  words.answered = true;
  words.waits = state.waitsIn != Activity::WaitsIn::Nothing;
  words.waitsFor = state.waitsFor;
  words.doing = activity.describe(state);
  return words;
}

std::string describeStandstill(int rank, double timeout,
                               const std::map<int, RankWords> &words) {
  std::string text = fmt::format(
      "error: rank {} has waited for longer than --timeout {:g} s\n", rank,
      timeout);
  for (const auto &[each, said] : words)
    text += fmt::format(
        "  rank {}: {}\n", each,
        said.answered
            ? said.doing
            : "does not answer (it is stopped, or its machine hangs)");
  std::string cause = findCause(rank, words);
  if (!cause.empty())
    text += fmt::format("  rank {}\n", cause);
  return text;
}

} // namespace ppopt::comm
