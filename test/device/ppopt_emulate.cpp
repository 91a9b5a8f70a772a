//===- ppopt_emulate.cpp - Runs device kernels on this machine ------------===//
//
//   ppopt-emulate KERNELS.mlir [DEVICE.ll] [--kernel REGEX] [--seeds N]
//     Each kernel against the CPU's: the first draw of arguments in three
//     orders of its threads, others in a random one.
//     DEVICE.ll is by default what the target of KERNELS.mlir makes of it,
//     which --save-device-ir FILE writes.
//   ppopt-emulate DEVICE.ll --launch NAME --grid N --buffers WORDS
//     One kernel with the given buffers (LaunchCommand.h).
//   ppopt-emulate KERNELS.mlir [DEVICE.ll] --tasks NAMES --values FOLDER
//     The kernels of tasks, with the values in a folder (TaskCommand.h).
//   ppopt-emulate KERNELS.mlir --save-expectations FOLDER
//     Emulates nothing: writes what the kernels and matmuls must compute, for
//     ppopt-gpu-kernels (ExpectCommand.h).
//
//===----------------------------------------------------------------------===//

#include "CompareCommand.h"
#include "ExpectCommand.h"
#include "LaunchCommand.h"
#include "TaskCommand.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static cl::OptionCategory category("ppopt-emulate");
static cl::list<std::string> files(cl::Positional, cl::OneOrMore,
                                   cl::desc("[KERNELS.mlir] [DEVICE.ll]"),
                                   cl::cat(category));
static cl::opt<std::string> launch("launch", cl::desc("run this kernel alone"),
                                   cl::cat(category));
static cl::opt<unsigned> grid("grid", cl::desc("its blocks"), cl::init(1),
                              cl::cat(category));
static cl::opt<unsigned> shared("shared",
                                cl::desc("bytes of shared memory that it gets"),
                                cl::init(0), cl::cat(category));
static cl::list<unsigned> blocks("blocks", cl::desc("run only these of them"),
                                 cl::CommaSeparated, cl::cat(category));
static cl::list<std::string> buffers("buffers", cl::desc("its buffers"),
                                     cl::CommaSeparated, cl::cat(category));

static cl::list<std::string> tasks("tasks", cl::desc("run these tasks"),
                                   cl::CommaSeparated, cl::cat(category));
static cl::opt<std::string>
    values("values", cl::desc("the folder of their values"), cl::cat(category));

static cl::opt<std::string> kernel("kernel",
                                   cl::desc("only kernels that match this"),
                                   cl::cat(category));
static cl::opt<unsigned> seeds("seeds", cl::desc("draws of arguments"),
                               cl::init(2), cl::cat(category));

static cl::opt<std::string>
    compared("compared",
             cl::desc("a file of kernels that have been compared: leave them "
                      "out, and add those that are compared"),
             cl::cat(category));
static cl::opt<std::string>
    saved("save-device-ir",
          cl::desc("write the device code of all kernels here"),
          cl::cat(category));
static cl::opt<bool> ends("ends",
                          cl::desc("run the first, middle and last blocks on "
                                   "zeros, and compare nothing"),
                          cl::cat(category));

static cl::opt<std::string>
    expectations("save-expectations",
                 cl::desc("write what a GPU must compute into this folder"),
                 cl::cat(category));
static cl::opt<std::string>
    gpu("gpu", cl::desc("with --save-expectations: compile cubins for this"),
        cl::init("sm_80"), cl::cat(category));
static cl::opt<unsigned> samples("samples",
                                 cl::desc("with it: elements of each result"),
                                 cl::init(1000), cl::cat(category));
static cl::opt<unsigned>
    operands("operands",
             cl::desc("with it: operands of each approximate instruction"),
             cl::init(1 << 22), cl::cat(category));
static cl::opt<std::string> instructionIR(
    "save-instruction-ir",
    cl::desc("with it: write the device code of the instructions here"),
    cl::cat(category));

static int finish(Error error) {
  if (!error)
    return 0;
  errs() << "ppopt-emulate: error: " << toString(std::move(error)) << "\n";
  return 1;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Runs device kernels without a GPU\n");
  if (!launch.empty()) {
    if (files.size() != 1)
      return finish(createStringError("--launch takes one file"));
    return finish(emulated::runLaunch({files[0],
                                       launch,
                                       grid,
                                       shared,
                                       {blocks.begin(), blocks.end()},
                                       {buffers.begin(), buffers.end()}}));
  }
  if (files.size() > 2)
    return finish(createStringError("takes a module of kernels and their "
                                    "device code: KERNELS.mlir [DEVICE.ll]"));
  if (!expectations.empty()) {
    if (files.size() != 1)
      return finish(createStringError("--save-expectations takes one file"));
    return finish(
        emulated::writeExpectations({files[0], expectations, kernel, gpu,
                                     samples, operands, saved, instructionIR}));
  }
  std::string device = files.size() == 2 ? files[1] : "";
  if (!tasks.empty()) {
    if (values.empty())
      return finish(createStringError("--tasks takes --values FOLDER"));
    return finish(emulated::runTasks(
        {files[0], device, saved, {tasks.begin(), tasks.end()}, values}));
  }
  if (!compared.empty() && (!device.empty() || ends))
    return finish(createStringError(
        "--compared is for all blocks of what the compiler emits: leave out "
        "DEVICE.ll and --ends"));
  return finish(emulated::compareKernels(
      {files[0], device, saved, kernel, seeds, compared, ends}));
}
