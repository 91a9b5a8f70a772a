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
  return program.plan.optimizer.rfind("adam", 0) == 0;
}

/// Whether the update keeps a velocity.
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
  options.weightDecay = program.plan.optimizer == "adamw" ? 0.01 : 0.0;
}

bool takesAnyFile(std::string_view path) { return isListed(path, ""); }
bool takesSafetensors(std::string_view path) {
  return isListed(path, kTensorExtension);
}

void addSampleFlags(Flags &flags, Options &options) {
  flags.setGroup("Samples");
  flags.paths(
      "--data", options.data,
      "Train on windows of consecutive tokens of files, or of the files in "
      "folders: llm.c's .bin by their header, anything else as bytes",
      takesAnyFile);
  flags.value("--tokens", "bytes|uint16",
              "How to read --data and --eval-data without an llm.c header: "
              "bytes (default), or uint16 (nanoGPT's .bin)",
              [&](const std::string &text) {
                options.tokens = static_cast<TokenFormat>(
                    parseChoice("--tokens", text, {"bytes", "uint16"}));
              });
  flags.paths("--inputs", options.inputs,
              "Train on the rows of safetensors files with one tensor for each "
              "input",
              takesSafetensors);
  flags.toggle("--no-shuffle", options.shuffle, false,
               "Take the samples in their order instead of a new permutation "
               "every epoch");
  flags.paths("--eval-data", options.evalData, "Evaluate on these tokens",
              takesAnyFile);
  flags.paths("--eval-inputs", options.evalInputs, "Evaluate on these rows",
              takesSafetensors);
  flags.integer("--eval-every", options.evalEvery, 1,
                "Evaluate before the first step and after every N; without it "
                "after the last step only");
  flags.integer("--eval-batches", options.evalBatches, 1,
                "Batches of an evaluation, spaced evenly over its samples "
                "(default: 8, or as many as the samples fill)");
}

void addTrainingFlags(Flags &flags, Options &options) {
  flags.setGroup("Training");
  flags.integer("--steps", options.steps, 0,
                fmt::format("Optimizer steps (default {})", options.steps));
  flags.number(
      "--lr", options.learningRate.peak, 0, kNoLimit,
      fmt::format("Learning rate (default {})", options.learningRate.peak));
  flags.value("--lr-schedule", "constant|linear|cosine",
              "How the learning rate goes on after the warm-up, to --min-lr at "
              "the last step (default constant)",
              [&](const std::string &text) {
                options.learningRate.shape = static_cast<LearningRateShape>(
                    parseChoice("--lr-schedule", text,
                                {"constant", "linear", "cosine"}));
              });
  flags.number("--min-lr", options.learningRate.least, 0, kNoLimit,
               "Where a linear or cosine schedule ends (default 0)");
  flags.integer("--warmup", options.learningRate.warmup, 0,
                "Steps over which the learning rate rises (default 0)");
  flags.number(
      "--weight-decay", options.weightDecay, 0, kNoLimit,
      fmt::format("Of decayed parameters (default {})", options.weightDecay));
  flags.value("--betas", "B1,B2",
              "Adam's decay of the moments (default 0.9,0.999)",
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
              "Added to the root of Adam's second moment "
              "(default 1e-8)",
              [&](const std::string &text) {
                options.eps = parseNumber("--eps", text);
                if (options.eps <= 0)
                  throw UsageError("--eps {}: must be more than 0", text);
              });
  flags.number("--momentum", options.momentum, 0, 1,
               fmt::format("SGD's decay of the velocity (default {})",
                           options.momentum));
  flags.number("--clip", options.clip, 0, kNoLimit,
               "Largest global norm of the gradient (default 0: not clipped)");
  flags.integer(
      "--seed", options.seed, 0,
      "Of initial values, samples, dropout and generated text (default 0)");
  flags
      .value("--skip-nonfinite-steps", "[N]",
             "Go on after a step whose loss or gradient is infinite or NaN, "
             "which updates nothing; stop after more than N in a row (default "
             "10)",
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
             "Start from these parameters: a safetensors file, by name, or a "
             "checkpoint's folder");
  flags.path("--init-map", options.initMap,
             "What the tensors of --init are called and which are transposed: "
             "a map such as share/ppopt/maps/gpt2.json (docs/maps.md)");
  flags.output(
      "--export", options.exportTo,
      "Write the parameters after the last step (safetensors, by name)",
      Writing::Whole);
  flags.path("--export-map", options.exportMap,
             "Write --export with the names and the layout of this map");
  flags.output("--log", options.log,
               "Write a line of JSON for each step and evaluation",
               Writing::InPlace);
  flags.integer("--log-every", options.logEvery, 1,
                "Print a line of every Nth step (default: of each; on a "
                "terminal, where one line shows the others, of some twenty and "
                "one a minute)");
}

