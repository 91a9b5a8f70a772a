//===- TaskCommand.cpp - ppopt-emulate --tasks ----------------------------===//

#include "TaskCommand.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "KernelLaunch.h"

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace emulated;
namespace pp = mlir::pp;

namespace {

class TaskRunner {
public:
  TaskRunner(const KernelModule &kernels, const DeviceCode &code,
             StringRef folder)
      : kernels(kernels), code(code), folder(folder) {}

  Error run(pp::TaskOp task);
  Error writeValues() const;

private:
  Error prepare();
  Error launch(pp::LaunchOp op);
  Expected<Bytes> read(unsigned argument, uint64_t bytes) const;
  std::string getPath(StringRef name) const;
  const KernelDescription &getKernel(pp::LaunchOp op) const {
    return *find_if(kernels.kernels, [&](const KernelDescription &each) {
      return each.name == op.getKernel();
    });
  }

  const KernelModule &kernels;
  const DeviceCode &code;
  StringRef folder;
  /// By name, what tasks have written.
  StringMap<Bytes> values;
  /// The current task, the names of its arguments, and its buffers.
  pp::TaskOp task;
  std::vector<std::string> names;
  DenseMap<mlir::Value, Bytes> buffers;
};

} // namespace

static std::string getName(pp::RoleAttr role) {
  return (pp::stringifyRoleKind(role.getKind()) + "." + role.getName() +
          (role.getState().empty() ? "" : "." + role.getState()))
      .str();
}

/// Returns the names of a task's arguments: of state the role, of what tasks
/// hand to one another the task that makes it and the number of its result. The
/// values of a task on buffers are its call's operands and then its results.
static std::vector<std::string> nameArguments(pp::TaskOp task) {
  SmallVector<mlir::Value> values;
  for (auto step : task->getParentOfType<mlir::ModuleOp>().getOps<pp::StepOp>())
    for (auto call : step.getMicrobatch().getOps<pp::CallOp>())
      if (call.getTask() == task.getSymName()) {
        values.append(call.operand_begin(), call.operand_end());
        values.append(call.result_begin(), call.result_end());
      }
  const auto *next = values.begin();
  std::vector<std::string> names;
  for (unsigned i = 0; i < task.getNumArguments(); ++i) {
    pp::RoleAttr role = task.getArgRole(i);
    if (!pp::isValue(role.getKind())) {
      names.push_back(getName(role));
      continue;
    }
    auto made = cast<mlir::OpResult>(*next++);
    names.push_back(("value." + cast<pp::CallOp>(made.getOwner()).getTask() +
                     "." + Twine(made.getResultNumber()))
                        .str());
  }
  return names;
}

