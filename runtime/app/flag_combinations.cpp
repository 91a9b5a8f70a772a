//===- flag_combinations.cpp - Flags that contradict each other -----------===//

#include "app/flag_combinations.h"

#include "base/usage_error.h"
#include "observe/reported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ppopt::train {

using runtime::Program;

bool isAdam(const Program &program) {
  return program.plan.optimizer != schema::Optimizer::sgd;
}

bool hasMomentum(const Program &program) {
  auto keepsStates = [](const runtime::Place &place) {
    return std::any_of(place.parameters.begin(), place.parameters.end(),
                       [](const auto &held) { return !held.states.empty(); });
  };
  return !isAdam(program) &&
         std::any_of(program.places.begin(), program.places.end(), keepsStates);
}

namespace {

void checkOptimizer(const Program &program, const Flags &flags) {
  const std::string optimizer = spell(program.plan.optimizer);
  for (const char *flag : {"--betas", "--eps"})
    if (flags.has(flag) && !isAdam(program))
      throw UsageError("{}: this executable's optimizer is {}, which does not "
                       "use it (compile with --optimizer adamw)",
                       flag, optimizer);
  if (flags.has("--momentum") && !hasMomentum(program))
    throw UsageError("--momentum: this executable's optimizer is {}, which "
                     "keeps no velocity",
                     optimizer);
  if (flags.has("--ema") && !program.plan.ema)
    throw UsageError("--ema: this executable keeps no average of its "
                     "parameters (compile with --ema)");
}

void checkSamples(const Program &program, const Options &options,
                  const Flags &flags) {
  auto exclusive = [](const std::vector<std::string> &a, const char *flagA,
                      const std::vector<std::string> &b, const char *flagB) {
    if (!a.empty() && !b.empty())
      throw UsageError("{} and {}: give one of them", flagA, flagB);
  };
  exclusive(options.data, "--data", options.inputs, "--inputs");
  exclusive(options.evalData, "--eval-data", options.evalInputs,
            "--eval-inputs");
  bool tokens = !options.data.empty() || !options.evalData.empty();
  bool evaluates = !options.evalData.empty() || !options.evalInputs.empty();
  if (flags.has("--tokens") && !tokens)
    throw UsageError("--tokens: needs --data or --eval-data");
  if (!options.shuffle && options.data.empty() && options.inputs.empty())
    throw UsageError("--no-shuffle: needs --data or --inputs");
  for (const char *flag : {"--share-gpu", "--no-graph", "--tune"})
    if (flags.has(flag) && !program.plan.target.gpu)
      throw UsageError("{}: this program runs on CPUs; leave it out", flag);
  if (!options.tune.empty() &&
      program.plan.matmul == schema::MatmulSource::generated)
    throw UsageError(
        "--tune: this program was compiled with --matmul "
        "generated, and its kernels have no choices; leave it out");
  if (!options.tune.empty() && !options.trains)
    throw UsageError("--tune: does nothing for --generate without training; "
                     "leave it out");
  for (const char *flag : {"--eval-every", "--eval-batches"})
    if (flags.has(flag) && !evaluates)
      throw UsageError("{}: needs --eval-data or --eval-inputs", flag);
  if (options.metricsEvery > 0 && program.metrics.empty())
    throw UsageError("--metrics-every: this program has no metrics: name "
                     "results of the model's function {pp.metric = \"name\"}");
  if (options.metricsEvery > 0 && program.plan.isAsynchronous())
    throw UsageError("--metrics-every: ranks do not step together with --sync; "
                     "leave it out, and see evaluations");
  if (options.metricsEvery > 0 && options.data.empty() &&
      options.inputs.empty())
    throw UsageError("--metrics-every: needs --data or --inputs");
  if (options.steps > 0 && options.data.empty() && options.inputs.empty() &&
      !program.inputs.empty())
    throw UsageError("no samples to train on: give --data PATH (tokens) or "
                     "--inputs FILE.safetensors (the tensors {})",
                     [&] {
                       std::vector<std::string> names;
                       for (const auto &input : program.inputs)
                         names.push_back(input.name);
                       return fmt::format("{}", fmt::join(names, ", "));
                     }());
}

/// Checks --collectives, and sets its default.
void chooseCollectives(const Program &program, Options &options,
                       const Flags &flags) {
  const bool hasGpus = program.plan.target.gpu && !program.local;
  if (!flags.has("--collectives")) {
    if (hasGpus && !options.shareGpu && program.plan.ranks() > 1)
      options.collectives = comm::Collectives::Device;
    return;
  }
  if (options.collectives != comm::Collectives::Device)
    return;
  if (!hasGpus)
    throw UsageError(
        "--collectives=nccl: the ranks of this program have no "
        "GPUs of their own; use --collectives=ring or leave it out");
  if (options.shareGpu)
    throw UsageError("--collectives=nccl: NCCL takes one rank per GPU; leave "
                     "out --share-gpu, or use --collectives=ring");
}

/// Checks the flags of --generate. Without samples and --steps, the executable
/// only generates, from existing parameters.
void checkGeneration(Options &options, const Flags &flags) {
  if (options.generate == 0) {
    for (const char *flag :
         {"--prompt", "--temperature", "--top-k", "--tokenizer"})
      if (flags.has(flag))
        throw UsageError("{}: needs --generate N", flag);
    return;
  }
  if (options.temperature == 0 && options.topK > 0)
    throw UsageError("--top-k: has no effect if --temperature is 0");
  if (!options.data.empty() || !options.inputs.empty() || flags.has("--steps"))
    return;
  if (options.init.paths.empty() && !options.resume)
    throw UsageError("--generate: no parameters to generate with: give --init "
                     "FILE, --checkpoint FOLDER --resume, or samples to train "
                     "on");
  options.trains = false;
  options.steps = 0;
}

/// Checks the flags of a run that predicts, and that there are no others.
void checkPrediction(const Program &program, Options &options,
                     const Flags &flags) {
  if (options.predict.empty()) {
    for (const char *flag : {"--output", "--only"})
      if (flags.has(flag))
        throw UsageError("{}: needs --predict PATH", flag);
    return;
  }
  static const std::set<std::string> used = {
      "--predict",       "--output",        "--only",       "--init",
      "--init-map",      "--init-missing",  "--init-extra", "--init-prefix",
      "--init-resize",   "--init-averages", "--resume",     "--timeout",
      "--checkpoint",    "--collectives",   "--share-gpu",  "--poison",
      "--publish-phases"};
  for (const auto &[flag, value] : flags.given())
    if (used.count(flag) == 0)
      throw UsageError("{}: a run that predicts (--predict) does not use it; "
                       "leave it out",
                       flag);
  if (options.output.empty())
    throw UsageError("--predict: give -o FILE.safetensors, to which the "
                     "outputs are written");
  if (!options.checkpoint.empty() && !options.resume)
    throw UsageError("--checkpoint: --predict saves nothing; give --resume to "
                     "take the newest parameters in the folder");
  if (options.init.paths.empty() && !options.resume)
    throw UsageError("--predict: no parameters to predict with: give --init "
                     "FILE, or --checkpoint FOLDER --resume");
  std::vector<std::string> names;
  for (const runtime::Output &output : program.outputs)
    names.push_back(output.name);
  for (const std::string &name : options.only)
    if (std::count(names.begin(), names.end(), name) == 0)
      throw UsageError("--only: the model has no output '{}', but {}", name,
                       fmt::join(names, ", "));
  options.trains = false;
  options.steps = 0;
}

/// Numbers of one name would be one curve.
void checkTensorboard(const Program &program, const Options &options) {
  std::set<std::string> names;
  for (const Reported &number : numbersOfStep(program))
    if (!names.insert(number.name).second && !options.tensorboard.empty())
      throw UsageError("--tensorboard: the model's metric '{}' would have the "
                       "tag of another number of a step, train/{}; rename it",
                       number.name, number.name);
}

void checkFiles(const Options &options, const Flags &flags) {
  for (const char *flag : {"--init-map", "--init-missing", "--init-extra",
                           "--init-prefix", "--init-resize", "--init-averages"})
    if (flags.has(flag) && options.init.paths.empty())
      throw UsageError("{}: needs --init FILE", flag);
  if (!options.exportMap.empty() && options.exportTo.empty())
    throw UsageError("--export-map: needs --export FILE");
  if (flags.has("--trace-steps") && options.trace.empty())
    throw UsageError("--trace-steps: needs --trace");
  if (options.traceLaunches && options.trace.empty())
    throw UsageError("--trace-launches: needs --trace");
  if (options.profile != Profiled::Nobody && options.steps < 2)
    throw UsageError("--profile: excludes the first step: needs --steps 2 or "
                     "more");
}

void checkCheckpoints(const Options &options, const Flags &flags) {
  for (const char *flag : {"--checkpoint-every", "--keep", "--keep-best",
                           "--resume", "--checkpoint-memory"})
    if (flags.has(flag) && options.checkpoint.empty())
      throw UsageError("{}: needs --checkpoint FOLDER", flag);
  if (options.resume && !options.init.paths.empty())
    throw UsageError("--resume and --init: give one of them (a checkpoint "
                     "has the parameters)");
}

/// Checks --keep-best and --stop-after-no-better, and finds the number that the
/// former names.
void checkBest(const Program &program, Options &options, const Flags &flags) {
  BestBy &best = options.best;
  if (flags.has("--stop-after-no-better") && !flags.has("--keep-best"))
    throw UsageError("--stop-after-no-better: needs --keep-best NAME, which "
                     "says what is better");
  if (!flags.has("--keep-best"))
    return;
  if (!flags.has("--eval-every"))
    throw UsageError("--keep-best: needs --eval-every N: there is one "
                     "evaluation only");
  for (const char *flag : {"--record", "--replay"})
    if (flags.has(flag) && options.stopAfterNoBetter > 0)
      throw UsageError("--stop-after-no-better and {}: a recorded run has all "
                       "its steps; leave one out",
                       flag);
  std::vector<std::string> names = {"loss"};
  for (const schema::Metric &metric : program.metrics)
    names.push_back(metric.name);
  auto isKnown = [&](const std::string &name) {
    return std::count(names.begin(), names.end(), name) > 0;
  };
  std::string given = best.name;
  size_t colon = given.rfind(':');
  std::string order = colon == std::string::npos ? "" : given.substr(colon);
  if (!isKnown(given) && (order == ":min" || order == ":max"))
    best.name = given.substr(0, colon);
  else
    order.clear();
  if (!isKnown(best.name))
    throw UsageError("--keep-best {}: an evaluation gives no such number, but "
                     "{}",
                     given, fmt::join(names, ", "));
  best.isLeast = order.empty() ? best.name == "loss" : order == ":min";
}

void checkAsynchronous(const Program &program, const Options &options,
                       const Flags &flags) {
  const runtime::Plan &plan = program.plan;
  if (options.delay.rank >= plan.ranks())
    throw UsageError("--delay: there is no rank {}: the program has {}",
                     options.delay.rank, plan.ranks());
  if (!plan.isAsynchronous()) {
    for (const char *flag : {"--record", "--replay"})
      if (flags.has(flag))
        throw UsageError(
            "{}: this program was compiled with --sync step, which "
            "has one order; leave it out",
            flag);
    return;
  }
  std::string sync = fmt::format("--sync {}", spell(plan.sync));
  if (!options.record.empty() && !options.replay.empty())
    throw UsageError("--record and --replay: a replay writes what it reads; "
                     "give one of them");
  if (options.checkReplicas > 0)
    throw UsageError("--check-replicas: this program was compiled with {}, and "
                     "no two ranks have copies that are equal; leave it out",
                     sync);
  if (!options.dumpGradients.empty() && plan.axisSize("dp") > 1)
    throw UsageError("--dump-gradients: this program was compiled with {}, "
                     "whose gradients are not summed; leave it out",
                     sync);
}

void checkLearningRate(const Options &options, const Flags &flags) {
  const LearningRateSchedule &rate = options.learningRate;
  if (flags.has("--min-lr") && rate.shape == LearningRateShape::Constant)
    throw UsageError("--min-lr: needs a --lr-schedule that falls, such as "
                     "linear or cosine");
  if (flags.has("--lr-decay-steps") && rate.shape != LearningRateShape::Wsd)
    throw UsageError("--lr-decay-steps: needs --lr-schedule wsd");
  if (rate.shape == LearningRateShape::InverseSqrt && rate.warmup == 0)
    throw UsageError("--lr-schedule inverse-sqrt: needs --warmup, whose last "
                     "step has the highest rate");
  if (rate.shape != LearningRateShape::Constant && rate.least > rate.peak)
    throw UsageError("--min-lr {}: more than --lr {}", rate.least, rate.peak);
}

void checkEpochs(const Options &options, const Flags &flags) {
  if (options.epochs == 0)
    return;
  if (flags.has("--steps"))
    throw UsageError("--epochs and --steps: leave one of them out");
  if (options.data.empty() && options.inputs.empty())
    throw UsageError("--epochs: needs --data or --inputs");
}

} // namespace

