//===- rank_loop.cpp - What all runs of a rank do -------------------------===//

#include "app/rank_loop.h"

#include "app/gpu_choice.h"
#include "app/gpu_notes.h"
#include "app/tune_matmuls.h"
#include "base/error.h"
#include "base/stop_signals.h"
#include "executor/devices.h"
#include "executor/initialize.h"
#include "executor/matmul_uses.h"
#include "executor/messages.h"
#include "executor/philox.h"
#include "generate/generate.h"
#include "observe/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ppopt::train {

using runtime::Program;

namespace {

/// Returns true with this probability, for each rank and step anew.
bool isDrawn(double probability, int64_t seed, int64_t step, int64_t rank) {
  float number = runtime::dropoutUniform(seed, runtime::streamOf("delay"),
                                         uint64_t(rank), uint64_t(step));
  return number < probability;
}

runtime::RankOptions rankOptions(const Job &job, const StoredProgram &stored,
                                 comm::Transport *transport) {
  runtime::RankOptions options;
  options.threads = static_cast<int>(job.program.plan.target.threads);
  options.collectives = job.options.collectives;
  if (job.program.plan.target.gpu) {
    options.choice = chooseGpu(
        transport, runtime::identifyDevices(job.program.plan.target.name),
        job.options.shareGpu);
    options.useGraph = job.options.useGraph;
    options.code = stored.code;
  }
  return options;
}

} // namespace

RankLoop::RankLoop(const Job &job, const StoredProgram &stored,
                   comm::Transport *transport)
    : job_(job), program_(job.program), options_(job.options),
      rank_(job.program, stored.tasks, transport,
            rankOptions(job, stored, transport)),
      words_(rank_), samples_(program_, *rank_.device, rank_.places.inputs,
                              program_.plan.batchPart(rank_.index)),
      first_(job.firstStep()), last_(std::max(first_, options_.steps)),
      nonFiniteSteps_(rank_, job.options.skipNonFiniteSteps,
                      job.training ? &*job.training : nullptr),
      control_(rank_) {
  settings_.weightDecay = options_.weightDecay;
  settings_.beta1 = options_.beta1;
  settings_.beta2 = options_.beta2;
  settings_.eps = options_.eps;
  settings_.momentum = options_.momentum;
  settings_.averageDecay = options_.averageDecay.value_or(0);
  settings_.clip = options_.clip;
  settings_.seed = options_.seed;
  executorOptions_.checkPredicted = options_.checkCounters;
  executorOptions_.poison = options_.poison;
  if (!options_.publishPhases.empty())
    board_.emplace(options_.publishPhases, program_.plan.ranks(), rank_.index);
  rank_.recording.board = board_ ? &*board_ : nullptr;
  if (options_.checkReplicas > 0)
    replicas_.emplace(rank_);
  if (rank_.index == 0)
    progress_.emplace(job.program, job.options, first_);
  if (!options_.checkpoint.empty() && !job.prediction)
    checkpoints_.emplace(rank_, job, progress_ ? &*progress_ : nullptr);
}

int RankLoop::run() {
  try {
    return runSteps();
  } catch (...) {
    if (rank_.transport)
      rank_.transport->tellFailure();
    throw;
  }
}

