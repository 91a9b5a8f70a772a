//===- command_line.cpp - The flags of an executable ----------------------===//

#include "app/command_line.h"

#include "app/flags.h"
#include "base/list_files.h"
#include "base/nearest_name.h"
#include "checkpoint/checkpoint_folder.h"
#include "data/safetensors.h"
#include "generate/bpe_tokenizer.h"
#include "ppopt/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace ppopt::train {
namespace {

using runtime::Program;

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool isAdam(const Program &program) {
  return program.plan.optimizer != schema::Optimizer::sgd;
}

/// Returns whether the optimizer keeps a velocity.
bool hasMomentum(const Program &program) {
  auto keepsStates = [](const runtime::Place &place) {
    return std::any_of(place.parameters.begin(), place.parameters.end(),
                       [](const auto &held) { return !held.states.empty(); });
  };
  return !isAdam(program) &&
         std::any_of(program.places.begin(), program.places.end(), keepsStates);
}

void setDefaults(const Program &program, Options &options) {
  options.learningRate.peak = isAdam(program) ? 3e-4 : 1e-2;
  options.momentum = hasMomentum(program) ? 0.9 : 0.0;
  options.weightDecay =
      program.plan.optimizer == schema::Optimizer::adamw ? 0.01 : 0.0;
}

bool takesAnyFile(std::string_view path) { return isListed(path, ""); }
bool takesSafetensors(std::string_view path) {
  return isListed(path, kTensorExtension);
}

void addSampleFlags(Flags &flags, Options &options) {
  flags.setGroup("Samples");
  flags.paths(
      "--data", options.data,
      "Train on windows of consecutive tokens of these files, or of the files "
      "in these folders: llm.c's .bin files are recognized by their header, "
      "other files are read as bytes",
      takesAnyFile);
  flags.value("--tokens", "bytes|uint16",
              "Format of --data and --eval-data files without an llm.c header: "
              "bytes (default), or uint16 (nanoGPT's .bin files)",
              [&](const std::string &text) {
                options.tokens = static_cast<TokenFormat>(
                    parseChoice("--tokens", text, {"bytes", "uint16"}));
              });
  flags.paths("--inputs", options.inputs,
              "Train on the rows of safetensors files with one tensor per "
              "input",
              takesSafetensors);
  flags.toggle("--no-shuffle", options.shuffle, false,
               "Read the samples in order instead of shuffling them every "
               "epoch");
  flags.paths("--eval-data", options.evalData,
              "Evaluate on these files, read like --data", takesAnyFile);
  flags.paths("--eval-inputs", options.evalInputs,
              "Evaluate on these files, read like --inputs", takesSafetensors);
  flags.integer("--eval-every", options.evalEvery, 1,
                "Evaluate before the first step and after every N steps "
                "(default: only after the last step)");
  flags.integer("--eval-batches", options.evalBatches, 1,
                "Batches per evaluation, evenly spaced over its samples "
                "(default: 8, or fewer if there are not enough samples)");
}

void addTrainingFlags(Flags &flags, Options &options) {
  flags.setGroup("Training");
  flags.integer("--steps", options.steps, 0,
                fmt::format("Optimizer steps (default {})", options.steps));
  flags.number(
      "--lr", options.learningRate.peak, 0, kNoLimit,
      fmt::format("Learning rate (default {})", options.learningRate.peak));
  flags.value("--lr-schedule", "constant|linear|cosine",
              "Learning rate after the warm-up; linear and cosine decay to "
              "--min-lr at the last step (default constant)",
              [&](const std::string &text) {
                options.learningRate.shape = static_cast<LearningRateShape>(
                    parseChoice("--lr-schedule", text,
                                {"constant", "linear", "cosine"}));
              });
  flags.number("--min-lr", options.learningRate.least, 0, kNoLimit,
               "Final learning rate of a linear or cosine schedule (default "
               "0)");
  flags.integer("--warmup", options.learningRate.warmup, 0,
                "Warm-up steps, in which the learning rate rises linearly "
                "(default 0)");
  flags.number("--weight-decay", options.weightDecay, 0, kNoLimit,
               fmt::format("Weight decay of decayed parameters (default {})",
                           options.weightDecay));
  flags.value("--betas", "B1,B2",
              "Adam's decay rates of the moments (default 0.9,0.999)",
              [&](const std::string &text) {
                auto comma = text.find(',');
                if (comma == std::string::npos)
                  throw UsageError("--betas {}: must be two numbers, as in "
                                   "--betas 0.9,0.999",
                                   text);
                std::string first = text.substr(0, comma),
                            second = text.substr(comma + 1);
                options.beta1 = Flags::inRange(
                    "--betas", parseNumber("--betas", first), first, 0, 1);
                options.beta2 = Flags::inRange(
                    "--betas", parseNumber("--betas", second), second, 0, 1);
              });
  flags.value("--eps", "X",
              "Adam's epsilon, added to the root of the second moment "
              "(default 1e-8)",
              [&](const std::string &text) {
                options.eps = parseNumber("--eps", text);
                if (options.eps <= 0)
                  throw UsageError("--eps {}: must be more than 0", text);
              });
  flags.number("--momentum", options.momentum, 0, 1,
               fmt::format("SGD's momentum (default {})", options.momentum));
  flags.number(
      "--clip", options.clip, 0, kNoLimit,
      "Clip the gradient to this global norm (default 0: no clipping)");
  flags.integer(
      "--seed", options.seed, 0,
      "Seed of initial values, sample order, dropout and generated text "
      "(default 0)");
  flags
      .value("--skip-nonfinite-steps", "[N]",
             "Skip the update of a step whose loss or gradient is infinite or "
             "NaN, and continue; stop after more than N such steps in a row "
             "(N defaults to 10)",
             [&](const std::string &text) {
               options.skipNonFiniteSteps =
                   text.empty()
                       ? 10
                       : parseInteger("--skip-nonfinite-steps", text, 1);
             })
      ->expected(0, 1);
}

void addFileFlags(Flags &flags, Options &options) {
  flags.setGroup("Files");
  flags.path("--init", options.init,
             "Initialize the parameters from a safetensors file, by name, or "
             "from a checkpoint's folder");
  flags.path("--init-map", options.initMap,
             "Map of the tensor names and layouts of --init, such as "
             "share/ppopt/maps/gpt2.json (docs/maps.md)");
  flags.output(
      "--export", options.exportTo,
      "Write the parameters after the last step (safetensors, by name)",
      Writing::Whole);
  flags.path("--export-map", options.exportMap,
             "Write --export with the tensor names and layouts of this map");
  flags.output("--log", options.log,
               "Write one line of JSON per step and evaluation",
               Writing::InPlace);
  flags.integer("--log-every", options.logEvery, 1,
                "Print every Nth step (default: every step; on a terminal, "
                "about twenty steps and one per minute, while one line shows "
                "the current step)");
}

void addCheckpointFlags(Flags &flags, Options &options) {
  flags.setGroup("Checkpoints");
  flags.outputFolder("--checkpoint", options.checkpoint,
                     "Save parameters and optimizer states to this folder, "
                     "after the last step and as --checkpoint-every says",
                     checkpointName(1) + "/x.safetensors", isNameInCheckpoints);
  flags.integer("--checkpoint-every", options.checkpointEvery, 1,
                "Also save after every N steps, while training continues");
  flags.integer("--keep", options.keep, 1,
                fmt::format("Number of newest checkpoints to keep (default {})",
                            options.keep));
  flags.toggle("--resume", options.resume, true,
               "Resume from the newest checkpoint in the folder, saved under "
               "any plan; --steps is still the total");
  flags.value("--checkpoint-memory", "BYTES",
              "Memory per rank for the copy that is written while training "
              "continues (default: enough for all that the rank writes)",
              [&](const std::string &text) {
                options.checkpointMemory =
                    parseBytes("--checkpoint-memory", text);
              });
}

void addGenerationFlags(Flags &flags, Options &options) {
  flags.setGroup("Generation");
  flags.integer("--generate", options.generate, 1,
                "After the last step, generate and print N tokens");
  flags.value("--prompt", "TEXT", "Beginning of the generated text",
              [&](const std::string &text) { options.prompt = text; });
  flags.number("--temperature", options.temperature, 0, kNoLimit,
               "Sampling temperature (default 1; 0: always the most likely "
               "token)");
  flags.integer("--top-k", options.topK, 0,
                "Sample among the N most likely tokens (default 0: all)");
  flags.path("--tokenizer", options.tokenizer,
             "Folder with GPT-2's vocab.json and merges.txt, or encoder.json "
             "and vocab.bpe (default: each byte is a token)",
             "FOLDER", isVocabularyFile);
}

void addRunningFlags(Flags &flags, Options &options) {
  flags.setGroup("Running");
  flags.optionalChoice("--describe", {"text", "json"},
                       "Print the model, plan, inputs and memory (json: the "
                       "full program description), and exit",
                       [&](size_t choice) {
                         options.mode =
                             choice == 0 ? Mode::Describe : Mode::DescribeJson;
                       });
  flags.toggle("--needs", options.needs, true,
               "Print the processor, libraries and packages that this "
               "executable needs, and exit");
  flags.optionalChoice("--profile", {"first", "all"},
                       "After the last step, print a time profile of the steps "
                       "after the first, of the first rank or of all",
                       [&](size_t choice) {
                         options.profile = choice == 0 ? Profiled::FirstRank
                                                       : Profiled::AllRanks;
                       });
  flags.value("--collectives", "ring|mpi|nccl",
              "Implementation of collectives: the built-in ring, with the same "
              "bits on every transport (default on CPUs), MPI, or NCCL, which "
              "also makes transfers (--target cuda; default there unless ranks "
              "share a GPU)",
              [&](const std::string &text) {
                options.collectives = comm::Collectives(parseChoice(
                    "--collectives", text, {"ring", "mpi", "nccl"}));
              });
  flags.toggle("--share-gpu", options.shareGpu, true,
               "Let several ranks use one GPU if this machine has fewer GPUs "
               "than ranks (--target cuda)");
  flags.toggle("--no-graph", options.useGraph, false,
               "Launch the operations of each step one by one, not as a CUDA "
               "graph (--target cuda)");
  flags.output("--tune", options.tune,
               "Choose the algorithm of each cuBLASLt matmul by measuring, "
               "before the first step; take those that the file has, and add "
               "the others to it (--target cuda)",
               Writing::Whole);
  flags.number("--timeout", options.timeout, 0, kNoLimit,
               fmt::format("Stop the run, and report which ranks wait for "
                           "which, after a rank has waited this many seconds; "
                           "0: no limit (default {})",
                           options.timeout));
  flags.integer("--check-replicas", options.checkReplicas, 1,
                "Check after every N steps and after the last that all copies "
                "of a parameter and of its optimizer states are equal, and "
                "stop if not");
  flags.output("--trace", options.trace,
               "Write a timeline of the last steps on all ranks, for "
               "ui.perfetto.dev",
               Writing::Whole);
  flags.integer("--trace-steps", options.traceSteps, 1,
                fmt::format("Number of steps in --trace (default {})",
                            options.traceSteps));
  flags.toggle("--trace-launches", options.traceLaunches, true,
               "Also record each kernel and matmul in --trace, and what they "
               "hide of collectives inside tasks");
}

void addAsynchronousFlags(Flags &flags, Options &options) {
  flags.setGroup("Asynchronous training (--sync stale or async)");
  flags.output("--record", options.record,
               "Write the order in which owners applied updates and answered "
               "trainers, from which --replay repeats the run",
               Writing::InPlace);
  flags.path("--replay", options.replay,
             "Repeat a recorded run bit for bit: the same flags and the same "
             "executable, as threads or under mpirun");
}

/// Reads FACTOR[:PROBABILITY[:RANK]].
Delay parseDelay(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() > 3)
    throw UsageError("--delay {}: must be FACTOR:PROBABILITY:RANK, as in "
                     "--delay 3:1:0",
                     text);
  Delay delay;
  delay.factor = Flags::inRange("--delay", parseNumber("--delay", parts[0]),
                                parts[0], 1, 1e6);
  if (parts.size() > 1)
    delay.probability = parseNumber("--delay", parts[1]);
  if (delay.probability < 0 || delay.probability > 1)
    throw UsageError("--delay {}: a probability is from 0 to 1", text);
  if (parts.size() > 2)
    delay.rank = parseInteger("--delay", parts[2], 0);
  return delay;
}

