//===- executor.cpp - Runs a rank's actions -------------------------------===//

#include "executor/executor.h"

#include "base/error.h"
#include "device/host_access.h"
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

namespace {

using device::DevicePointer;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double readNumber(const ppopt_rank &rank, DevicePointer address,
                  ElementType type) {
  auto as = [&](auto number) {
    return double(
        device::read<decltype(number)>(*rank.device, rank.compute, address));
  };
  switch (type) {
  case ElementType::f32:
    return as(float());
  case ElementType::f64:
    return as(double());
  case ElementType::i32:
    return as(int32_t());
  case ElementType::i64:
    return as(int64_t());
  default: // readProgram allows no other type for scalars
    return unknown;
  }
}

class Executor {
public:
  Executor(ppopt_rank &rank, const StepSettings &settings,
           const ExecutorOptions &options, StepTrace *trace = nullptr,
           PhaseBoard *board = nullptr)
      : rank(rank), settings(settings), options(options), trace(trace),
        board(board),
        activity(rank.transport ? &rank.transport->activity() : nullptr) {}

  void setStepState(bool training);
  void run(const std::vector<Action> &actions);
  void run(const std::vector<Action> &actions, StepObserver &observer);
  void checkFinite();

  /// Returns the loss after the last action; NaN if a zero count stopped the
  /// step.
  double loss() const {
    return stopped ? unknown
                   : readNumber(rank, rank.at(rank.place.loss),
                                rank.program.lossType);
  }
  double gradNorm() const { return norm.value_or(unknown); }
  double waitedSeconds() const {
    return std::chrono::duration<double>(waited).count();
  }
  /// Steps count from 1 in messages, as in the log.
  int64_t stepNumber() const { return settings.step + 1; }

  std::string skipped;
  bool isBad = false; ///< not finite: skip tasks of kind "update"

private:
  DevicePointer at(const Action &action, const Address &address) const {
    return rank.memoryOf(action.place).at(address);
  }
  void perform(const Action &action);
  void runTask(const Action &action);
  void writeStepState(PlaceMemory &held);
  void start(const Action &action);
  void finish(int operation);
  void drain();
  /// Returns whether the action may block.
  bool blocks(const Action &action) const {
    return action.kind == ActionKind::wait && !rank.localChannels;
  }
  /// Returns whether the action that was just performed did a whole transfer or
  /// collective of a local launch.
  bool movedData(const Action &action) const {
    return action.kind == ActionKind::start && rank.localChannels &&
           rank.localChannels->done(int(action.operation));
  }
  void measure(const Action &action, Clock::time_point begin);
  void checkCounts(const Action &action);
  void takeNorm(const Action &action);

