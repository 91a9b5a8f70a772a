//===- who_waits.h - Which rank holds up the others -----------------------===//

#ifndef PPOPT_COMM_WHO_WAITS_H
#define PPOPT_COMM_WHO_WAITS_H

#include "comm/activity.h"

#include <map>
#include <string>

namespace ppopt::comm {

/// A rank's answer to the question what it does.
struct RankWords {
  bool answered = false;
  bool waits = false;
  int waitsFor = Activity::anyRank;
  std::string doing;
};

/// Returns the answer of a rank of this process.
RankWords wordsOf(const Activity &activity);

/// Returns what to print if `rank` has waited for longer than `timeout`
/// seconds: one line per rank, and which rank holds up the others. Ends with a
/// line break.
std::string describeStandstill(int rank, double timeout,
                               const std::map<int, RankWords> &words);

} // namespace ppopt::comm

#endif // PPOPT_COMM_WHO_WAITS_H