void RankLoop::start() {
  prefetch(first_);
  if (!options_.trace.empty()) {
    std::optional<int64_t> launches;
    if (options_.traceLaunches)
      launches = rank_.predicted.launches;
    trace_.emplace(program_, rank_.places.actions,
                   std::min(options_.traceSteps, options_.steps), launches);
    clock_.emplace(rank_);
    executorOptions_.trace = &*trace_;
  }
  if (options_.profile != Profiled::Nobody) {
    profile_.emplace(program_, rank_.places.actions);
    // Where other ranks' data pass through the host, it takes part in the step.
    if (rank_.device->hasClock() && !rank_.communicator->passesThroughHost())
      rank_.recording.launchTimes.emplace(*rank_.device, rank_.compute,
                                          rank_.predicted.launches);
  }
  std::string tuned;
  if (!options_.tune.empty())
    tuned = tuneMatmuls(rank_, options_.tune);
  // A thread of this process may wait in the driver until its GPU has done all
  // that is in flight, and others for the driver. So libraries load their code
  // before anything in flight waits for other ranks.
  if (rank_.transport && rank_.transport->sharesProcess() &&
      !rank_.communicator->passesThroughHost()) {
    runtime::runMatmulsOnce(rank_);
    rank_.transport->barrier();
  }
  takeParameters();
  std::vector<std::string> gpuNotes = collectGpuNotes(rank_);
  if (!progress_)
    return;
  progress_->start(program_.local    ? "local"
                   : rank_.transport ? rank_.transport->kind()
                                     : "threads");
  if (std::string device = rank_.device->describe(); !device.empty())
    progress_->note("running on " + device);
  for (const std::string &note : gpuNotes)
    progress_->note(note);
  if (!tuned.empty())
    progress_->note(tuned);
  if (rank_.communicator->passesThroughHost() && !program_.local &&
      program_.plan.target.gpu)
    progress_->note(fmt::format(
        "ranks exchange data through host memory, by {} (--collectives={})",
        rank_.transport->kind(), comm::nameOf(options_.collectives)));
  if (std::string why = runtime::StepGraph::whyNot(rank_);
      !why.empty() && !job_.prediction)
    progress_->note("steps run without a CUDA graph: " + why);
  if (replicas_)
    if (std::string alone = replicas_->describeAlone(); !alone.empty())
      progress_->note(alone);
  if (job_.training)
    progress_->note("training on " + job_.training->reader().describe());
  if (job_.prediction)
    progress_->note("predicting from " + job_.prediction->reader().describe());
  for (const std::string &note : job_.notes)
    progress_->note(note);
  if (job_.initial)
    if (auto origins = job_.initial->origins(); !origins.empty())
      progress_->origins(origins);
  if (job_.evaluation)
    progress_->note(fmt::format(
        "evaluating on {} of {} {}: {}{}{}", job_.evalRows,
        job_.evaluation->reader().count(), job_.evaluation->reader().unit(),
        job_.evaluation->reader().describe(),
        program_.plan.mixesRows.empty()
            ? ""
            : fmt::format("; the loss is the mean over batches of {}, since "
                          "their rows can't be computed apart: ",
                          program_.plan.batch),
        program_.plan.mixesRows));
}

void RankLoop::takeParameters() {
  if (job_.resumed) {
    job_.resumed->load(rank_);
    settings_.updates = job_.resumed->manifest().updates;
    return;
  }
  runtime::initializeParameters(rank_, options_.seed);
  if (job_.initial)
    job_.initial->load(*rank_.device, rank_.compute, rank_.places.parameters);
}

void RankLoop::beginStep(int64_t step, bool isTimed) {
  enter(comm::Activity::Part::Step, step + 1);
  if (board_)
    board_->beginStep(step + 1);
  publish(runtime::Phase::other);
  settings_.step = step;
  if (profile_ && isTimed)
    rank_.recording.profile = &*profile_;
}

runtime::StepResult RankLoop::compute(int64_t step, const Stopwatch &watch) {
  runtime::StepResult result =
      runtime::runStep(rank_, settings_, executorOptions_);
  if (std::string note = rank_.stepGraph.takeNote(); progress_ && !note.empty())
    progress_->note(note);
  enter(comm::Activity::Part::Between, step + 1);
  publish(runtime::Phase::other);
  if (rank_.recording.profile)
    rank_.recording.profile->endStep(watch.elapsed());
  rank_.recording.profile = nullptr;
  double computed = result.seconds - result.waitedSeconds;
  fastest_ = fastest_ == 0 ? computed : std::min(fastest_, computed);
  return result;
}

void RankLoop::count(const runtime::StepResult &result, int64_t number) {
  if (number == 1)
    report_ = {};
  report_.seconds += result.seconds;
  report_.waitedSeconds += result.waitedSeconds;
}

double RankLoop::delayOf(int64_t step) const {
  const Delay &delay = options_.delay;
  if (delay.factor <= 1 || (delay.rank >= 0 && delay.rank != rank_.index))
    return 0;
  return isDrawn(delay.probability, options_.seed, step, rank_.index)
             ? fastest_ * (delay.factor - 1)
             : 0;
}

int64_t RankLoop::countEvalBatches() const {
  int64_t batch = program_.plan.batch;
  return (job_.evalRows + batch - 1) / batch;
}

/// Returns how many rows of a batch of the evaluation count.
int64_t RankLoop::countEvalRows(int64_t batch) const {
  return std::min(program_.plan.batch,
                  job_.evalRows - batch * program_.plan.batch);
}