  ppopt_rank &rank;
  const StepSettings &settings;
  const ExecutorOptions &options;
  StepTrace *const trace;
  PhaseBoard *const board;
  comm::Activity
      *const activity; ///< null for a single rank, which has no watch
  Clock::duration waited{};
  std::optional<double> norm; ///< set by the action "norm"
  bool stopped = false;       ///< by check_counts: skip the remaining actions
};

void Executor::setStepState(bool training) {
  ppopt_step_state state;
  state.lr = settings.learningRate;
  state.weight_decay = settings.weightDecay;
  state.beta1 = settings.beta1;
  state.beta2 = settings.beta2;
  state.eps = settings.eps;
  state.momentum = settings.momentum;
  state.bias_correction1 = 1 - std::pow(settings.beta1, settings.updates + 1);
  state.bias_correction2 = 1 - std::pow(settings.beta2, settings.updates + 1);
  state.clip_scale = 1;
  state.seed = settings.seed;
  state.step = settings.updates;
  state.training = training;
  state.microbatch = 0;
  for (const std::unique_ptr<PlaceMemory> &held : rank.memory) {
    if (!held)
      continue;
    std::copy_n(held->stepState.coordinates, PPOPT_MAX_AXES, state.coordinates);
    held->stepState = state;
    writeStepState(*held);
  }
}

void Executor::writeStepState(PlaceMemory &held) {
  rank.device->copyIn(rank.compute, held.at(held.place.stepState),
                      &held.stepState, sizeof held.stepState);
  rank.device->synchronize(rank.compute); // the next run changes it
}

void Executor::run(const std::vector<Action> &actions) {
  for (const Action &action : actions) {
    if (board)
      board->enter(rank.program, action);
    if (activity)
      activity->enterAction(&action - actions.data());
    if (blocks(action) || trace || rank.profile) {
      Clock::time_point begin = Clock::now();
      perform(action);
      measure(action, begin);
    } else {
      perform(action);
    }
    if (options.poison)
      for (const DeadRange &dead : action.dead)
        rank.device->fill(rank.compute, at(action, dead.begin), 0xFF,
                          dead.bytes);
    if (stopped)
      return drain();
  }
}

/// Records how long an action took, for whoever asks.
void Executor::measure(const Action &action, Clock::time_point begin) {
  if (trace || rank.profile)
    rank.device->synchronize(rank.compute);
  Clock::time_point end = Clock::now();
  bool moved = movedData(action);
  if (blocks(action))
    waited += end - begin;
  if (trace && (action.kind == ActionKind::run || blocks(action) || moved))
    trace->record(action, begin, end);
  if (!rank.profile)
    return;
  if (moved)
    rank.profile->recordMove(
        action, rank.localChannels->bytesMoved(int(action.operation)),
        end - begin);
  else if (action.kind != ActionKind::wait || blocks(action))
    rank.profile->record(action, end - begin);
}

void Executor::run(const std::vector<Action> &actions, StepObserver &observer) {
  for (const Action &action : actions) {
    if (observer.leavesOut(action))
      continue;
    perform(action);
    observer.performed(action);
  }
}

void Executor::perform(const Action &action) {
  switch (action.kind) {
  case ActionKind::run:
    return runTask(action);
  case ActionKind::zero:
    return rank.device->fill(rank.compute, at(action, action.address), 0,
                             action.bytes);
  case ActionKind::start:
    return start(action);
  case ActionKind::wait:
    return finish(int(action.operation));
  case ActionKind::checkCounts:
    return checkCounts(action);
  case ActionKind::norm:
    return takeNorm(action);
  }
}

void Executor::runTask(const Action &action) {
  if (isBad && rank.program.tasks[action.task].kind == TaskKind::update)
    return;
  PlaceMemory &held = rank.memoryOf(action.place);
  if (held.stepState.microbatch != action.microbatch) {
    held.stepState.microbatch = action.microbatch;
    writeStepState(held);
  }
  for (size_t i = 0, e = action.arguments.size(); i < e; ++i)
    rank.arguments[i] = at(action, action.arguments[i]).opaque();
  rank.tasks[action.task](
      &rank, rank.arguments.data(),
      static_cast<char *>(at(action, action.temporaries).opaque()));
  if (rank.failure)
    std::rethrow_exception(rank.failure);
}

void Executor::start(const Action &action) {
  int operation = int(action.operation);
  if (!rank.localChannels && !rank.channels)
    return; // one rank: the sum is complete
  rank.staging.start(operation);
  if (rank.localChannels) {
    rank.localChannels->start(operation);
  } else {
    if (trace)
      trace->begin(action);
    rank.channels->start(operation);
  }
  rank.inFlight.push_back(operation);
}

void Executor::finish(int operation) {
  if (rank.localChannels)
    rank.localChannels->wait(operation);
  else if (rank.channels)
    rank.channels->wait(operation);
  else
    return;
  rank.staging.finish(operation);
  auto &inFlight = rank.inFlight;
  inFlight.erase(std::find(inFlight.begin(), inFlight.end(), operation));
}

/// Waits for the sums in flight before their buffers are reused. All ranks
/// leave the actions with the same sums and no transfer in flight
/// (readProgram rejects others).
void Executor::drain() {
  while (!rank.inFlight.empty())
    finish(rank.inFlight.front());
}

void Executor::checkCounts(const Action &action) {
  const Place &place = rank.memoryOf(action.place).place;
  for (size_t i = 0; i < rank.program.counts.size(); ++i) {
    const Count &count = rank.program.counts[i];
    if (readNumber(rank, at(action, place.counts[i].address), count.type) != 0)
      continue;
    stopped = true;
    skipped =
        fmt::format("the batch has none of: {} ({})", count.name, count.source);
    return;
  }
}

/// Loss and norm have the same bits on all ranks, so all ranks decide alike.
void Executor::takeNorm(const Action &action) {
  norm =
      std::sqrt(readNumber(rank, at(action, action.address), ElementType::f64));
  checkFinite();
  if (!isBad && settings.clip > 0 && *norm > settings.clip)
    for (const std::unique_ptr<PlaceMemory> &held : rank.memory)
      if (held) {
        held->stepState.clip_scale = settings.clip / *norm;
        writeStepState(*held);
      }
}

void Executor::checkFinite() {
  if (stopped)
    return; // there is no loss
  std::vector<std::string> bad;
  if (double value = loss(); !std::isfinite(value))
    bad.push_back(fmt::format("the loss is {}", spellNonFinite(value)));
  if (norm && !std::isfinite(*norm))
    bad.push_back(
        fmt::format("the gradient norm is {}", spellNonFinite(*norm)));
  isBad = !bad.empty();
  if (isBad)
    skipped = fmt::format("{}", fmt::join(bad, " and "));
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
  if (rank.options.collectives == comm::Collectives::Ring)
    checkCounter(rank, step, "bytes sent", result.bytesSent,
                 predicted.bytesSent);
}

/// Records a step in the trace, and its operations as they end. Evaluations use
/// the same channels and are not traced.
class Tracing {
public:
  Tracing(ppopt_rank &rank, StepTrace *trace, int64_t step)
      : rank(rank), trace(trace) {
    if (!trace)
      return;
    trace->beginStep(step);
    if (rank.channels)
      rank.channels->observe(trace);
  }
  ~Tracing() {
    if (!trace)
      return;
    trace->endStep();
    if (rank.channels)
      rank.channels->observe(nullptr);
  }

private:
  ppopt_rank &rank;
  StepTrace *const trace;
};

} // namespace

