//===- who_waits.h - Which rank holds up the others -----------------------===//

#ifndef PPOPT_COMM_WHO_WAITS_H
#define PPOPT_COMM_WHO_WAITS_H

#include "comm/activity.h"

#include <map>
#include <string>

namespace ppopt::comm {

/// What a rank said when it was asked.
struct RankWords {
  bool answered = false;
  bool waits = false;
  int waitsFor = Activity::anyRank;
  std::string doing;
};

/// What this process knows of a rank of its own.
RankWords wordsOf(const Activity &activity);

/// What to print where `rank` has waited for longer than `timeout` seconds: a
/// line for each rank, and who holds up the others. Ends with a line break.
std::string describeStandstill(int rank, double timeout,
                               const std::map<int, RankWords> &words);

} // namespace ppopt::comm

#endif // PPOPT_COMM_WHO_WAITS_H