/// Evaluates over the rows of some batches. A trainer computes its part of each
/// batch, and adds up the sums of inputs of all parts. Returns nothing if the
/// run stops.
std::optional<runtime::EvalResult>
RankLoop::evaluateOver(const std::vector<int64_t> &batches) {
  const runtime::Plan &plan = program_.plan;
  bool byTrainers = plan.isAsynchronous();
  int64_t parts = byTrainers ? plan.batchParts() : 1;
  int64_t rows = plan.rowsOfProgram(), own = plan.batchPart(rank_.index);
  std::vector<runtime::EvaluatedBatch> summed, computed;
  int64_t allRows = 0;
  for (int64_t batch : batches) {
    int64_t counted = countEvalRows(batch);
    allRows += counted;
    for (int64_t part = 0; part < parts; ++part) {
      runtime::EvaluatedBatch each{
          batch, byTrainers ? part : own,
          std::clamp(counted - part * rows, int64_t(0), rows)};
      summed.push_back(each);
      if (each.part == own)
        computed.push_back(each);
    }
  }
  runtime::Evaluation evaluation{{summed.data(), summed.size()},
                                 {computed.data(), computed.size()},
                                 allRows,
                                 int64_t(batches.size()) * parts,
                                 {},
                                 {}};
  evaluation.fill = [&](const runtime::EvaluatedBatch &batch,
                        const runtime::EvaluatedBatch *next) {
    samples_.fill(*job_.evaluation, batch.batch, batch.part);
    if (next)
      samples_.prefetch(*job_.evaluation, next->batch, next->part);
  };
  evaluation.stops = [this] { return control_.agreesToStop(); };
  auto result =
      runtime::runEvaluation(rank_, settings_, executorOptions_, evaluation);
  if (!result)
    return std::nullopt;
  return combine(*result, /*isMean=*/!plan.mixesRows.empty());
}

void RankLoop::lookAtIds(const std::string &what, runtime::EvalResult &result) {
  nonFiniteSteps_.look(what, result);
  if (result.isBad && progress_)
    progress_->note(fmt::format("{}: left out: {}", what, result.skipped));
}

/// Evaluates over the rows of one batch; leaves it out if it has an id that is
/// out of range. Returns nothing if the run stops.
std::optional<runtime::EvalResult> RankLoop::evaluateAlone(int64_t batch) {
  auto result = evaluateOver({batch});
  if (!result)
    return std::nullopt;
  lookAtIds(fmt::format("evaluation, batch {}", batch + 1), *result);
  return result;
}

/// Returns the batches without an id that is out of range.
std::optional<std::vector<int64_t>> RankLoop::leaveBadOut() {
  std::vector<int64_t> good;
  for (int64_t batch = 0; batch < countEvalBatches(); ++batch) {
    auto result = evaluateAlone(batch);
    if (!result)
      return std::nullopt;
    if (!result->isBad)
      good.push_back(batch);
  }
  return good;
}

/// Evaluates over all rows together.
std::optional<RankLoop::Evaluated> RankLoop::evaluateRows() {
  std::vector<int64_t> batches(countEvalBatches());
  std::iota(batches.begin(), batches.end(), 0);
  auto result = evaluateOver(batches);
  if (!result)
    return std::nullopt;
  Evaluated evaluated;
  if (!program_.checks.empty() && result->skipped.empty() &&
      !std::isfinite(result->loss)) {
    auto good = leaveBadOut();
    if (!good)
      return std::nullopt;
    evaluated.bad = int64_t(batches.size() - good->size());
    if (evaluated.bad > 0) {
      batches = std::move(*good);
      result = batches.empty() ? runtime::EvalResult() : evaluateOver(batches);
      if (!result)
        return std::nullopt;
    }
  }
  evaluated.loss = result->loss;
  evaluated.metrics = result->metrics;
  if (result->skipped.empty())
    for (int64_t batch : batches)
      evaluated.rows += countEvalRows(batch);
  else
    evaluated.skipped = int64_t(batches.size());
  return evaluated;
}

/// Returns the mean of the losses of whole batches.
std::optional<RankLoop::Evaluated> RankLoop::evaluateBatches() {
  Evaluated evaluated;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t batch = 0; batch < countEvalBatches(); ++batch) {
    auto result = evaluateAlone(batch);
    if (!result)
      return std::nullopt;
    evaluated.bad += result->isBad;
    if (result->skipped.empty()) {
      sum += result->loss;
      evaluated.metrics.add(result->metrics, program_.metrics,
                            /*isMean=*/true);
      ++counted;
      evaluated.rows += program_.plan.batch;
    } else {
      evaluated.skipped += !result->isBad;
    }
  }
  evaluated.loss = counted > 0 ? sum / static_cast<double>(counted)
                               : std::numeric_limits<double>::quiet_NaN();
  return evaluated;
}

/// Exchanges parameters and averages, if there are some: before the first
/// update there are none.
void RankLoop::exchangeAverages(int64_t stepsDone) {
  if (!program_.plan.ema || settings_.updates == 0)
    return;
  enter(comm::Activity::Part::Average, stepsDone);
  runtime::exchangeAverages(rank_, executorOptions_);
}

