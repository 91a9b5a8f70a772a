//===- compile.cpp - `ppopt compile` --------------------------------------===//

#include "commands.h"
#include "devices.h"
#include "driver.h"
#include "plan_flags.h"
#include "search_text.h"
#include "temporary_folder.h"
#include "write_file.h"

#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/launch.h"
#include "ppopt/shell_word.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Compilation;
using mlir::pp::Phase;

namespace {
struct OutputFlags {
  std::string output, stopAfter, deviceIR, phases;
  bool generator = false, predictor = false, noGeneration = false;
};
} // namespace

static void declare(CommandLine &line, OutputFlags &flags) {
  Words phases;
  for (Phase phase : mlir::pp::getPhases())
    phases.values.push_back(mlir::pp::stringifyPhase(phase));
  line.output("o", flags.output,
              "the executable; with --stop-after the IR (default: standard "
              "output)");
  line.choice("stop-after", "PHASE", phases, flags.stopAfter,
              "stop after a phase and print its IR");
  line.toggle("generator", flags.generator,
              "with --stop-after: print the IR of the generating program");
  line.toggle("predictor", flags.predictor,
              "with --stop-after: print the IR of the program that predicts");
  line.toggle("no-generation", flags.noGeneration,
              "leave out the program that generates text, which compiles "
              "faster; the executable's --generate is refused");
  line.output("save-device-ir", flags.deviceIR,
              "also write the LLVM IR of the training program's kernels for "
              "GPUs, as text");
  line.phaseFolder("dump-phases", flags.phases,
                   "also write the IR after each phase to this folder, with "
                   "locations");
}

static int printModule(const Command &command, mlir::ModuleOp module,
                       StringRef path) {
  std::string text;
  raw_string_ostream stream(text);
  module.print(stream);
  return failed(writeFile(command, path.empty() ? "-" : path, text));
}

/// Returns the flag for the program's samples, as in its --help. Windows of
/// tokens (--data) are for a model that has a shifted input: others would get
/// the same tokens for all inputs, as labels too.
static StringRef getSamples(mlir::ModuleOp module) {
  auto inputs = module.getOps<mlir::pp::InputDeclOp>();
  bool isShifted = any_of(
      inputs, [](mlir::pp::InputDeclOp input) { return input.getShift() > 0; });
  bool areTokens = all_of(inputs, [](mlir::pp::InputDeclOp input) {
    auto type = cast<mlir::RankedTensorType>(input.getType());
    return type.getRank() == 2 && (type.getElementType().isInteger(32) ||
                                   type.getElementType().isInteger(64));
  });
  return areTokens && isShifted ? "--data corpus/"
                                : "--inputs train.safetensors";
}

/// Prints the commands that train with the executable, one per way to run it.
static void printLaunch(StringRef executable, const mlir::pp::PlanOptions &plan,
                        StringRef samples) {
  std::string path =
      executable.contains('/') ? executable.str() : ("./" + executable).str();
  std::string command =
      shellCommand(path) + " " + samples.str() + " --steps 200";
  int64_t processes = plan.getProcesses();
  if (processes > 1)
    outs() << processes << " ranks as processes, on one machine:\n"
           << "  " << ppopt::launchAsRoot << " mpirun "
           << ppopt::launchOversubscribed << " " << ppopt::launchFlags << " "
           << ppopt::launchOnOneMachine << " -np " << processes << " "
           << command << "\n"
           << "or as threads of one:\n";
  outs() << "  " << command << "\n"
         << describeDevice(plan.device, plan.target.threads) << "\n";
}

/// Writes the file of --save-device-ir, if asked for.
static LogicalResult saveDeviceIR(StringRef path, mlir::ModuleOp native,
                                  const mlir::pp::PlanOptions &plan) {
  if (path.empty())
    return success();
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan.target.name);
  std::string text;
  raw_string_ostream stream(text);
  if (failed(target.printDeviceIR(native, plan.target, stream)))
    return failure();
  return writeFile(compileCommand, path, text);
}

