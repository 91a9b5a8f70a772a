//===- run_record.h - What --record writes of a modelled run --------------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_RUN_RECORD_H
#define PPOPT_TEST_ASYNCHRONOUS_RUN_RECORD_H

#include "asynchronous/replay_log.h"

#include <string>
#include <vector>

namespace ppopt::asynchronous::test {

/// Collects the records of all ranks, as rank 0 does at each agreement.
class RunRecord {
public:
  explicit RunRecord(const Shape &shape) {
    ReplayLog header;
    header.shape = shape;
    written = printHeader(header);
    for (int rank = 0; rank < shape.ranks(); ++rank)
      ranks.emplace_back(rank, shape.buckets[rank]);
  }

  Recorder &of(int rank) { return ranks[rank]; }
  /// A round has ended after `tickets` tickets.
  void endRound(int64_t tickets) {
    written += printRound(tickets);
    for (Recorder &rank : ranks)
      written += rank.takeLines();
  }
  /// Returns the file's text.
  std::string text() const { return written + printEnd(); }

private:
  std::string written;
  std::vector<Recorder> ranks;
};

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_RUN_RECORD_H
