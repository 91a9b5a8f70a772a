//===- replay_log.h - The file that a run is repeated from ----------------===//
//
// Text, a line each; docs/asynchronous.md describes the format. It has which
// trainer took which ticket, and in which order each owner applied updates and
// answered pulls. All numbers of a run follow from these, from its program and
// its flags.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_REPLAY_LOG_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_REPLAY_LOG_H

#include "asynchronous/order.h"
#include "asynchronous/shape.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::asynchronous {

/// The tickets between two agreements.
struct RecordedRound {
  int64_t end = 0;  ///< the tickets before this one
  int64_t line = 0; ///< of the file that it was read from
  std::vector<std::vector<BucketOrder>> orders; ///< by rank and bucket
  std::vector<std::vector<StepRecord>> steps;   ///< by rank, in order
};

struct ReplayLog {
  Shape shape;
  int64_t first = 0;    ///< the first ticket
  int64_t arrivals = 0; ///< updates that each bucket contained before
  /// What a run that repeats it must have alike: {"steps", "200"}.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<RecordedRound> rounds;

  /// Returns the number of the ticket after the last one.
  int64_t end() const { return rounds.empty() ? first : rounds.back().end; }
};

/// Returns the lines before the first round. Names of facts have no spaces, and
/// facts no line breaks.
std::string printHeader(const ReplayLog &log);
/// Returns the line before the ranks' lines of a round.
std::string printRound(int64_t end);
/// Returns the last line of the file.
std::string printEnd();

/// Parses `text`, read from the file `path`. Throws runtime::Error that begins
/// with the path and the line. Checks that the text is a log, not that a run
/// can have made it.
ReplayLog parseReplayLog(const std::string &path, const std::string &text);

/// Collects what one rank does in a round. Allocates.
class Recorder {
public:
  Recorder(int rank, int buckets) : rank(rank), orders(buckets) {}

  /// The owner has applied an update, or has answered a pull, of `trainer`.
  void add(OrderEntry::Kind kind, int bucket, int trainer, int64_t step,
           uint64_t digest = 0) {
    orders[bucket].push_back({kind, trainer, step, digest});
  }
  /// The trainer has ended a step.
  void add(const StepRecord &step) { steps.push_back(step); }

  /// Returns the rank's lines of the round, and forgets them.
  std::string takeLines();

private:
  const int rank;
  std::vector<BucketOrder> orders; ///< by bucket
  std::vector<StepRecord> steps;
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_REPLAY_LOG_H
