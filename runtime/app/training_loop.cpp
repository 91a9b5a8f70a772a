//===- training_loop.cpp - All steps of one rank --------------------------===//

#include "app/training_loop.h"

#include "app/asynchronous_loop.h"
#include "app/prediction_loop.h"
#include "app/rank_loop.h"

#include <chrono>
#include <thread>

namespace ppopt::train {
namespace {

/// Runs each step together with all other ranks.
class StepLoop final : public RankLoop {
public:
  using RankLoop::RankLoop;

private:
  int runSteps() override {
    start();
    for (int64_t step = first_; step < last_; ++step) {
      if (evaluatesAfter(step) && !evaluate(step))
        return stop(control_.signal(), step);
      if (endsEarly_) {
        checkReplicas(step);
        return finish(step);
      }
      train(step);
      if (checksReplicasAfter(step + 1))
        checkReplicas(step + 1);
      if (control_.agreesToStop())
        return stop(control_.signal(), step + 1);
      if (checkpoints_)
        checkpoints_->afterStep(step + 1, settings_.updates);
    }
    return finish(last_);
  }
  void train(int64_t step);
  std::vector<double> computeMetrics(int64_t step);
  void checkReplicas(int64_t stepsDone) {
    if (!replicas_)
      return;
    runtime::finishSteps(rank_);
    replicas_->run(stepsDone);
  }
  bool checksReplicasAfter(int64_t stepsDone) const {
    return replicas_ &&
           (stepsDone % options_.checkReplicas == 0 || stepsDone == last_);
  }
};

/// Returns the metrics of a step's batch, whose inputs are there, before the
/// step.
std::vector<double> StepLoop::computeMetrics(int64_t step) {
  enter(comm::Activity::Part::Evaluation, step);
  auto result = runtime::runEvaluation(rank_, settings_, executorOptions_);
  lookAtIds(fmt::format("metrics of step {}", step + 1), result);
  enter(comm::Activity::Part::Step, step + 1);
  return result.isBad ? std::vector<double>() : result.metrics.divided();
}

void StepLoop::train(int64_t step) {
  Stopwatch watch;
  beginStep(step, /*isTimed=*/step > first_);
  settings_.learningRate = options_.learningRate.at(step);
  if (job_.training) {
    runtime::LineTimer timer(rank_.recording.profile
                                 ? &rank_.recording.profile->samples()
                                 : nullptr);
    samples_.fill(*job_.training, step);
    prefetch(step + 1);
  }
  std::vector<double> metrics;
  if (options_.metricsEvery > 0 && (step + 1) % options_.metricsEvery == 0)
    metrics = computeMetrics(step);
  // Now, so that the others wait for this rank in the step.
  std::this_thread::sleep_for(std::chrono::duration<double>(delayOf(step)));
  runtime::StepResult result = compute(step, watch);
  // The update does not change gradients.
  if (step == first_ && !options_.dumpGradients.empty())
    exportGradients(rank_, options_.dumpGradients);
  nonFiniteSteps_.look(step, settings_, result);
  count(result, step - first_);
  if (result.skipped.empty())
    ++settings_.updates;
  if (progress_)
    progress_->step(step, settings_.learningRate, result, watch.milliseconds(),
                    /*staleness=*/nullptr, metrics);
}

} // namespace

int runRank(const Job &job, const StoredProgram &stored,
            comm::Transport *transport) {
  if (job.prediction)
    return predict(job, stored, transport);
  return job.program.plan.isAsynchronous()
             ? trainAsynchronously(job, stored, transport)
             : StepLoop(job, stored, transport).run();
}

} // namespace ppopt::train