StepResult runStep(ppopt_rank &rank, const StepSettings &settings,
                   const ExecutorOptions &options) {
  Counters before = rank.counters;
  int64_t bytesBefore = rank.bytesSent();
  Executor executor(rank, settings, options, options.trace, rank.board);
  Clock::time_point begin = Clock::now();
  executor.setStepState(/*training=*/true);
  {
    Tracing tracing(rank, options.trace, executor.stepNumber());
    executor.run(rank.actions);
  }
  executor.checkFinite(); // a program without updates has no action "norm"

  StepResult result;
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.waitedSeconds = executor.waitedSeconds();
  result.loss = executor.loss();
  result.gradNorm = executor.gradNorm();
  result.skipped = std::move(executor.skipped);
  result.isBad = executor.isBad;
  result.launches = rank.counters.launches - before.launches;
  result.flops = rank.counters.flops - before.flops;
  result.bytesSent = rank.bytesSent() - bytesBefore;
  if (options.checkPredicted && result.skipped.empty())
    checkPredicted(rank, result, executor.stepNumber());
  return result;
}

void replayStep(ppopt_rank &rank, const StepSettings &settings,
                StepObserver &observer) {
  const ExecutorOptions options;
  Executor executor(rank, settings, options);
  executor.setStepState(/*training=*/true);
  executor.run(rank.actions, observer);
}

EvalResult runEvaluation(ppopt_rank &rank, const StepSettings &settings,
                         const ExecutorOptions &options) {
  Executor executor(rank, settings, options);
  executor.setStepState(/*training=*/false);
  executor.run(rank.evalActions);
  EvalResult result;
  result.loss = executor.loss();
  result.skipped = std::move(executor.skipped);
  return result;
}

} // namespace ppopt::runtime
