//===- command_line.cpp - The flags of an executable ----------------------===//

#include "app/command_line.h"

#include "app/flag_combinations.h"
#include "app/flag_hints.h"
#include "app/flags.h"
#include "base/list_files.h"
#include "checkpoint/checkpoint_folder.h"
#include "data/safetensors.h"
#include "generate/bpe_tokenizer.h"
#include "observe/event_file.h"
#include "ppopt/launch.h"
#include "ppopt/shell_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace ppopt::train {
namespace {

using runtime::Program;

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kMostSeconds = 1e9; ///< of a timer: 30 years

void setDefaults(const Program &program, Options &options) {
  options.learningRate.peak = isAdam(program) ? 3e-4 : 1e-2;
  options.momentum = hasMomentum(program) ? 0.9 : 0.0;
  if (program.plan.ema)
    options.averageDecay = 0.999;
  options.weightDecay =
      program.plan.optimizer == schema::Optimizer::adamw ? 0.01 : 0.0;
}

bool takesAnyFile(std::string_view path) { return isListed(path, ""); }
bool takesSafetensors(std::string_view path) {
  return isListed(path, kTensorExtension);
}

/// Returns names between commas. `of` says what for, in the message if there
/// are none.
std::vector<std::string> namesIn(const char *flag, const std::string &text,
                                 const char *of) {
  std::vector<std::string> names;
  std::istringstream from(text);
  for (std::string name; std::getline(from, name, ',');)
    names.push_back(name);
  if (names.empty())
    throw UsageError("{}: needs the name of {}", flag, of);
  return names;
}

void addSampleFlags(TrainFlags &flags, Options &options) {
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
  flags.integer("--metrics-every", options.metricsEvery, 1,
                "Compute the model's metrics on the batch of every Nth step, "
                "before the step, which takes as long as an evaluation of the "
                "batch (default: only in evaluations)");
  flags.value("--eval-batches", "N|all",
              "An evaluation is over the rows of N batches, evenly spaced over "
              "its samples, or over all samples (default: 8, or all samples if "
              "they are fewer)",
              [&options](const std::string &text) {
                options.evaluatesAll = text == "all";
                if (!options.evaluatesAll)
                  options.evalBatches = parseInteger("--eval-batches", text, 1);
              });
}

void addTrainingFlags(TrainFlags &flags, Options &options) {
  flags.setGroup("Training");
  flags.integer("--steps", options.steps, 0,
                fmt::format("Optimizer steps (default {})", options.steps));
  flags.integer("--epochs", options.epochs, 1,
                "Train on each sample so often, instead of --steps; the last "
                "step may begin another epoch");
  flags.number(
      "--lr", options.learningRate.peak, 0, kNoLimit,
      fmt::format("Learning rate (default {})", options.learningRate.peak));
  flags.value(
      "--lr-schedule", "constant|linear|cosine|wsd|inverse-sqrt",
      "Learning rate after the warm-up; linear and cosine fall to "
      "--min-lr at the last step, wsd in the last --lr-decay-steps, "
      "inverse-sqrt as one over the root of the step (default "
      "constant)",
      [&](const std::string &text) {
        options.learningRate.shape = static_cast<LearningRateShape>(parseChoice(
            "--lr-schedule", text,
            {std::begin(learningRateShapes), std::end(learningRateShapes)}));
      });
  flags.number("--min-lr", options.learningRate.least, 0, kNoLimit,
               "Learning rate that a schedule falls to (default 0)");
  flags.integer("--lr-decay-steps", options.learningRate.decaySteps, 1,
                "Last steps, in which the learning rate of wsd falls (default "
                "a tenth of --steps)");
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
                options.beta1 = TrainFlags::inRange(
                    "--betas", parseNumber("--betas", first), first, 0, 1);
                options.beta2 = TrainFlags::inRange(
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
  flags.value("--ema", "DECAY",
              "Decay per update of the moving average of the parameters, in an "
              "executable compiled with --ema (default 0.999)",
              [&](const std::string &text) {
                options.averageDecay = TrainFlags::inRange(
                    "--ema", parseNumber("--ema", text), text, 0, 1);
              });
  flags.number(
      "--clip", options.clip, 0, kNoLimit,
      "Clip the gradient to this global norm (default 0: no clipping)");
  flags.integer(
      "--seed", options.seed, 0,
      "Seed of initial values, sample order, dropout and generated text "
      "(default 0)");
  flags.optionalValue(
      "--skip-nonfinite-steps", "[N]",
      "Skip the update of a step whose loss or gradient is infinite or NaN, "
      "and continue; stop after more than N such steps in a row (N defaults to "
      "10)",
      [&](const std::string &text) {
        options.skipNonFiniteSteps =
            text.empty() ? 10 : parseInteger("--skip-nonfinite-steps", text, 1);
        return std::string();
      });
}

void addFileFlags(TrainFlags &flags, Options &options) {
  flags.setGroup("Files");
  StartingPoint &init = options.init;
  flags.paths("--init", init.paths,
              "Initialize the parameters from safetensors files, by name, from "
              "checkpoints' folders, or from Hugging Face's folders; commas "
              "may separate them, and of several the last that has a parameter "
              "counts",
              nullptr, Commas::Separate);
  flags.value("--init-missing", "draw|error",
              "What happens to a parameter that no file of --init has: it is "
              "drawn from the seed, or the run is refused (default)",
              [&](const std::string &text) {
                init.drawsMissing =
                    parseChoice("--init-missing", text, {"draw", "error"}) == 0;
              });
  flags.value("--init-extra", "ignore|error",
              "What happens to a tensor of --init that is no parameter: it is "
              "not read, or the run is refused (default)",
              [&](const std::string &text) {
                init.ignoresExtra =
                    parseChoice("--init-extra", text, {"ignore", "error"}) == 0;
              });
  flags.value("--init-prefix", "TEXT",
              "Names in the files of --init begin with this text, such as "
              "model., which is removed",
              [&](const std::string &text) { init.prefix = text; });
  flags.value("--init-resize", "NAME,...",
              "These parameters may have more rows than in the files of "
              "--init; the others are drawn from the seed",
              [&](const std::string &text) {
                init.resized = namesIn("--init-resize", text, "a parameter");
              });
  flags.toggle("--init-averages", init.averages, true,
               "Of the checkpoints of --init, take the averages of the "
               "parameters (--ema), not those that were trained on");
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
  flags.outputFolder("--tensorboard", options.tensorboard,
                     "Write the numbers of each step and evaluation to a new "
                     "event file in this folder, for TensorBoard",
                     "events.out.tfevents.1", isEventFile);
  flags.integer("--log-every", options.logEvery, 1,
                "Print every Nth step (default: every step; on a terminal, "
                "about twenty steps and one per minute, while one line shows "
                "the current step)");
}

void addCheckpointFlags(TrainFlags &flags, Options &options) {
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
  flags.value("--keep-best", "NAME[:min|:max]",
              "Also keep the checkpoint of the best evaluation so far, as "
              "\"best\" in the folder: by the loss (\"loss\", the least is the "
              "best) or by a metric (the greatest is, unless NAME:min)",
              [&](const std::string &text) { options.best.name = text; });
  flags.integer("--stop-after-no-better", options.stopAfterNoBetter, 1,
                "End the run, as after its last step, after N evaluations in a "
                "row that are not better than the best before them");
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

void addGenerationFlags(TrainFlags &flags, Options &options) {
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

void addPredictionFlags(TrainFlags &flags, Options &options) {
  flags.setGroup("Predictions");
  flags.paths("--predict", options.predict,
              "Train nothing: compute the model's outputs for the rows of "
              "safetensors files, with the parameters of --init or of "
              "--checkpoint FOLDER --resume",
              takesSafetensors);
  flags.output("--output,-o", options.output,
               "Write the outputs to this file, which must not exist "
               "(safetensors, by name)",
               Writing::Whole);
  flags.value("--only", "NAME,...", "Write only these outputs (default: all)",
              [&](const std::string &text) {
                options.only = namesIn("--only", text, "an output");
              });
}

void addRunningFlags(TrainFlags &flags, Options &options) {
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
  flags.number("--time-limit", options.timeLimit, 0, kMostSeconds,
               "Stop this many seconds after the start, as at SIGALRM: after "
               "the step that is computed then, with a checkpoint if there is "
               "--checkpoint; 0: no limit (default)");
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

void addAsynchronousFlags(TrainFlags &flags, Options &options) {
  flags.setGroup("Asynchronous training (--sync stale or async)");
  flags.output("--record", options.record,
               "At the end of the run, write the order in which owners applied "
               "updates and answered trainers, from which --replay repeats it",
               Writing::Whole);
  flags.path("--replay", options.replay,
             "Repeat a recorded run bit for bit: the same flags, the same data "
             "and the same program, as threads or under mpirun");
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
  delay.factor = TrainFlags::inRange(
      "--delay", parseNumber("--delay", parts[0]), parts[0], 1, 1e6);
  if (parts.size() > 1)
    delay.probability = parseNumber("--delay", parts[1]);
  if (delay.probability < 0 || delay.probability > 1)
    throw UsageError("--delay {}: a probability is from 0 to 1", text);
  if (parts.size() > 2)
    delay.rank = parseInteger("--delay", parts[2], 0);
  return delay;
}

void addTestFlags(TrainFlags &flags, Options &options) {
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
  bool areTokens = true, isShifted = false;
  for (const auto &input : program.inputs) {
    areTokens &=
        input.shape.size() == 2 && (input.type == runtime::ElementType::i32 ||
                                    input.type == runtime::ElementType::i64);
    isShifted |= input.shift > 0;
  }
  const char *samples =
      areTokens && isShifted ? "--data corpus/" : "--inputs train.safetensors";
  std::string text =
      fmt::format("\nExamples:\n"
                  "  {0} {1} --steps 200\n"
                  "      {2} in this process\n"
                  "  {4} mpirun {5} \\\n"
                  "      {6} {7} -np {3} {0} {1} --steps 200\n"
                  "      one process per rank on this machine (also as root, "
                  "and with fewer "
                  "cores than\n      ranks)\n",
                  shellCommand(executable), samples,
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

bool asksToPredict(const std::vector<std::string> &arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const auto &word) {
    return word.substr(0, word.find('=')) == "--predict";
  });
}

Options parseCommandLine(const Program &program,
                         const std::vector<std::string> &arguments) {
  Options options;
  setDefaults(program, options);
  TrainFlags flags([](const auto &flag, const auto &known) {
    return hintForFlag(flag, known) + " (--help lists the flags)";
  });
  flags.setHelp("Print this help and exit",
                "Print the model and the compiler's version, and exit");
  addSampleFlags(flags, options);
  addTrainingFlags(flags, options);
  addFileFlags(flags, options);
  addCheckpointFlags(flags, options);
  addGenerationFlags(flags, options);
  addPredictionFlags(flags, options);
  addRunningFlags(flags, options);
  addAsynchronousFlags(flags, options);
  addTestFlags(flags, options);
  Flags::Outcome outcome =
      flags.parse({std::next(arguments.begin()), arguments.end()});
  if (outcome == Flags::Outcome::Help) {
    options.mode = Mode::Help;
    options.help = flags.help(describeUse(program), arguments.at(0),
                              examples(program, arguments.at(0)));
    return options;
  }
  if (outcome == Flags::Outcome::Version) {
    options.mode = Mode::Version;
    return options;
  }
  if (!flags.others().empty())
    throw UsageError("unexpected argument '{}' (--help lists the flags)",
                     flags.others().front());
  options.given = flags.given();
  flags.addUses(options.paths);
  options.outputs = flags.outputs();
  if (options.needs)
    options.mode = Mode::Needs;
  if (options.mode != Mode::Train)
    return options;
  checkCombinations(program, options, flags);
  return options;
}

} // namespace ppopt::train
