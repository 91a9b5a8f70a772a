//===- executor.cpp - Runs a rank's actions -------------------------------===//

#include "executor/executor.h"

#include "base/error.h"
#include "executor/non_finite_step.h"
#include "executor/rank.h"
#include "executor/step_trace.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::runtime {

ppopt_step_state stepStateOf(const StepSettings &settings) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  ppopt_step_state state;
  state.lr = settings.learningRate;
  state.weight_decay = settings.weightDecay;
  state.beta1 = settings.beta1;
  state.beta2 = settings.beta2;
  state.eps = settings.eps;
  state.momentum = settings.momentum;
  state.bias_correction1 = 1 - std::pow(settings.beta1, settings.updates + 1);
  state.bias_correction2 = 1 - std::pow(settings.beta2, settings.updates + 1);
  state.clip = settings.clip > 0 ? settings.clip
                                 : std::numeric_limits<double>::infinity();
  // The average begins with the parameters of the first update.
  state.average_weight = settings.updates == 0 ? 1 : 1 - settings.averageDecay;
  state.clip_scale = unknown;
  state.hold = unknown;
  return state;
}

namespace {

using device::DevicePointer;

/// Returns whether the action is a wait for an operation of an earlier step
/// that is no longer in flight.
bool isOver(const ppopt_rank &rank, const Action &action) {
  return action.kind == ActionKind::wait && action.carried &&
         !rank.communicator->isStarted(int(action.operation));
}

class Executor {
public:
  Executor(ppopt_rank &rank, const StepSettings &settings,
           const ExecutorOptions &options, StepTrace *trace = nullptr,
           PhaseBoard *board = nullptr)
      : rank(rank), settings(settings), options(options), trace(trace),
        board(board),
        activity(rank.transport ? &rank.transport->activity() : nullptr),
        waitedBefore(rank.collectives.waited()) {
    rank.calls.setPoison(options.poison);
    rank.collectives.observe(trace, board);
    rank.recording.launchTrace =
        trace && trace->recordsCalls() ? trace : nullptr;
  }

  /// In training all rows of the batch count.
  void setStepState();
  void setStepState(bool training, int64_t rows, int64_t allRows,
                    int64_t batches);
  void run(const std::vector<Action> &actions) {
    run(actions, 0, actions.size());
  }
  void run(const std::vector<Action> &actions, size_t begin, size_t end);
  void run(const std::vector<Action> &actions, StepObserver &observer);

  double waitedSeconds() const {
    return std::chrono::duration<double>(waited + rank.collectives.waited() -
                                         waitedBefore)
        .count();
  }
  /// Steps count from 1 in messages, as in the log.
  int64_t stepNumber() const { return settings.step + 1; }

private:
  DevicePointer at(const Action &action, const Address &address) const {
    return rank.places.memoryOf(action.place).at(address);
  }
  void performMeasured(const Action &action);
  /// Returns the bytes that the action has moved between places, if it did a
  /// whole transfer or collective of a local launch.
  std::optional<int64_t> perform(const Action &action);
  void runTask(const Action &action);
  /// Returns whether the action may block.
  bool blocks(const Action &action) const {
    return action.kind == ActionKind::wait && rank.communicator->waitsBlock();
  }
  void measure(const Action &action, Clock::time_point begin,
               Clock::duration waitedInTask, std::optional<int64_t> moved);

  ppopt_rank &rank;
  const StepSettings &settings;
  const ExecutorOptions &options;
  StepTrace *const trace;
  PhaseBoard *const board;
  comm::Activity *const
      activity;             ///< null for a single rank, which has no watch
  Clock::duration waited{}; ///< between tasks
  const Clock::duration waitedBefore; ///< by tasks, before this run
};

void Executor::setStepState() {
  int64_t rows = rank.program.plan.rowsOfProgram();
  setStepState(/*training=*/true, rows, rows, /*batches=*/1);
}

void Executor::setStepState(bool training, int64_t rows, int64_t allRows,
                            int64_t batches) {
  const ppopt_step_state state = stepStateOf(settings);
  ppopt_key key;
  key.seed = settings.seed;
  key.step = settings.updates;
  key.training = training;
  key.rows = rows;
  key.all_rows = allRows;
  key.batches = batches;
  for (const std::unique_ptr<PlaceMemory> &held : rank.places.memory) {
    if (!held)
      continue;
    held->stepState() = state;
    std::copy_n(held->coordinates, PPOPT_MAX_AXES, key.coordinates);
    for (key.microbatch = 0; key.microbatch < rank.program.plan.microbatches;
         ++key.microbatch)
      held->key(key.microbatch) = key;
    rank.device->copyIn(rank.compute, held->at(held->place.stepState),
                        held->image.data(), int64_t(held->image.size()));
  }
}

void Executor::run(const std::vector<Action> &actions, size_t begin,
                   size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Action &action = actions[i];
    if (activity)
      activity->enterAction(i);
    if (!isOver(rank, action))
      performMeasured(action);
    if (options.poison)
      for (const DeadRange &dead : action.dead)
        rank.device->fill(rank.compute, at(action, dead.begin), 0xFF,
                          dead.bytes);
  }
}

