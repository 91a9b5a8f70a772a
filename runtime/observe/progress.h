//===- progress.h - The progress lines and the log of a run ---------------===//
//
// Writes lines for people to standard output (to standard error if standard
// output is for generated text), JSON lines for programs to a file, and numbers
// for TensorBoard; docs/running.md lists them. Used by rank 0 only. Writing a
// step allocates nothing. If the process dies, all are complete up to the last
// step. On a terminal a step's line replaces the previous one; some are kept.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_PROGRESS_H
#define PPOPT_RUNTIME_OBSERVE_PROGRESS_H

#include "checkpoint/checkpoint_manifest.h"
#include "executor/executor.h"
#include "observe/event_file.h"
#include "observe/live_line.h"
#include "observe/log_file.h"
#include "observe/reported.h"
#include "observe/trainer_steps.h"
#include "options/options.h"
#include "program/program.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppopt::train {

/// The totals of one rank at the end of a run.
struct RankReport {
  double seconds = 0, waitedSeconds = 0; ///< timed steps; waits in them
  // Of the rank's process.
  int64_t peakBytes = 0;     ///< peak resident memory
  int64_t hugePageBytes = 0; ///< anonymous memory in huge pages now
};

/// Fills in the memory of this process.
void reportMemory(RankReport &report);

class Progress {
public:
  /// `first` is the run's first step. Throws Error if a file cannot be opened.
  Progress(const runtime::Program &program, const Options &options,
           int64_t first);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Prints a line for people only.
  void note(const std::string &text);
  /// `transport`: "threads", "mpi" or "local".
  void start(const char *transport);
  /// Logs for each parameter the path that it is from; empty: it is drawn.
  void
  origins(const std::vector<std::pair<std::string, std::string>> &parameters);
  /// `step` counts from 0. `staleness`: of what the trainers of an asynchronous
  /// run have pulled for it. `metrics`: of its batch, as Program::metrics;
  /// empty if they were not computed.
  void step(int64_t step, double learningRate,
            const runtime::StepResult &result, double milliseconds,
            const asynchronous::Staleness *staleness = nullptr,
            const std::vector<double> &metrics = {});
  /// Logs a step of a trainer, whose number is `trainer`.
  void trainerStep(int64_t trainer, const TrainerStep &step);
  /// An evaluation: its loss (NaN if no sample has one), the samples that it is
  /// over, of how many, what they are called ("windows"), and of its batches
  /// those left out because they have no counted target, or an id that is out
  /// of range.
  struct Evaluated {
    double loss;
    int64_t samples, allSamples;
    std::string unit;
    int64_t batches, uncounted, bad;
    std::vector<double> metrics; ///< as Program::metrics
    /// The best one so far, this one among them; none: they are not compared.
    std::optional<BestRecord> best;
  };
  /// After `steps` steps.
  void evaluation(int64_t steps, const Evaluated &evaluated,
                  double milliseconds);
  /// Reports a written checkpoint. It took `milliseconds`, and training was
  /// paused for `stood` of them.
  void checkpoint(int64_t steps, const std::string &path, uint64_t bytes,
                  double milliseconds, double stood);
  /// Reports a checkpoint that could not be written. `last` is the path of the
  /// newest one, or empty.
  void checkpointFailed(int64_t steps, const std::string &error,
                        const std::string &last);
  /// Shows on a terminal how many of all rows are predicted.
  void predicting(int64_t rows, int64_t allRows, double seconds);
  /// Reports that all are, and where they are written.
  void predicted(int64_t rows, double seconds, const std::string &path);
  /// Reports that a signal ended the run after `steps` steps.
  void stopped(int signal, int64_t steps);
  /// Reports that the run ends after `steps` steps, since too many evaluations
  /// were not better than this one.
  void endedEarly(int64_t steps, const BestRecord &best);
  /// Prints the table of a rank's profile and logs its JSON lines.
  void profile(const std::string &table, const std::string &records);
  /// `ranks` has one report per rank, in rank order. `peakFlops` is what each
  /// rank's device reaches at most in the program's matmuls, per second; 0:
  /// unknown.
  void summary(const std::vector<RankReport> &ranks, double peakFlops);

private:
  void print(fmt::memory_buffer &line);
  void showStep(int64_t step, fmt::memory_buffer &line, double secondsLeft,
                bool keeps);
  /// Shows a line on a terminal, after the share of the run that is `done`.
  void showLive(double done, double secondsLeft, std::string_view line);
  bool isKept(int64_t step) const;
  std::string describeWorkers(const char *transport) const;
  bool oneProcess() const { return transport_ != "mpi"; }

  const runtime::Program &program_;
  const Options &options_;
  const int64_t first_; ///< the first step, counted from 0
  WorkUnit unit_;
  std::vector<Reported> stepNumbers_, evaluationNumbers_;
  std::string transport_;
  LogFile log_;
  EventFile events_;
  std::FILE *const out_; ///< for people
  LiveLine live_;
  /// The time of the last step line that was kept.
  std::chrono::steady_clock::time_point kept_ =
      std::chrono::steady_clock::now();
  // All steps except the first, which touches memory for the first time.
  int64_t timedSteps_ = 0;
  double timedMilliseconds_ = 0, leastMilliseconds_ = 0;
  double firstMilliseconds_ = 0;
  int64_t stepsDone_ = 0, stepsSkipped_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_PROGRESS_H