void setSteps(Options &options, int64_t steps) {
  options.steps = steps;
  LearningRateSchedule &rate = options.learningRate;
  rate.steps = steps;
  if (rate.warmup > steps && options.trains)
    throw UsageError("--warmup {}: more than --steps {}", rate.warmup, steps);
  if (rate.shape != LearningRateShape::Wsd)
    return;
  int64_t left = std::max<int64_t>(steps - rate.warmup, 0);
  if (rate.decaySteps > left)
    throw UsageError("--lr-decay-steps {}: with --warmup {} more than --steps "
                     "{}",
                     rate.decaySteps, rate.warmup, steps);
  if (rate.decaySteps == 0)
    rate.decaySteps = std::min(std::max<int64_t>(steps / 10, 1), left);
}

void checkCombinations(const Program &program, Options &options,
                       const Flags &flags) {
  checkGeneration(options, flags);
  checkPrediction(program, options, flags);
  checkOptimizer(program, flags);
  checkSamples(program, options, flags);
  chooseCollectives(program, options, flags);
  checkFiles(options, flags);
  checkTensorboard(program, options);
  checkCheckpoints(options, flags);
  checkBest(program, options, flags);
  checkAsynchronous(program, options, flags);
  checkLearningRate(options, flags);
  checkEpochs(options, flags);
  if (options.epochs == 0)
    setSteps(options, options.steps);
}

} // namespace ppopt::train