bool RankLoop::evaluate(int64_t stepsDone) {
  if (!job_.evaluation)
    return true;
  Stopwatch watch;
  enter(comm::Activity::Part::Evaluation, stepsDone);
  publish(runtime::Phase::evaluate);
  beforeEvaluation();
  exchangeAverages(stepsDone);
  enter(comm::Activity::Part::Evaluation, stepsDone);
  std::optional<Evaluated> evaluated =
      program_.plan.mixesRows.empty() ? evaluateRows() : evaluateBatches();
  exchangeAverages(stepsDone);
  if (!evaluated || control_.agreesToStop())
    return false;
  prefetchTraining(stepsDone);
  enter(comm::Activity::Part::Between, stepsDone);
  publish(runtime::Phase::other);
  double milliseconds = watch.milliseconds();
  std::vector<double> metrics = evaluated->metrics.divided();
  BestEvaluation::Verdict verdict;
  if (checkpoints_)
    verdict = checkpoints_->judge(stepsDone, evaluated->loss, metrics);
  if (progress_)
    progress_->evaluation(
        stepsDone,
        {evaluated->loss, evaluated->rows,
         int64_t(job_.evaluation->reader().count()),
         job_.evaluation->reader().unit(), countEvalBatches(),
         evaluated->skipped, evaluated->bad, std::move(metrics),
         options_.best.isGiven() ? checkpoints_->best() : std::nullopt},
        milliseconds);
  if (verdict.isBest)
    checkpoints_->keepBest(stepsDone, settings_.updates);
  endsEarly_ = verdict.ends && stepsDone < last_;
  return true;
}

int RankLoop::stop(int signal, int64_t stepsDone) {
  runtime::finishSteps(rank_);
  if (progress_)
    progress_->stopped(signal, stepsDone);
  if (checkpoints_)
    checkpoints_->save(stepsDone, settings_.updates);
  reportMemory(report_);
  summarize();
  return stopStatus(signal);
}

void RankLoop::prefetch(int64_t stepsDone) {
  if (job_.evaluation && evaluatesAfter(stepsDone))
    samples_.prefetch(*job_.evaluation, 0);
  else
    prefetchTraining(stepsDone);
}

void RankLoop::prefetchTraining(int64_t step) {
  if (job_.training && step < last_)
    samples_.prefetch(*job_.training, step);
}

int RankLoop::finish(int64_t stepsDone) {
  if (endsEarly_ && progress_)
    progress_->endedEarly(stepsDone, *checkpoints_->best());
  if (checkpoints_)
    checkpoints_->save(stepsDone, settings_.updates);
  if (!endsEarly_ && !evaluate(stepsDone))
    return stop(control_.signal(), stepsDone);
  if (checkpoints_)
    checkpoints_->finish();    // the last evaluation may be the best
  exchangeAverages(stepsDone); // what is written are the averages
  writeOutputs();
  int status = job_.generation ? generateText(rank_, *job_.generation) : 0;
  if (checkpoints_)
    checkpoints_->expectSaved(stepsDone);
  return status;
}

void RankLoop::writeOutputs() {
  runtime::finishSteps(rank_);
  if (trace_) {
    writeTrace(rank_, *trace_, *clock_, options_.trace);
    if (progress_)
      progress_->note("trace written to " + options_.trace);
  }
  if (!options_.exportTo.empty()) {
    exportParameters(rank_, options_.exportTo, job_.exported,
                     job_.exportedBuffers);
    if (progress_)
      progress_->note("parameters written to " + options_.exportTo);
  }
  reportMemory(report_); // before the profile, which allocates memory
  if (profile_)
    reportProfile(rank_, *profile_, options_.profile,
                  progress_ ? &*progress_ : nullptr);
  summarize();
}

/// Returns the peak rate of the fastest type of the program's matmuls; 0 if the
/// device has no data sheet.
double RankLoop::peakFlops() const {
  device::PeakRates rates = rank_.device->knownRates();
  double peak = 0;
  for (const runtime::Matmul &matmul : program_.matmuls)
    peak = std::max(peak, rates.flopsOf(matmul.descriptor.type));
  return peak;
}

void RankLoop::summarize() {
  std::vector<RankReport> reports(program_.plan.ranks(), report_);
  if (reports.size() > 1)
    Messages(rank_).gather(&report_, sizeof report_, reports.data());
  if (progress_)
    progress_->summary(reports, peakFlops());
}

} // namespace ppopt::train
