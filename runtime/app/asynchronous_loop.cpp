//===- asynchronous_loop.cpp - All steps of a rank of a trainer -----------===//

#include "app/asynchronous_loop.h"

#include "app/rank_loop.h"
#include "app/run_order.h"
#include "asynchronous/replay_log.h"
#include "base/error.h"
#include "base/stop_signals.h"
#include "executor/messages.h"
#include "executor/owned_buckets.h"
#include "executor/serving.h"
#include "executor/trainers.h"
#include "observe/trainer_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace ppopt::train {
namespace {

using asynchronous::Trainer;

/// Steps of the trainer begin with a ticket and end with a push. Between two
/// rounds all ranks do the same: they evaluate, save, end.
class AsynchronousLoop final : public RankLoop {
public:
  AsynchronousLoop(const Job &job, const StoredProgram &stored,
                   comm::Transport *transport)
      : RankLoop(job, stored, transport),
        trainers_(schema::trainersOf(program_.plan)),
        trainer_(runtime::trainerOf(program_.plan, rank_.index)),
        leaders_(runtime::membersLike(program_.plan, /*rank=*/0)),
        buckets_(rank_, settings_), steps_(trainers_, first_) {}
  ~AsynchronousLoop() override {
    if (serving_)
      rank_.background.remove(*serving_);
  }

private:
  int runSteps() override;
  int64_t nextAgreement(int64_t stepsDone) const;
  int stopEarly(int signal, int64_t stepsDone);
  void runRound(int64_t stepsDone, int64_t end);
  void train();
  void report(const runtime::StepResult &result);
  void collect(int rank, const TrainerStep &step);
  void agreeOnUpdates();
  void standStill(double seconds);
  void beforeEvaluation() override { buckets_.gather(); }
  runtime::EvalResult combine(const runtime::EvalResult &own,
                              bool isMean) override;
  runtime::MetricSums combineMetrics(const runtime::EvalResult &own,
                                     bool isMean);
  void prefetchTraining(int64_t stepsDone) override;