void addCheckpointFlags(Flags &flags, Options &options) {
  flags.setGroup("Checkpoints");
  flags.outputFolder("--checkpoint", options.checkpoint,
                     "Save parameters and optimizer there, after the last step "
                     "at least",
                     checkpointName(1) + "/x.safetensors", isNameInCheckpoints);
  flags.integer("--checkpoint-every", options.checkpointEvery, 1,
                "Save after every N steps as well, while training goes on");
  flags.integer("--keep", options.keep, 1,
                fmt::format("Checkpoints that stay, the newest (default {})",
                            options.keep));
  flags.toggle("--resume", options.resume, true,
               "Go on from the newest checkpoint in the folder, saved under "
               "whatever plan; --steps stays the total");
  flags.value("--checkpoint-memory", "BYTES",
              "Of a rank for the copy that is written while training goes on "
              "(default: all that the rank writes)",
              [&](const std::string &text) {
                options.checkpointMemory =
                    parseBytes("--checkpoint-memory", text);
              });
}

void addGenerationFlags(Flags &flags, Options &options) {
  flags.setGroup("Generation");
  flags.integer("--generate", options.generate, 1,
                "After the last step, print a text of so many tokens");
  flags.value("--prompt", "TEXT", "What the text begins with",
              [&](const std::string &text) { options.prompt = text; });
  flags.number("--temperature", options.temperature, 0, kNoLimit,
               "What scores are divided by before a token is drawn (default 1; "
               "0: always the likeliest token)");
  flags.integer("--top-k", options.topK, 0,
                "Draw among so many of the likeliest tokens (default 0: all)");
  flags.path("--tokenizer", options.tokenizer,
             "Folder with GPT-2's vocab.json and merges.txt, or encoder.json "
             "and vocab.bpe (default: tokens are bytes)",
             "FOLDER", isVocabularyFile);
}

void addRunningFlags(Flags &flags, Options &options) {
  flags.setGroup("Running");
  flags.optionalChoice("--describe", {"text", "json"},
                       "Print what was compiled (json: the whole document) and "
                       "exit",
                       [&](size_t choice) {
                         options.mode =
                             choice == 0 ? Mode::Describe : Mode::DescribeJson;
                       });
  flags.toggle("--needs", options.needs, true,
               "Print what this executable needs on another machine, and exit");
  flags.optionalChoice("--profile", {"first", "all"},
                       "After the last step, print what the steps but the "
                       "first spent their time on, of the first rank or of all",
                       [&](size_t choice) {
                         options.profile = choice == 0 ? Profiled::FirstRank
                                                       : Profiled::AllRanks;
                       });
  flags.value("--collectives", "ring|mpi",
              "Who sums over ranks: the built-in ring (default), the same bits "
              "on every transport; or MPI",
              [&](const std::string &text) {
                options.collectives =
                    parseChoice("--collectives", text, {"ring", "mpi"}) == 0
                        ? comm::Collectives::Ring
                        : comm::Collectives::Native;
              });
  flags.number("--timeout", options.timeout, 0, kNoLimit,
               fmt::format("End the run, and say who waits for whom, where a "
                           "rank has waited for others for so many seconds; 0: "
                           "never (default {})",
                           options.timeout));
  flags.integer("--check-replicas", options.checkReplicas, 1,
                "Stop where two copies of a parameter differ, after every N "
                "steps and after the last");
  flags.output("--trace", options.trace,
               "Write what ran when on all ranks in the last steps, for "
               "ui.perfetto.dev",
               Writing::Whole);
  flags.integer(
      "--trace-steps", options.traceSteps, 1,
      fmt::format("Steps that --trace keeps (default {})", options.traceSteps));
}