void Executor::performMeasured(const Action &action) {
  if (board)
    board->enter(rank.program, action);
  if (!blocks(action) && !trace && !rank.recording.profile) {
    perform(action);
    return;
  }
  Clock::time_point begin = Clock::now();
  Clock::duration before = rank.collectives.waited();
  std::optional<int64_t> moved = perform(action);
  measure(action, begin, rank.collectives.waited() - before, moved);
}

/// Records how long an action took, for whoever asks. `waitedInTask` is the
/// part of a run in which its task waited.
void Executor::measure(const Action &action, Clock::time_point begin,
                       Clock::duration waitedInTask,
                       std::optional<int64_t> moved) {
  if (trace || rank.recording.profile)
    rank.device->synchronize(rank.compute);
  Clock::time_point end = Clock::now();
  if (rank.recording.launchTimes)
    rank.recording.launchTimes->collect();
  if (blocks(action))
    waited += end - begin;
  if (trace && (action.kind == ActionKind::run || blocks(action) || moved))
    trace->record(action, begin, end);
  if (!rank.recording.profile)
    return;
  if (moved)
    rank.recording.profile->recordMove(action, *moved, end - begin);
  else if (action.kind != ActionKind::wait || blocks(action))
    rank.recording.profile->record(action, end - begin - waitedInTask);
}

void Executor::run(const std::vector<Action> &actions, StepObserver &observer) {
  rank.collectives.observe(trace, board, &observer);
  for (const Action &action : actions) {
    if (isOver(rank, action) || observer.leavesOut(action))
      continue;
    perform(action);
    observer.performed(action);
  }
}

std::optional<int64_t> Executor::perform(const Action &action) {
  switch (action.kind) {
  case ActionKind::run:
    runTask(action);
    break;
  case ActionKind::zero:
    rank.device->fill(rank.compute, at(action, action.address), 0,
                      action.bytes);
    break;
  case ActionKind::start:
    return rank.communicator->start(int(action.operation));
  case ActionKind::wait:
    rank.communicator->wait(int(action.operation));
    break;
  }
  return std::nullopt;
}

void Executor::runTask(const Action &action) {
  rank.collectives.beginTask(action);
  if (trace)
    trace->enterRun(action);
  rank.calls.run(action);
  rank.collectives.endTask();
}

/// Returns, in words, that the loss is not finite, or the norm if the step has
/// one; else an empty text.
std::string describeNonFinite(const StepResult &result, bool hasNorm) {
  std::vector<std::string> bad;
  if (!std::isfinite(result.loss))
    bad.push_back(fmt::format("the loss is {}", spellNonFinite(result.loss)));
  if (hasNorm && !std::isfinite(result.gradNorm))
    bad.push_back(fmt::format("the gradient norm is {}",
                              spellNonFinite(result.gradNorm)));
  return fmt::format("{}", fmt::join(bad, " and "));
}

void checkCounter(const ppopt_rank &rank, int64_t step, const char *what,
                  int64_t actual, int64_t predicted) {
  if (actual != predicted)
    throw Error("step {}, rank {}: {} {}, and the program predicted {}", step,
                rank.index, actual, what, predicted);
}

void checkPredicted(const ppopt_rank &rank, const StepResult &result,
                    int64_t step) {
  const Predicted &predicted = rank.predicted;
  checkCounter(rank, step, "launches", result.launches, predicted.launches);
  checkCounter(rank, step, "FLOPs of matmuls", result.flops, predicted.flops);
  if (rank.options.collectives != comm::Collectives::Native)
    checkCounter(rank, step, "bytes sent", result.bytesSent,
                 predicted.bytesSent);
}

/// Throws Error if the tasks of this rank decided otherwise about the step's
/// updates than its results say. A rank that updates alone trains on with other
/// parameters than the others.
void checkDecision(const ppopt_rank &rank, const StepResult &result,
                   int64_t step) {
  std::string wrong = rank.results.wrongDecision(!result.skipped.empty());
  if (wrong.empty())
    return;
  throw Error("step {}, rank {}: {}, and {}: this is an error of ppopt, or of "
              "the machine; do not use the parameters of this run",
              step, rank.index,
              result.skipped.empty() ? "the loss and the norm are finite"
                                     : result.skipped,
              wrong);
}

/// Records a step in the trace, and its operations as they end: those that the
/// step leaves in flight end later, in another step, an evaluation, or
/// finishSteps().
class Tracing {
public:
  Tracing(ppopt_rank &rank, StepTrace *trace, int64_t step)
      : rank(rank), trace(trace) {
    if (!trace)
      return;
    trace->beginStep(step);
    rank.communicator->observe(trace);
  }
  ~Tracing() {
    if (!trace)
      return;
    trace->endStep();
    if (!trace->hasOperationsInFlight())
      rank.communicator->observe(nullptr);
  }

private:
  ppopt_rank &rank;
  StepTrace *const trace;
};

} // namespace

