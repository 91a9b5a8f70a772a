//===- probe.cpp - Programs that are run to be timed ----------------------===//

#include "probe.h"

#include "commands.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Support/WriteFile.h"
#include "ppopt/launch.h"
#include "ppopt/shell_word.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Phase;

/// The first step is left out of both.
static constexpr int kSteps = 5;

static GptModel makeGpt(int64_t width, int64_t heads, int64_t length,
                        int64_t batch, const char *type,
                        int64_t vocabulary = 256) {
  GptModel model;
  model.layers = 1;
  model.width = width;
  model.heads = heads;
  model.vocabulary = vocabulary;
  model.length = length;
  model.batch = batch;
  model.mlpWidth = 4 * width;
  model.type = type;
  return model;
}

const GptModel ppopt::kSmallGpt = makeGpt(128, 4, 128, 4, "f32"),
               ppopt::kLargeGpt = makeGpt(512, 4, 256, 4, "f32"),
               ppopt::kDoubleGpt = makeGpt(256, 4, 128, 4, "f64"),
               ppopt::kFarGpt =
                   makeGpt(512, 8, 64, 1, "f32", /*vocabulary=*/16384);

mlir::pp::PlanOptions ppopt::makeProbePlan(int64_t threads, const char *axis,
                                           int64_t ranks) {
  mlir::pp::PlanOptions plan;
  plan.mesh = {{axis, ranks}};
  plan.target.threads = threads;
  return plan;
}

bool ppopt::hasMpirun() { return bool(sys::findProgramByName("mpirun")); }

LogicalResult Probe::compile(const GptModel &model, mlir::pp::PlanOptions plan,
                             const mlir::pp::CompilationSetup &setup) {
  plan.source = path(".mlir");
  std::string wrong = writeWhole(plan.source, writeGpt(model));
  if (wrong.empty())
    wrong = mlir::pp::completePlan(plan);
  if (!wrong.empty())
    return failure(fail(machineCommand, wrong));
  ranks = plan.mesh.ranks();
  mlir::pp::Compilation compilation(plan, setup);
  if (failed(compilation.parse()) || failed(compilation.run(Phase::Kernels)))
    return failure();
  mlir::pp::ProgramTables tables(compilation.getModule());
  for (mlir::pp::KernelOp kernel : tables.kernels)
    work[kernel.getSymName()] = mlir::pp::estimateKernelWork(kernel);
  for (const mlir::pp::MatmulEntry &matmul : tables.matmuls)
    work[matmul.name] = mlir::pp::estimateWork(matmul.op);
  if (failed(compilation.run(Phase::Native)))
    return failure();
  return compilation.writeExecutable(path(".run"), folder.path(""));
}

LogicalResult Probe::run(Ranks how, const std::string &flags) const {
  std::string data = path(".data");
  std::string error = writeWhole(data, std::string(1 << 16, 'a'));
  std::string command = "PPOPT_MACHINE_RATES=0 ";
  if (how == Ranks::AsProcesses)
    command +=
        (Twine(launchAsRoot) + " mpirun " + launchOversubscribed + " " +
         launchFlags + " " + launchOnOneMachine + " -np " + Twine(ranks) + " ")
            .str();
  command += shellCommand(path(".run")) + " --data " + shellWord(data) +
             " --steps " + std::to_string(kSteps) + " " + flags;
  std::string output = path(".out");
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(output),
                                          StringRef(output)};
  if (error.empty() &&
      sys::ExecuteAndWait("/bin/sh", {"/bin/sh", "-c", command}, std::nullopt,
                          redirects, /*SecondsToWait=*/120, 0, &error) == 0)
    return success();
  errs() << "ppopt machine: error: a program to be timed failed: " << command
         << "\n"
         << error;
  if (auto text = MemoryBuffer::getFile(output))
    errs() << (*text)->getBuffer();
  return failure();
}

FailureOr<std::vector<TimedLaunch>> Probe::profile(Ranks how) const {
  sys::fs::remove(path(".jsonl")); // of an earlier run
  if (failed(run(how, "--profile --log " + shellWord(path(".jsonl")))))
    return failure();
  auto log = MemoryBuffer::getFile(path(".jsonl"));
  if (!log) {
    errs() << "ppopt machine: error: a program to be timed wrote no log: "
           << log.getError().message() << "\n";
    return failure();
  }
  std::vector<TimedLaunch> launches;
  for (StringRef line : split((*log)->getBuffer(), '\n')) {
    Expected<json::Value> record = json::parse(line);
    if (!record) {
      consumeError(record.takeError()); // the end of the file
      continue;
    }
    const json::Object *fields = record->getAsObject();
    if (!fields || fields->getString("event") != StringRef("profile_line"))
      continue;
    // Lines about other things are no launches.
    StringRef launch = fields->getString("name").value_or("");
    auto known = work.find(launch);
    double calls = fields->getNumber("calls_per_step").value_or(0);
    double time = fields->getNumber("ms_per_step").value_or(0) * 1e6;
    if (known != work.end() && calls > 0 && time > 0)
      launches.push_back({launch.str(), known->second, time / calls});
  }
  return launches;
}

FailureOr<json::Array> Probe::trace(Ranks how) const {
  if (failed(run(how, "--trace " + shellWord(path(".trace")) +
                          " --trace-steps " + std::to_string(kSteps - 1))))
    return failure();
  auto file = MemoryBuffer::getFile(path(".trace"));
  if (!file)
    return failure();
  Expected<json::Value> document = json::parse((*file)->getBuffer());
  if (!document) {
    errs() << "ppopt machine: error: " << toString(document.takeError())
           << "\n";
    return failure();
  }
  if (json::Object *object = document->getAsObject())
    if (json::Array *events = object->getArray("traceEvents"))
      return std::move(*events);
  return failure();
}