void addTestFlags(Flags &flags, Options &options) {
  flags.setGroup("For testing");
  flags.toggle("--check-counters", options.checkCounters, true,
               "Stop where a step's launches, FLOPs or bytes sent differ from "
               "the compiler's prediction");
  flags.output(
      "--dump-gradients", options.dumpGradients,
      "Write the first step's gradients, summed over all ranks and not "
      "clipped (safetensors, by name)",
      Writing::Whole);
  flags.toggle("--poison", options.poison, true,
               "Overwrite memory after its last use in a step: what is read "
               "too late shows");
  flags.output(
      "--publish-phases", options.publishPhases,
      "Keep in this file which process is a rank and what it is doing: "
      "for tests that stop or kill one",
      Writing::InPlace);
}

//===----------------------------------------------------------------------===//
// Flags together
//===----------------------------------------------------------------------===//

void checkOptimizer(const Program &program, const CLI::App &app) {
  const std::string &optimizer = program.plan.optimizer;
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

/// Without samples, a text comes from parameters that are given.
void checkGeneration(Options &options, const CLI::App &app) {
  if (options.generate == 0) {
    for (const char *flag :
         {"--prompt", "--temperature", "--top-k", "--tokenizer"})
      if (app.count(flag) > 0)
        throw UsageError("{}: needs --generate N", flag);
    return;
  }
  if (options.temperature == 0 && options.topK > 0)
    throw UsageError("--top-k: without effect where --temperature is 0");
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
  if (options.profile != Profiled::Nobody && options.steps < 2)
    throw UsageError("--profile: leaves the first step out: needs --steps 2 or "
                     "more");
}

void checkCheckpoints(const Options &options, const CLI::App &app) {
  for (const char *flag :
       {"--checkpoint-every", "--keep", "--resume", "--checkpoint-memory"})
    if (app.count(flag) > 0 && options.checkpoint.empty())
      throw UsageError("{}: needs --checkpoint FOLDER", flag);
  if (options.resume && !options.init.empty())
    throw UsageError("--resume and --init: give one of them (a checkpoint "
                     "holds the parameters)");
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
      program.plan.threads, program.plan.threads == 1 ? "" : "s",
      program.plan.optimizer);
}

std::string examples(const Program &program, const std::string &executable) {
  std::string samples = "--data corpus/";
  for (const auto &input : program.inputs)
    if (input.shape.size() != 2 || (input.type != runtime::ElementType::i32 &&
                                    input.type != runtime::ElementType::i64))
      samples = "--inputs train.safetensors";
  std::string text = fmt::format(
      "\nExamples:\n"
      "  {0} {1} --steps 200\n"
      "      {2} in this process\n"
      "  {4} mpirun {5} \\\n"
      "      {6} {7} -np {3} {0} {1} --steps 200\n"
      "      a process for each rank, on this machine (works as root, and with "
      "fewer cores than\n      ranks)\n",
      executable, samples,
      program.plan.ranks() == 1 ? "the one rank runs"
                                : "all ranks run as threads",
      program.plan.ranks(), launchAsRoot, launchOversubscribed, launchFlags,
      launchOnOneMachine);
  text +=
      "\nThe mesh, the batch, microbatches, the optimizer and the threads of "
      "a rank are fixed\nwhen the program is compiled (--describe shows "
      "them).\n";
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
  app.set_help_flag("--help,-h", "Print this and exit");
  app.set_version_flag("--version", "",
                       "Print what compiled this, from which model, and exit");
  Flags flags(app);
  addSampleFlags(flags, options);
  addTrainingFlags(flags, options);
  addFileFlags(flags, options);
  addCheckpointFlags(flags, options);
  addGenerationFlags(flags, options);
  addRunningFlags(flags, options);
  addTestFlags(flags, options);
  flags.checkSpelling(arguments);

  // The parser takes the arguments from the back of the list.
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
  checkFiles(options, app);
  checkCheckpoints(options, app);
  checkLearningRate(options, app);
  return options;
}

} // namespace ppopt::train
