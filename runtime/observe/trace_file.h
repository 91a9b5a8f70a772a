//===- trace_file.h - Writes a timeline for Perfetto ----------------------===//
//
// docs/trace.md describes the format.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H
#define PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H

#include "executor/rank.h"
#include "executor/step_trace.h"

#include <cstdint>
#include <string>

namespace ppopt::train {

/// A time base that all ranks share. Ranks of one machine have the same clock.
/// The clocks of different machines are aligned at a barrier.
class CommonClock {
public:
  /// Called once by all ranks. Waits for all of them.
  explicit CommonClock(const ppopt_rank &rank);

  /// Called by all ranks, each with a time of its own. The earliest of these
  /// times becomes 0 on all ranks.
  void setZero(const ppopt_rank &rank, runtime::Clock::time_point own);

  double microseconds(runtime::Clock::time_point moment) const;

private:
  uint64_t machine_;
  runtime::Clock::time_point barrier_, zero_;
};

/// Called by all ranks. Rank 0 writes the traces of all ranks. Throws Error.
void writeTrace(const ppopt_rank &rank, const runtime::StepTrace &trace,
                CommonClock &clock, const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H
