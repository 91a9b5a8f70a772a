//===- rank_loop.h - What all runs of a rank do ---------------------------===//
//
// A run's parts besides its steps: parameters, evaluation, checkpoints,
// outputs. training_loop.cpp runs in step with the other ranks,
// asynchronous_loop.cpp at a trainer's own pace.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_APP_RANK_LOOP_H
#define PPOPT_RUNTIME_APP_RANK_LOOP_H

#include "app/checkpoints.h"
#include "app/job.h"
#include "app/non_finite_steps.h"
#include "app/step_control.h"
#include "base/stopwatch.h"
#include "data/sample_feed.h"
#include "executor/activity_words.h"
#include "executor/executor.h"
#include "executor/rank.h"
#include "executor/step_trace.h"
#include "observe/progress.h"
#include "observe/replica_check.h"
#include "observe/trace_file.h"
#include "program/compiled_program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {

class RankLoop {
public:
  /// `stored` is the program of the job.
  RankLoop(const Job &job, const StoredProgram &stored,
           comm::Transport *transport);
  virtual ~RankLoop() = default;

  /// Runs all steps; returns the exit status. Other ranks learn of a failure
  /// before this one is destroyed.
  int run();

protected:
  virtual int runSteps() = 0;
  void publish(runtime::Phase phase) {
    if (board_)
      board_->enter(phase);
  }
  /// Publishes the activity of this rank, in or after step `steps`.
  void enter(comm::Activity::Part part, int64_t steps) {
    if (rank_.transport)
      rank_.transport->activity().enter(part, steps);
  }
  /// Whatever comes before the first step.
  void start();
  bool evaluatesAfter(int64_t stepsDone) const {
    return stepsDone == last_ ||
           (options_.evalEvery > 0 && stepsDone % options_.evalEvery == 0) ||
           (stepsDone == first_ && checkpoints_ &&
            checkpoints_->evaluatesFirst());
  }
  /// Returns false, and reports nothing, if the run stops. Sets `endsEarly_`.
  bool evaluate(int64_t stepsDone);
  /// Leaves out what was evaluated with an id that is out of range, or throws.
  void lookAtIds(const std::string &what, runtime::EvalResult &result);
  /// Starts reading the next samples.
  void prefetch(int64_t stepsDone);
  /// Begins a step. `isTimed`: it takes part in the profile.
  void beginStep(int64_t step, bool isTimed);
  /// Runs a step that has begun, with `settings_`, on inputs that are there.
  /// `watch` has run since the step began.
  runtime::StepResult compute(int64_t step, const Stopwatch &watch);
  /// Adds the rank's step `number` (from 0) of this run to its report. The
  /// first touches memory for the first time, and does not count if others
  /// follow.
  void count(const runtime::StepResult &result, int64_t number);
  /// Returns for how many seconds the rank stands still in a step (--delay): it
  /// takes so many times as long as its fastest step so far. The fastest, since
  /// ranks of one machine slow each other down.
  double delayOf(int64_t step) const;
  /// Stops after a signal. Skips the outputs that follow the last step
  /// (parameters, trace, profile), because the sender may not wait for long.
  int stop(int signal, int64_t stepsDone);
  /// Saves and evaluates after the last step, `stepsDone`, and writes what the
  /// flags ask for. Returns the exit status.
  int finish(int64_t stepsDone);

  /// Prepares an evaluation; called by all ranks.
  virtual void beforeEvaluation() {}
  /// Returns the result of all trainers, the same on all ranks, from that of
  /// this rank's trainer: the sum of their losses, or their mean.
  virtual runtime::EvalResult combine(const runtime::EvalResult &own,
                                      bool isMean) {
    return own;
  }
  /// Starts reading the samples of the first step after `stepsDone`.
  virtual void prefetchTraining(int64_t stepsDone);

private:
  /// What an evaluation has found so far.
  struct Evaluated {
    double loss;
    runtime::MetricSums metrics;
    int64_t rows = 0;
    int64_t skipped = 0, bad = 0; ///< batches without a count, or with bad ids
  };
  int64_t countEvalBatches() const;
  int64_t countEvalRows(int64_t batch) const;
  std::optional<runtime::EvalResult>
  evaluateOver(const std::vector<int64_t> &batches);
  std::optional<Evaluated> evaluateRows();
  std::optional<Evaluated> evaluateBatches();
  std::optional<std::vector<int64_t>> leaveBadOut();
  std::optional<runtime::EvalResult> evaluateAlone(int64_t batch);
  void exchangeAverages(int64_t stepsDone);
  void takeParameters();
  void writeOutputs();
  void summarize();
  double peakFlops() const;

protected:
  const Job &job_;
  const runtime::Program &program_;
  const Options &options_;
  std::optional<runtime::PhaseBoard> board_;
  ppopt_rank rank_;
  runtime::ActivityWords words_;
  SampleFeed samples_;
  const int64_t first_;    ///< the first step
  const int64_t last_;     ///< total steps at the end
  bool endsEarly_ = false; ///< after the evaluation that was the last one
  runtime::StepSettings settings_; ///< `updates` counts those made so far
  runtime::ExecutorOptions executorOptions_;
  NonFiniteSteps nonFiniteSteps_;
  RankReport report_;
  double fastest_ = 0; ///< seconds of the fastest step, without waits; 0: none
  StepControl control_;
  std::optional<ReplicaCheck> replicas_;
  std::optional<runtime::StepTrace> trace_;
  std::optional<CommonClock> clock_; ///< for the trace
  std::optional<runtime::StepProfile> profile_;
  std::optional<Progress> progress_; ///< on rank 0
  std::optional<Checkpoints> checkpoints_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RANK_LOOP_H