  const int64_t trainers_, trainer_;
  const std::vector<int> leaders_; ///< the first rank of each trainer
  runtime::OwnedBuckets buckets_;
  TrainerSteps steps_;
  std::optional<RunOrder> order_;
  std::optional<runtime::Serving> serving_;
  int64_t own_ = 0; ///< steps of this rank
  Stopwatch sinceStep_, sinceWhole_;
  TrainerStep step_;
};

/// Returns the number of steps after which the next round ends.
int64_t AsynchronousLoop::nextAgreement(int64_t stepsDone) const {
  int64_t next = last_;
  auto every = [&](int64_t steps) {
    if (steps > 0)
      next = std::min(next, (stepsDone / steps + 1) * steps);
  };
  if (job_.evaluation)
    every(options_.evalEvery);
  if (checkpoints_)
    every(options_.checkpointEvery);
  return next;
}

int AsynchronousLoop::runSteps() {
  start();
  std::vector<int64_t> agreements; // tickets
  for (int64_t done = first_; done < last_;)
    agreements.push_back((done = nextAgreement(done)) * trainers_);
  order_.emplace(rank_, job_, first_ * trainers_, settings_.updates,
                 agreements);
  const TrainerStep none;
  auto receive = [this](int rank, const void *step) {
    collect(rank, *static_cast<const TrainerStep *>(step));
  };
  serving_.emplace(rank_.transport, int(program_.unusedChannel()) + 1,
                   runtime::shapeOf(program_), runtime::ranksOf(program_.plan),
                   rank_.index, buckets_, first_ * trainers_, settings_.updates,
                   runtime::ServedReports{sizeof none, &none, receive});
  order_->apply(*serving_);
  rank_.background.add(*serving_);
  for (int64_t done = first_; done < last_;) {
    if (evaluatesAfter(done) && !evaluate(done))
      return stopEarly(control_.signal(), done);
    if (endsEarly_)
      return finish(done);
    runRound(done, nextAgreement(done));
    agreeOnUpdates();
    order_->write(*serving_, serving_->agreement().ticket);
    done = serving_->agreement().ticket / trainers_;
    if (int signal = serving_->agreement().signal)
      return stopEarly(signal, done);
    bool saves =
        options_.checkpointEvery > 0 && done % options_.checkpointEvery == 0;
    if (checkpoints_ && saves)
      checkpoints_->save(done, settings_.updates);
  }
  order_->finish();
  return finish(last_);
}

/// Returns the exit status.
int AsynchronousLoop::stopEarly(int signal, int64_t stepsDone) {
  if (progress_ && !options_.record.empty())
    progress_->note("--record " + options_.record +
                    ": nothing is written of a run that was stopped");
  return stop(signal, stepsDone);
}

/// Runs steps until all before `end` are done, by whichever trainer.
void AsynchronousLoop::runRound(int64_t stepsDone, int64_t end) {
  using Phase = Trainer::Phase;
  enter(comm::Activity::Part::Step, stepsDone + 1);
  sinceStep_ = {};
  sinceWhole_ = {};
  serving_->beginRound(end * trainers_);
  while (true) {
    serving_->serveUntil([&] {
      return serving_->phase() == Phase::Computes ||
             serving_->phase() == Phase::Between;
    });
    if (serving_->phase() == Phase::Between)
      return;
    train();
  }
}

/// Computes the step of a ticket, from inputs to pushes.
void AsynchronousLoop::train() {
  int64_t ticket = serving_->ticket(), step = ticket / trainers_;
  Stopwatch watch;
  beginStep(step, /*isTimed=*/own_ > 0);
  // Updates of one batch together have the rate of a step.
  double rate = options_.learningRate.at(step) / double(trainers_);
  settings_.learningRate = rate;
  settings_.updates = ticket; // of random numbers: parts of a batch differ
  if (job_.training) {
    runtime::LineTimer timer(rank_.recording.profile
                                 ? &rank_.recording.profile->samples()
                                 : nullptr);
    samples_.fill(*job_.training, step, ticket % trainers_);
    // The one that this trainer gets if all are as fast.
    if (step + 1 < last_)
      samples_.prefetch(*job_.training, step + 1, ticket % trainers_);
  }
  serving_->waitForPushes();
  runtime::StepResult result = compute(step, watch);
  if (own_ == 0 && !options_.dumpGradients.empty())
    exportGradients(rank_, options_.dumpGradients);
  nonFiniteSteps_.look(step, settings_, result);
  standStill(delayOf(ticket));
  step_ = {};
  step_.computed = watch.seconds();
  report(result);
  serving_->signal(StopSignals::noted());
  serving_->computed(result.skipped.empty(), buckets_.clipScale(), rate,
                     &step_);
}

/// Fills in what rank 0 learns of the step.
void AsynchronousLoop::report(const runtime::StepResult &result) {
  step_.ticket = serving_->ticket();
  step_.loss = result.loss;
  step_.norm = result.gradNorm;
  step_.learningRate = settings_.learningRate * double(trainers_);
  step_.seconds = sinceStep_.seconds();
  sinceStep_ = {};
  runtime::Serving::Waits waits = serving_->waits();
  step_.waitedTicket = waits.ticket;
  step_.waitedAnswers = waits.answers;
  step_.held = waits.held;
  step_.staleness = serving_->staleness();
  step_.launches = result.launches;
  step_.flops = result.flops;
  step_.bytesSent = result.bytesSent;
  if (!result.skipped.empty())
    step_.setSkipped(result.skipped);
  runtime::StepResult whole = result;
  whole.seconds = step_.seconds;
  whole.waitedSeconds += waits.ticket + waits.answers;
  count(whole, own_++);
}

/// On rank 0: a rank has told of a step.
void AsynchronousLoop::collect(int rank, const TrainerStep &step) {
  if (step.ticket < 0)
    return;
  auto leader = std::find(leaders_.begin(), leaders_.end(), rank);
  if (leader == leaders_.end())
    return; // it has the loss of its trainer's first rank
  progress_->trainerStep(leader - leaders_.begin(), step);
  for (const TrainerSteps::Whole &whole : steps_.add(step)) {
    progress_->step(whole.step, whole.learningRate, whole.result,
                    sinceWhole_.milliseconds(), &whole.staleness);
    sinceWhole_ = {};
  }
}

/// Makes the rank slow, as if it had computed so long: it serves meanwhile as
/// it does between launches.
void AsynchronousLoop::standStill(double seconds) {
  using namespace std::chrono;
  auto end = steady_clock::now() + duration<double>(seconds);
  while (seconds > 0 && steady_clock::now() < end) {
    serving_->progress();
    std::this_thread::sleep_for(microseconds(50));
  }
}

/// All buckets have had an update for each good ticket.
void AsynchronousLoop::agreeOnUpdates() {
  struct Range {
    int64_t least = INT64_MAX, most = -1;
  } own;
  for (size_t bucket = 0; bucket < buckets_.buckets().size(); ++bucket) {
    int64_t version = serving_->version(int(bucket));
    own.least = std::min(own.least, version);
    own.most = std::max(own.most, version);
  }
  std::vector<Range> all(size_t(program_.plan.ranks()), own);
  Range total;
  if (all.size() > 1)
    Messages(rank_).gather(&own, sizeof own, all.data());
  for (const Range &range : all) {
    total.least = std::min(total.least, range.least);
    total.most = std::max(total.most, range.most);
  }
  if (rank_.index == 0 && total.most >= 0 && total.least != total.most)
    throw runtime::Error(
        "after step {}: buckets have had between {} and {} updates: this is an "
        "error of ppopt; do not use the parameters of this run",
        serving_->agreement().ticket / trainers_, total.least, total.most);
  if (all.size() > 1)
    Messages(rank_).broadcast(&total, sizeof total);
  settings_.updates = std::max<int64_t>(total.most, 0);
}

/// Returns the metrics of all trainers on rank 0, and the rank's own elsewhere.
runtime::MetricSums
AsynchronousLoop::combineMetrics(const runtime::EvalResult &own, bool isMean) {
  size_t count = program_.metrics.size();
  if (count == 0)
    return {};
  // Its values and counts; zeros if it has none.
  std::vector<double> part(2 * count), all(part.size() * program_.plan.ranks());
  std::copy(own.metrics.values.begin(), own.metrics.values.end(), part.begin());
  std::copy(own.metrics.counts.begin(), own.metrics.counts.end(),
            part.begin() + int64_t(count));
  Messages(rank_).gather(part.data(), part.size() * sizeof(double), all.data());
  if (rank_.index != 0)
    return own.metrics;
  runtime::MetricSums whole;
  for (int leader : leaders_) {
    const double *from = &all[size_t(leader) * part.size()];
    whole.add({{from, from + count}, {from + count, from + 2 * count}},
              program_.metrics, isMean);
  }
  return whole;
}

/// Each trainer has evaluated its part of the batches.
runtime::EvalResult AsynchronousLoop::combine(const runtime::EvalResult &own,
                                              bool isMean) {
  if (trainers_ == 1)
    return own;
  struct Part {
    double loss;
    int32_t isCounted;
    int32_t isBad;
  } part{own.loss, own.skipped.empty(), own.isBad};
  std::vector<Part> all(size_t(program_.plan.ranks()));
  Messages messages(rank_);
  messages.gather(&part, sizeof part, all.data());
  Part whole{0, 0, 0};
  if (rank_.index == 0) {
    for (int leader : leaders_) {
      const Part &each = all[size_t(leader)];
      whole.loss += each.isCounted ? each.loss : 0;
      whole.isCounted += each.isCounted;
      whole.isBad |= each.isBad;
    }
    if (isMean)
      whole.loss /= std::max(whole.isCounted, 1);
  }
  messages.broadcast(&whole, sizeof whole);
  runtime::EvalResult result;
  result.metrics = combineMetrics(own, isMean);
  result.isBad = whole.isBad != 0;
  if (whole.isCounted > 0)
    result.loss = whole.loss;
  else
    result.skipped =
        own.skipped.empty() ? "no part has a counted target" : own.skipped;
  return result;
}

void AsynchronousLoop::prefetchTraining(int64_t stepsDone) {
  if (job_.training && stepsDone < last_)
    samples_.prefetch(*job_.training, stepsDone, trainer_);
}

} // namespace

int trainAsynchronously(const Job &job, const StoredProgram &stored,
                        comm::Transport *transport) {
  return AsynchronousLoop(job, stored, transport).run();
}

} // namespace ppopt::train