void addTestFlags(Flags &flags, Options &options) {
  flags.setGroup("For testing");
  flags.toggle("--check-counters", options.checkCounters, true,
               "Stop if a step's launches, FLOPs or bytes sent differ from the "
               "compiler's prediction");
  flags.output(
      "--dump-gradients", options.dumpGradients,
      "Write the first step's gradients, summed over all ranks and before "
      "clipping (safetensors, by name)",
      Writing::Whole);
  flags.toggle("--poison", options.poison, true,
               "Overwrite memory after its last use in a step, so that later "
               "reads change the results");
  flags.output(
      "--publish-phases", options.publishPhases,
      "Write each rank's process id and current phase to this file, for tests "
      "that stop or kill a rank",
      Writing::InPlace);
  flags.value(
      "--delay", "X[:P[:RANK]]",
      "Let each step take X times as long, with probability P (default "
      "1), on this rank (default: each)",
      [&](const std::string &text) { options.delay = parseDelay(text); });
}

//===----------------------------------------------------------------------===//
// Checks of flag combinations
//===----------------------------------------------------------------------===//

void checkOptimizer(const Program &program, const CLI::App &app) {
  const std::string optimizer = spell(program.plan.optimizer);
  for (const char *flag : {"--betas", "--eps"})
    if (app.count(flag) > 0 && !isAdam(program))
      throw UsageError("{}: this executable's optimizer is {}, which does not "
                       "use it (compile with --optimizer adamw)",
                       flag, optimizer);
  if (app.count("--momentum") > 0 && !hasMomentum(program))
    throw UsageError("--momentum: this executable's optimizer is {}, which "
                     "keeps no velocity",
                     optimizer);
}

