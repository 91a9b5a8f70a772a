//===- trace_file.h - What ran when, for Perfetto -------------------------===//
//
// docs/trace.md has the form.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H
#define PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H

#include "executor/rank.h"
#include "executor/step_trace.h"

#include <cstdint>
#include <string>

namespace ppopt::train {

/// A moment that all ranks know of, to compare their clocks by. Ranks of one
/// machine have one clock; those of others are as near as a barrier allows.
class CommonClock {
public:
  /// Called by all ranks, once: waits for all.
  explicit CommonClock(const ppopt_rank &rank);

  /// Called by all ranks, each with a moment of its own: afterwards the
  /// earliest of them is 0 on all.
  void setZero(const ppopt_rank &rank, runtime::Clock::time_point own);

  double microseconds(runtime::Clock::time_point moment) const;

private:
  uint64_t machine_;
  runtime::Clock::time_point barrier_, zero_;
};

/// Called by all ranks: rank 0 writes what all have recorded. Throws Error.
void writeTrace(const ppopt_rank &rank, const runtime::StepTrace &trace,
                CommonClock &clock, const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_TRACE_FILE_H