/// Returns the buffer that a view is all of; null if it is a part.
static mlir::Value getWhole(mlir::Value buffer) {
  auto count = [](mlir::Value value) {
    return cast<mlir::MemRefType>(value.getType()).getNumElements();
  };
  int64_t elements = count(buffer);
  while (auto view = buffer.getDefiningOp<mlir::ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return count(buffer) == elements ? buffer : mlir::Value();
}

std::string TaskRunner::getPath(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

Expected<Bytes> TaskRunner::read(unsigned argument, uint64_t bytes) const {
  pp::TaskOp of = task;
  pp::RoleAttr role = of.getArgRole(argument);
  StringRef name = names[argument];
  std::string path = getPath(name);
  if (auto it = values.find(name); it != values.end())
    return it->second;
  bool isSum = role.getKind() == pp::RoleKind::Grad ||
               role.getKind() == pp::RoleKind::Loss;
  if (isSum && !sys::fs::exists(path))
    return Bytes(bytes);
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("can't read '" + path +
                             "': " + file.getError().message());
  if ((*file)->getBufferSize() != bytes)
    return createStringError("'" + path + "' has " +
                             Twine((*file)->getBufferSize()) + " bytes, not " +
                             Twine(bytes));
  return Bytes((*file)->getBufferStart(), (*file)->getBufferEnd());
}

/// Reads the buffers of which the task's first use is not a write.
Error TaskRunner::prepare() {
  DenseSet<mlir::Value> written;
  for (auto op : task.getBody().getOps<pp::LaunchOp>()) {
    for (auto [in, operand] : zip(op.getIns(), getKernel(op).arguments)) {
      auto argument = dyn_cast_if_present<mlir::BlockArgument>(getWhole(in));
      if (!argument || written.contains(argument) || buffers.contains(argument))
        continue;
      auto contents = read(argument.getArgNumber(), operand.getBytes());
      if (!contents)
        return contents.takeError();
      buffers[argument] = std::move(*contents);
    }
    written.insert(op.getOuts().begin(), op.getOuts().end());
  }
  return Error::success();
}

Error TaskRunner::launch(pp::LaunchOp op) {
  const KernelDescription &kernel = getKernel(op);
  std::vector<Bytes> inputs;
  for (mlir::Value in : op.getIns()) {
    mlir::Value whole = getWhole(in);
    if (!whole || !buffers.contains(whole))
      return createStringError("'" + kernel.name + "' reads a part of a " +
                               "buffer, or one that no launch has written");
    inputs.push_back(buffers[whole]);
  }
  Outcome outcome = emulate(makeLaunch(kernel, *code.find(kernel.name), inputs),
                            Order::Random, /*seed=*/1);
  if (!outcome.error.empty())
    return createStringError(outcome.error);
  for (auto [i, out] : enumerate(op.getOuts())) {
    mlir::Value whole = getWhole(out);
    if (!whole)
      return createStringError("'" + kernel.name +
                               "' writes a part of a buffer");
    int64_t argument = kernel.inplace[i];
    buffers[whole] =
        outcome.contents[argument >= 0 ? argument : inputs.size() + i];
  }
  return Error::success();
}

Error TaskRunner::run(pp::TaskOp next) {
  task = next;
  names = nameArguments(task);
  buffers.clear();
  if (Error error = prepare())
    return error;
  DenseSet<mlir::Value> written;
  for (mlir::Operation &op : task.getBody().front()) {
    if (isa<pp::TempOp, pp::ReturnOp, mlir::ViewLikeOpInterface>(op))
      continue;
    auto launched = dyn_cast<pp::LaunchOp>(op);
    if (!launched)
      return createStringError("task '" + task.getSymName() + "' has a '" +
                               op.getName().getStringRef() +
                               "', and only launches are emulated");
    if (Error error = launch(launched))
      return error;
    for (mlir::Value out : launched.getOuts())
      written.insert(getWhole(out));
  }
  for (mlir::BlockArgument argument : task.getBody().getArguments())
    if (written.contains(argument))
      values[names[argument.getArgNumber()]] = buffers[argument];
  return Error::success();
}

Error TaskRunner::writeValues() const {
  for (const auto &value : values) {
    std::string path = getPath(value.first());
    std::error_code error;
    raw_fd_ostream out(path, error);
    if (error)
      return createStringError("can't write '" + path +
                               "': " + error.message());
    out.write(value.second.data(), value.second.size());
  }
  return Error::success();
}

Error emulated::runTasks(const TaskCommand &command) {
  auto kernels = KernelModule::read(command.kernels);
  if (!kernels)
    return kernels.takeError();
  if (Error error = kernels->saveDeviceIR(command.saved))
    return error;
  auto text = kernels->getDeviceIR(command.device);
  if (!text)
    return text.takeError();
  auto code = DeviceCode::load({*text, command.kernels});
  if (!code)
    return code.takeError();
  TaskRunner runner(*kernels, *code, command.folder);
  for (StringRef name : command.tasks) {
    auto task = kernels->module->lookupSymbol<pp::TaskOp>(name);
    if (!task)
      return createStringError("'" + command.kernels + "' has no task '" +
                               name + "'");
    if (Error error = runner.run(task))
      return error;
  }
  return runner.writeValues();
}
