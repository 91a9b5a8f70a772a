//===- compile.cpp - `ppopt compile` --------------------------------------===//

#include "auto_memory.h"
#include "auto_schedule.h"
#include "commands.h"
#include "compilation.h"
#include "devices.h"
#include "driver.h"
#include "link_programs.h"
#include "plan_flags.h"
#include "temporary_folder.h"
#include "write_file.h"

#include "ppopt/Codegen/Target.h"
#include "ppopt/Program/Program.h"
#include "ppopt/launch.h"
#include "ppopt/shell_word.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Phase;

static constexpr StringRef phaseNames[] = {
    "model",     "placed",  "train", "partitioned",
    "scheduled", "kernels", "native"};

static constexpr Flag outputFlags[] = {
    {"o", ValueKind::Output, "FILE", "",
     "the executable; with --stop-after the IR (default: standard output)"},
    {"stop-after", ValueKind::Choice, "PHASE", "",
     "stop after a phase and print its IR", phaseNames},
    {"generator", ValueKind::Switch, "", "",
     "with --stop-after: print the IR of the generating program"},
    {"no-generation", ValueKind::Switch, "", "",
     "leave out the program that generates text, which compiles faster; the "
     "executable's --generate is refused"},
    {"save-device-ir", ValueKind::Output, "FILE", "",
     "also write the LLVM IR of the training program's kernels for GPUs, as "
     "text"},
    {"dump-phases", ValueKind::OutputFolder, "FOLDER", "",
     "also write the IR after each phase to this folder, with locations"},
};

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
static StringRef getSamples(const json::Object &program) {
  const json::Array *inputs = program.getArray("inputs");
  bool isShifted = inputs && any_of(*inputs, [](const json::Value &input) {
                     return input.getAsObject()->getInteger("shift") > 0;
                   });
  bool areTokens = inputs && all_of(*inputs, [](const json::Value &input) {
                     const json::Object *object = input.getAsObject();
                     StringRef type = object->getString("type").value_or("");
                     return object->getArray("shape")->size() == 2 &&
                            (type == "i32" || type == "i64");
                   });
  return areTokens && isShifted ? "--data corpus/"
                                : "--inputs train.safetensors";
}

/// Prints the commands that train with the executable, one per way to run it.
static void printLaunch(StringRef executable, const mlir::pp::PlanOptions &plan,
                        StringRef program) {
  json::Value parsed = cantFail(json::parse(program));
  std::string path =
      executable.contains('/') ? executable.str() : ("./" + executable).str();
  std::string command = shellCommand(path) + " " +
                        getSamples(*parsed.getAsObject()).str() +
                        " --steps 200";
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
static LogicalResult saveDeviceIR(const Arguments &arguments,
                                  mlir::ModuleOp native,
                                  const mlir::pp::PlanOptions &plan) {
  if (!arguments.has("save-device-ir"))
    return success();
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan.target.name);
  std::string text;
  raw_string_ostream stream(text);
  if (failed(target.printDeviceIR(native, plan.target, stream)))
    return failure();
  return writeFile(compileCommand, arguments.get("save-device-ir"), text);
}

static int run(const Arguments &arguments, const DriverSetup &setup) {
  std::string output = arguments.get("o").str();
  std::optional<Phase> stop =
      mlir::pp::symbolizePhase(arguments.get("stop-after"));
  if (!stop && output.empty())
    return failUsage(compileCommand,
                     "no -o FILE given: where should the executable go?");

  FailureOr<mlir::pp::PlanOptions> plan = makePlan(compileCommand, arguments);
  if (failed(plan))
    return kUsage;
  if (arguments.has("save-device-ir") && (stop || plan->target.gpu.empty()))
    return failUsage(compileCommand,
                     stop ? "--save-device-ir is written with an executable; "
                            "leave out --stop-after"
                          : "--save-device-ir: ranks of --target " +
                                plan->target.name +
                                " run no code on a GPU; add --target cuda");
  if (arguments.has("generator")) {
    if (!stop)
      return failUsage(compileCommand,
                       "--generator shows a phase of the generating "
                       "program: choose one with --stop-after PHASE");
    if (arguments.has("no-generation"))
      return failUsage(compileCommand,
                       "--generator shows the generating program, and "
                       "--no-generation leaves it out: give one of them");
    plan = plan->forGenerator();
  }
  Compilation compilation(*plan, arguments.has("werror"), setup.extend);
  if (failed(compilation.parse()))
    return 1;
  mlir::OwningOpRef<mlir::ModuleOp> generator;
  if (!stop)
    generator = arguments.has("no-generation")
                    ? compilation.omitGenerator()
                    : compilation.makeGenerator(arguments.get("dump-phases"));
  chooseWithinMemory(compilation, arguments, *plan, errs());
  chooseSchedule(compilation, *plan, errs());
  if (failed(compilation.run(stop.value_or(Phase::Native),
                             arguments.get("dump-phases"))))
    return 1;
  if (stop)
    return printModule(compileCommand, compilation.getModule(), output);

  mlir::ModuleOp module = compilation.getModule();
  StringRef program = mlir::pp::getProgramJson(module);
  if (failed(saveDeviceIR(arguments, module, *plan)))
    return 1;
  TemporaryFolder folder;
  if (std::error_code error = folder.create())
    return fail(compileCommand,
                "cannot make a temporary folder: " + error.message());
  // Replace an existing executable only if linking succeeds.
  std::string linked = folder.path("linked");
  if (failed(linkPrograms(module, *generator, *plan, setup, folder, linked)))
    return 1;
  auto executable = MemoryBuffer::getFile(linked);
  if (std::error_code error = executable.getError())
    return fail(compileCommand,
                "cannot read " + linked + ": " + error.message());
  std::string error = writeWhole(output, (*executable)->getBuffer(), 0777);
  if (!error.empty())
    return fail(compileCommand, error);
  printLaunch(output, *plan, program);
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan->target.name);
  if (std::string has = target.describeDeviceCode(plan->target); !has.empty())
    errs() << has << "\n";
  return 0;
}

static const ArrayRef<Flag> groups[] = {outputFlags, getPlanFlags()};

const Command ppopt::compileCommand = {
    "compile",
    "writes an executable that trains the model",
    "MODEL",
    R"(Compiles the model in the file MODEL (pp dialect; see 'ppopt model') with a
parallel plan to one executable that trains it. Under mpirun, the ranks of the
executable are processes. Started alone, it runs them as threads. It has its own
--help. Every plan of a model computes the same training step.

  ppopt compile gpt.mlir --mesh dp=2 --microbatches 4 -o train
  ppopt compile gpt.mlir --mesh dp=2 --stop-after=scheduled
)",
    groups,
    run};
