//===- progress.h - What a run tells: lines and the log -------------------===//
//
// Lines for people on standard output, or where that is for a generated text on
// standard error, and JSON lines for programs in a file;
// docs/running.md has the fields. Used by rank 0 only. Writing a step allocates
// nothing and leaves both complete up to that step if the process dies. On a
// terminal a step's line takes the place of the one before; some are kept.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_PROGRESS_H
#define PPOPT_RUNTIME_OBSERVE_PROGRESS_H

#include "executor/executor.h"
#include "observe/live_line.h"
#include "options/options.h"
#include "program/program.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// Counts what a step processes, for "tok/s" and "samples/s".
struct WorkUnit {
  const char *name; ///< "tok" or "samples"
  int64_t perStep;
};

/// Tokens where an input is integers of rank 2, else rows of the batch.
WorkUnit workUnitOf(const runtime::Program &program);

/// What a rank tells of itself at the end.
struct RankReport {
  double seconds = 0, waitedSeconds = 0; ///< of timed steps; in waits of it
  // Of its process.
  int64_t peakBytes = 0;     ///< resident at most
  int64_t hugePageBytes = 0; ///< of anonymous memory in huge pages now
};

/// Fills in what the report has of this process.
void reportMemory(RankReport &report);

class Progress {
public:
  /// Opens the log, if one is asked for: a new one, or where a run is resumed
  /// from step `first`, the one that is there. Throws Error.
  Progress(const runtime::Program &program, const Options &options,
           int64_t first);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// A line for people only.
  void note(const std::string &text);
  /// `transport`: "threads", "mpi" or "local".
  void start(const char *transport);
  /// `step` counts from 0.
  void step(int64_t step, double learningRate,
            const runtime::StepResult &result, double milliseconds);
  /// After `steps` steps.
  void evaluation(int64_t steps, double loss, int64_t batches,
                  int64_t skippedBatches, int64_t badBatches,
                  double milliseconds);
  /// That one was written: `milliseconds` after it was begun, of which
  /// training stood `stood`.
  void checkpoint(int64_t steps, const std::string &path, uint64_t bytes,
                  double milliseconds, double stood);
  /// That one could not be written; `last` is the newest, or empty.
  void checkpointFailed(int64_t steps, const std::string &error,
                        const std::string &last);
  /// A signal ended the run after `steps` steps.
  void stopped(int signal, int64_t steps);
  /// Of a rank: a table for people, and lines of JSON for the log.
  void profile(const std::string &table, const std::string &records);
  /// `ranks`: of all ranks, in their order.
  void summary(const std::vector<RankReport> &ranks);

private:
  void print(fmt::memory_buffer &line);
  void showStep(int64_t step, fmt::memory_buffer &line, double secondsLeft,
                bool keeps);
  bool isKept(int64_t step) const;
  void logLine(const char *text, size_t size);
  std::string describeWorkers(const char *transport) const;
  bool oneProcess() const { return transport_ != "mpi"; }

  const runtime::Program &program_;
  const Options &options_;
  const int64_t first_; ///< the first step, counted from 0
  WorkUnit unit_;
  std::string transport_;
  int log_ = -1;
  std::FILE *const out_; ///< for people
  LiveLine live_;
  /// When a step's line was kept.
  std::chrono::steady_clock::time_point kept_ =
      std::chrono::steady_clock::now();
  // Of all steps but the first, which touches memory for the first time.
  int64_t timedSteps_ = 0;
  double timedMilliseconds_ = 0, leastMilliseconds_ = 0;
  double firstMilliseconds_ = 0;
  int64_t stepsDone_ = 0, stepsSkipped_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_PROGRESS_H