void checkSamples(const Program &program, const Options &options,
                  const CLI::App &app) {
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
  if (app.count("--tokens") > 0 && !tokens)
    throw UsageError("--tokens: needs --data or --eval-data");
  if (!options.shuffle && options.data.empty() && options.inputs.empty())
    throw UsageError("--no-shuffle: needs --data or --inputs");
  for (const char *flag : {"--share-gpu", "--no-graph", "--tune"})
    if (app.count(flag) > 0 && !program.plan.target.gpu)
      throw UsageError("{}: this program runs on CPUs; leave it out", flag);
  if (!options.tune.empty() &&
      program.plan.matmul == schema::MatmulSource::generated)
    throw UsageError(
        "--tune: this program was compiled with --matmul "
        "generated, and its kernels have no choices; leave it out");
  if (!options.tune.empty() && options.onlyGenerates)
    throw UsageError("--tune: does nothing for --generate without training; "
                     "leave it out");
  for (const char *flag : {"--eval-every", "--eval-batches"})
    if (app.count(flag) > 0 && !evaluates)
      throw UsageError("{}: needs --eval-data or --eval-inputs", flag);
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
                       const CLI::App &app) {
  const bool hasGpus = program.plan.target.gpu && !program.local;
  if (app.count("--collectives") == 0) {
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
void checkGeneration(Options &options, const CLI::App &app) {
  if (options.generate == 0) {
    for (const char *flag :
         {"--prompt", "--temperature", "--top-k", "--tokenizer"})
      if (app.count(flag) > 0)
        throw UsageError("{}: needs --generate N", flag);
    return;
  }
  if (options.temperature == 0 && options.topK > 0)
    throw UsageError("--top-k: has no effect if --temperature is 0");
  if (!options.data.empty() || !options.inputs.empty() ||
      app.count("--steps") > 0)
    return;
  if (options.init.empty() && !options.resume)
    throw UsageError("--generate: no parameters to generate with: give --init "
                     "FILE, --checkpoint FOLDER --resume, or samples to train "
                     "on");
  options.onlyGenerates = true;
  options.steps = 0;
}

void checkFiles(const Options &options, const CLI::App &app) {
  if (!options.initMap.empty() && options.init.empty())
    throw UsageError("--init-map: needs --init FILE");
  if (!options.exportMap.empty() && options.exportTo.empty())
    throw UsageError("--export-map: needs --export FILE");
  if (app.count("--trace-steps") > 0 && options.trace.empty())
    throw UsageError("--trace-steps: needs --trace");
  if (options.traceLaunches && options.trace.empty())
    throw UsageError("--trace-launches: needs --trace");
  if (options.profile != Profiled::Nobody && options.steps < 2)
    throw UsageError("--profile: excludes the first step: needs --steps 2 or "
                     "more");
}

void checkCheckpoints(const Options &options, const CLI::App &app) {
  for (const char *flag :
       {"--checkpoint-every", "--keep", "--resume", "--checkpoint-memory"})
    if (app.count(flag) > 0 && options.checkpoint.empty())
      throw UsageError("{}: needs --checkpoint FOLDER", flag);
  if (options.resume && !options.init.empty())
    throw UsageError("--resume and --init: give one of them (a checkpoint "
                     "has the parameters)");
}

void checkAsynchronous(const Program &program, const Options &options,
                       const CLI::App &app) {
  const runtime::Plan &plan = program.plan;
  if (options.delay.rank >= plan.ranks())
    throw UsageError("--delay: there is no rank {}: the program has {}",
                     options.delay.rank, plan.ranks());
  if (!plan.isAsynchronous()) {
    for (const char *flag : {"--record", "--replay"})
      if (app.count(flag) > 0)
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

void checkLearningRate(const Options &options, const CLI::App &app) {
  const LearningRateSchedule &rate = options.learningRate;
  if (app.count("--min-lr") > 0 && rate.shape == LearningRateShape::Constant)
    throw UsageError("--min-lr: needs --lr-schedule linear or cosine");
  if (rate.shape != LearningRateShape::Constant && rate.least > rate.peak)
    throw UsageError("--min-lr {}: more than --lr {}", rate.least, rate.peak);
  if (app.count("--warmup") > 0 && rate.warmup > options.steps)
    throw UsageError("--warmup {}: more than --steps {}", rate.warmup,
                     options.steps);
}

[[noreturn]] void failUnknown(const CLI::App &app, const std::string &given) {
  if (given.empty() || given[0] != '-')
    throw UsageError("unexpected argument '{}' (--help lists the flags)",
                     given);
  std::vector<std::string> known;
  for (const CLI::Option *option : app.get_options())
    known.push_back(option->get_name());
  std::string name = given.substr(0, given.find('='));
  std::string nearest = nearestName(name, known);
  throw UsageError(
      "unknown flag '{}'{} (--help lists the flags)", name,
      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

std::string describeUse(const Program &program) {
  std::vector<std::string> axes;
  for (const auto &axis : program.plan.mesh)
    axes.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format(
      "Trains '{}' ({}), compiled for {} rank{} ({}) of {} thread{} with {}.",
      program.model, program.source, program.plan.ranks(),
      program.plan.ranks() == 1 ? "" : "s", fmt::join(axes, ","),
      program.plan.target.threads, program.plan.target.threads == 1 ? "" : "s",
      spell(program.plan.optimizer));
}

std::string examples(const Program &program, const std::string &executable) {
  std::string samples = "--data corpus/";
  for (const auto &input : program.inputs)
    if (input.shape.size() != 2 || (input.type != runtime::ElementType::i32 &&
                                    input.type != runtime::ElementType::i64))
      samples = "--inputs train.safetensors";
  std::string text =
      fmt::format("\nExamples:\n"
                  "  {0} {1} --steps 200\n"
                  "      {2} in this process\n"
                  "  {4} mpirun {5} \\\n"
                  "      {6} {7} -np {3} {0} {1} --steps 200\n"
                  "      one process per rank on this machine (also as root, "
                  "and with fewer "
                  "cores than\n      ranks)\n",
                  executable, samples,
                  program.plan.ranks() == 1 ? "the only rank runs"
                                            : "all ranks run as threads",
                  program.plan.ranks(), launchAsRoot, launchOversubscribed,
                  launchFlags, launchOnOneMachine);
  text +=
      "\nThe mesh, the batch, the microbatches, the optimizer and the threads "
      "per rank are fixed\nat compile time (--describe shows them).\n";
  return text;
}

} // namespace

Options parseCommandLine(const Program &program,
                         const std::vector<std::string> &arguments) {
  Options options;
  setDefaults(program, options);
  CLI::App app(describeUse(program), arguments.at(0));
  app.footer(examples(program, arguments.at(0)));
  app.allow_extras();
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.set_version_flag("--version", "",
                       "Print the model and the compiler's version, and exit");
  Flags flags(app);
  addSampleFlags(flags, options);
  addTrainingFlags(flags, options);
  addFileFlags(flags, options);
  addCheckpointFlags(flags, options);
  addGenerationFlags(flags, options);
  addRunningFlags(flags, options);
  addAsynchronousFlags(flags, options);
  addTestFlags(flags, options);
  flags.checkSpelling(arguments);

  // The parser expects the arguments in reverse order.
  std::vector<std::string> reversed(arguments.rbegin(),
                                    std::prev(arguments.rend()));
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    options.mode = Mode::Help;
    options.help = app.help();
    return options;
  } catch (const CLI::CallForVersion &) {
    options.mode = Mode::Version;
    return options;
  } catch (const CLI::ParseError &error) {
    throw UsageError("{} (--help lists the flags)", error.what());
  }
  if (auto rest = app.remaining(); !rest.empty())
    failUnknown(app, rest.front());
  options.given = flags.given();
  options.paths = flags.pathUses();
  options.outputs = flags.outputs();
  if (options.needs)
    options.mode = Mode::Needs;
  if (options.mode != Mode::Train)
    return options;
  checkGeneration(options, app);
  options.learningRate.steps = options.steps;
  checkOptimizer(program, app);
  checkSamples(program, options, app);
  chooseCollectives(program, options, app);
  checkFiles(options, app);
  checkCheckpoints(options, app);
  checkAsynchronous(program, options, app);
  checkLearningRate(options, app);
  return options;
}

} // namespace ppopt::train