static int run(CommandLine &line, const mlir::pp::CompilationSetup &setup) {
  OutputFlags flags;
  declare(line, flags);
  PlanFlags planned(line);
  if (std::optional<int> status = line.parse())
    return *status;
  std::optional<Phase> stop = mlir::pp::symbolizePhase(flags.stopAfter);
  if (!stop && flags.output.empty())
    return failUsage(compileCommand,
                     "no -o FILE given: where should the executable go?");
  if (std::optional<int> status = planned.complete())
    return *status;
  mlir::pp::PlanOptions plan = planned.plan;
  if (!flags.deviceIR.empty() && (stop || plan.target.gpu.empty()))
    return failUsage(compileCommand,
                     stop ? "--save-device-ir is written with an executable; "
                            "leave out --stop-after"
                          : "--save-device-ir: ranks of --target " +
                                plan.target.name +
                                " run no code on a GPU; add --target cuda");
  if (flags.generator) {
    if (!stop)
      return failUsage(compileCommand,
                       "--generator shows a phase of the generating "
                       "program: choose one with --stop-after PHASE");
    if (flags.noGeneration)
      return failUsage(compileCommand,
                       "--generator shows the generating program, and "
                       "--no-generation leaves it out: give one of them");
    plan = plan.forGenerator();
  }
  if (flags.predictor) {
    if (!stop || flags.generator)
      return failUsage(compileCommand,
                       "--predictor shows a phase of the program that "
                       "predicts: choose one with --stop-after PHASE, without "
                       "--generator");
    plan = plan.forPredictor();
  }
  mlir::pp::CompilationSetup strict = setup;
  strict.isStrict = planned.isStrict;
  auto owned = std::make_unique<Compilation>(plan, strict);
  Compilation &compilation = *owned;
  if (failed(compilation.parse()) || failed(chooseShard(compilation)))
    return 1;
  plan.shard = compilation.getPlan().shard;
  if (planned.space) {
    mlir::pp::PlanSearchResult found;
    if (failed(choosePlan(compilation, *planned.space, found)))
      return 1;
    plan = compilation.getPlan();
    errs() << describeChoice(*planned.space, found) << "\n";
  }
  if (!stop)
    compilation.addPrograms(!flags.noGeneration, flags.phases);
  compilation.choosePlan(errs());
  if (failed(compilation.run(stop.value_or(Phase::Kernels), flags.phases)))
    return 1;
  mlir::ModuleOp module = compilation.getModule();
  if (stop)
    return printModule(compileCommand, module, flags.output);

  StringRef samples = getSamples(module);
  TemporaryFolder folder;
  if (failed(compilation.run(Phase::Native, flags.phases)) ||
      failed(saveDeviceIR(flags.deviceIR, module, plan)))
    return 1;
  if (std::string error = folder.create(); !error.empty())
    return fail(compileCommand, error);
  if (failed(compilation.writeExecutable(flags.output, folder.path(""))))
    return 1;
  printLaunch(flags.output, plan, samples);
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan.target.name);
  if (std::string has = target.describeDeviceCode(plan.target); !has.empty())
    errs() << has << "\n";
  // The process ends: to take the module apart, op by op, would only take time.
  [[maybe_unused]] static const Compilation *kept;
  kept = owned.release();
  return 0;
}

const Command ppopt::compileCommand = {
    "compile", "writes an executable that trains the model", "MODEL",
    R"(Compiles the model in the file MODEL (pp dialect; see 'ppopt model') with a
parallel plan to one executable that trains it. Under mpirun, the ranks of the
executable are processes. Started alone, it runs them as threads. It has its own
--help. Every plan of a model computes the same training step.

  ppopt compile gpt.mlir --mesh dp=2 --microbatches 4 -o train
  ppopt compile gpt.mlir --mesh dp=2 --stop-after=scheduled
)",
    run};