/// Returns whether a run among these actions of an evaluation is of a prologue.
static bool isOfPrologue(const Program &program,
                         const std::vector<Action> &actions, size_t begin,
                         size_t end) {
  return std::any_of(actions.begin() + int64_t(begin),
                     actions.begin() + int64_t(end), [&](const Action &each) {
                       return each.kind == ActionKind::run &&
                              program.tasks[each.task].kind ==
                                  TaskKind::prologue;
                     });
}

StepResult runStep(ppopt_rank &rank, const StepSettings &settings,
                   const ExecutorOptions &options) {
  Counters before = rank.calls.counters();
  int64_t bytesBefore = rank.communicator->bytesStarted();
  Executor executor(rank, settings, options, options.trace,
                    rank.recording.board);
  Clock::time_point begin = Clock::now();
  executor.setStepState();
  {
    Tracing tracing(rank, options.trace, executor.stepNumber());
    bool isGraph = false;
    if (options.trace)
      executor.run(rank.places.actions);
    else
      isGraph =
          rank.stepGraph.run(rank, [&] { executor.run(rank.places.actions); });
    rank.results.enqueue();
    rank.communicator->synchronize(isGraph); // the step ends here
  }

  StepResult result;
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.waitedSeconds = executor.waitedSeconds();
  result.skipped = rank.results.missing();
  if (result.skipped.empty()) {
    result.loss = rank.results.loss();
    result.gradNorm = rank.results.gradNorm();
    result.skipped =
        describeNonFinite(result, rank.places.own.norm.has_value());
    result.isBad = !result.skipped.empty();
  }
  checkDecision(rank, result, executor.stepNumber());
  result.launches = rank.calls.counters().launches - before.launches;
  result.flops = rank.calls.counters().flops - before.flops;
  result.bytesSent = rank.communicator->bytesStarted() - bytesBefore;
  if (options.checkPredicted && result.skipped.empty())
    checkPredicted(rank, result, executor.stepNumber());
  return result;
}

void exchangeAverages(ppopt_rank &rank, const ExecutorOptions &options) {
  const StepSettings settings;
  Executor(rank, settings, options).run(rank.places.averageActions);
  rank.communicator->synchronize(/*isGraph=*/false);
}

void finishSteps(ppopt_rank &rank) {
  for (const Action &action : rank.places.actions)
    if (action.kind == ActionKind::wait && action.carried &&
        !isOver(rank, action))
      rank.communicator->wait(int(action.operation));
  rank.communicator->synchronize(/*isGraph=*/false);
  rank.communicator->observe(nullptr);
}

void replayStep(ppopt_rank &rank, const StepSettings &settings,
                StepObserver &observer) {
  finishSteps(rank); // the observer may skip the waits for the last step
  const ExecutorOptions options;
  Executor executor(rank, settings, options);
  executor.setStepState();
  executor.run(rank.places.actions, observer);
  finishSteps(rank);
}

std::optional<EvalResult> runEvaluation(ppopt_rank &rank,
                                        const StepSettings &settings,
                                        const ExecutorOptions &options,
                                        const Evaluation &evaluation) {
  Executor executor(rank, settings, options);
  const std::vector<Action> &actions = rank.places.evalActions;
  for (size_t begin = 0, end; begin < actions.size(); begin = end) {
    size_t repeated = begin;
    while (repeated < actions.size() &&
           (repeated == begin || !actions[repeated].beginsPart) &&
           actions[repeated].isOncePerEvaluation())
      ++repeated;
    end = std::max(repeated, begin + 1);
    while (end < actions.size() && !actions[end].beginsPart)
      ++end;
    executor.run(actions, begin, repeated);
    bool sums = isOfPrologue(rank.program, actions, repeated, end);
    EvaluatedBatches batches = sums ? evaluation.summed : evaluation.computed;
    for (size_t i = 0; repeated < end && i < batches.size; ++i) {
      if (!sums && evaluation.stops())
        return std::nullopt;
      const EvaluatedBatch &batch = batches.data[i];
      evaluation.fill(batch, i + 1 == batches.size ? nullptr : &batch + 1);
      executor.setStepState(/*training=*/false, batch.rows, evaluation.rows,
                            evaluation.batches);
      executor.run(actions, repeated, end);
      rank.communicator->synchronize(
          /*isGraph=*/false); // the host fills the inputs of the next batch
    }
  }
  rank.results.enqueue();
  rank.results.enqueueMetrics();
  rank.communicator->synchronize(/*isGraph=*/false);
  EvalResult result;
  result.skipped = rank.results.missing();
  if (result.skipped.empty()) {
    result.loss = rank.results.loss();
    result.metrics = rank.results.metrics();
  }
  return result;
}

EvalResult runEvaluation(ppopt_rank &rank, const StepSettings &settings,
                         const ExecutorOptions &options) {
  int64_t rows = rank.program.plan.rowsOfProgram();
  const EvaluatedBatch batch{/*batch=*/0, /*part=*/0, rows};
  const EvaluatedBatches one{&batch, 1};
  auto isThere = [](const EvaluatedBatch &, const EvaluatedBatch *) {};
  return *runEvaluation(
      rank, settings, options,
      {one, one, rows, /*batches=*/1, isThere, [] { return false; }});
}

} // namespace ppopt::runtime
