//===- EmitTasks.cpp - Converts tasks to functions that call the runtime --===//
//
// Before: pp.tasks on buffers, whose kernels are functions already. After: for
// each task `void @task(ptr rank, ptr args, ptr temps)` (runtime.h), a table of
// these functions, and as constants the program's JSON and the bytes of the
// persistent buffers. Plan, buckets, regions
// and schedules are removed from the module; the JSON has them.
//
//===----------------------------------------------------------------------===//

#include "ProgramSymbols.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Program/ProgramTables.h"
#include "schema/write.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EMITTASKS
#include "ppopt/Program/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Emits the functions of tasks into a module.
class TaskEmitter {
public:
  TaskEmitter(ModuleOp module, const ProgramTables &tables)
      : module(module), tables(tables),
        builder(OpBuilder::atBlockEnd(module.getBody())),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()),
        nothing(LLVM::LLVMVoidType::get(module.getContext())) {}

  void declareRuntime();
  LogicalResult emit(TaskOp task);

private:
  LogicalResult emit(Operation &op);
  LogicalResult emit(LaunchOp launch);
  void emit(GemmOp matmul);
  void emit(BeginOp begin);
  void emit(FinishOp finish);
  void emit(ReleaseOp release);
  Value offsetBy(Location loc, Value base, int64_t bytes);
  Value address(Location loc, Value buffer, int64_t bytes = 0);
  Value number(Location loc, Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type, value);
  }

  ModuleOp module;
  const ProgramTables &tables;
  OpBuilder builder;
  Type pointer, i32, i64, nothing;
  TaskOp task;
  Value rank, args, temps, list;
};

void TaskEmitter::declareRuntime() {
  auto declare = [&](StringRef name, ArrayRef<Type> arguments) {
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                             LLVM::LLVMFunctionType::get(nothing, arguments));
  };
  declare("ppopt_launch", {pointer, i32, pointer, pointer, i64});
  declare("ppopt_matmul", {pointer, i32, pointer, pointer, pointer, pointer});
  declare("ppopt_start", {pointer, i32, pointer, pointer, pointer});
  declare("ppopt_wait", {pointer, i32});
  declare("ppopt_release", {pointer, pointer, i64});
}

Value TaskEmitter::offsetBy(Location loc, Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{number(loc, i64, bytes)});
}

/// Computed at each use: tasks are long, and a value that all launches share
/// would stay alive from end to end.
Value TaskEmitter::address(Location loc, Value buffer, int64_t bytes) {
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    Value entry = offsetBy(loc, args, sizeof(void *) * argument.getArgNumber());
    return offsetBy(loc, LLVM::LoadOp::create(builder, loc, pointer, entry),
                    bytes);
  }
  if (auto temp = buffer.getDefiningOp<TempOp>())
    return offsetBy(loc, temps, temp.getOffset() + bytes);
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  return address(loc, view.getSource(),
                 bytes + view.getStaticOffsets()[0] *
                             getElementBytes(view.getType().getElementType()));
}

LogicalResult TaskEmitter::emit(LaunchOp launch) {
  Location loc = launch.getLoc();
  unsigned kernelNumber = tables.getKernel(launch.getKernel());
  KernelOp launched = tables.kernels[kernelNumber];
  TilesAttr tiles = launched.getTilesAttr();
  if (!tiles)
    return launch.emitOpError("launches ")
           << launch.getKernelAttr() << ", whose tiles are not decided";
  unsigned position = 0;
  for (ValueRange buffers :
       {ValueRange(launch.getIns()), ValueRange(launch.getOuts())})
    for (Value buffer : buffers)
      LLVM::StoreOp::create(builder, loc, address(loc, buffer),
                            offsetBy(loc, list, sizeof(void *) * position++));
  Value kernel = LLVM::AddressOfOp::create(
      builder, loc, pointer, (launch.getKernel() + "_tiles").str());
  LLVM::CallOp::create(builder, loc, TypeRange(), "ppopt_launch",
                       ValueRange{rank, number(loc, i32, kernelNumber), kernel,
                                  list, number(loc, i64, tiles.getCount())});
  return success();
}

void TaskEmitter::emit(GemmOp matmul) {
  Location loc = matmul.getLoc();
  auto operand = [&](Value buffer, int64_t elements) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    return address(loc, buffer, elements * getElementBytes(element));
  };
  Value workspace = matmul.getWorkspace()
                        ? address(loc, matmul.getWorkspace())
                        : LLVM::ZeroOp::create(builder, loc, pointer);
  LLVM::CallOp::create(
      builder, loc, TypeRange(), "ppopt_matmul",
      ValueRange{rank, number(loc, i32, tables.getMatmul(matmul)),
                 operand(matmul.getA(), matmul.getAOffset()),
                 operand(matmul.getB(), matmul.getBOffset()),
                 operand(matmul.getC(), matmul.getCOffset()), workspace});
}

void TaskEmitter::emit(BeginOp begin) {
  Location loc = begin.getLoc();
  Value scratch = begin.getOuts().size() > 1
                      ? address(loc, begin.getOuts()[1])
                      : LLVM::ZeroOp::create(builder, loc, pointer);
  LLVM::CallOp::create(
      builder, loc, TypeRange(), "ppopt_start",
      ValueRange{
          rank, number(loc, i32, tables.getCollective(task, begin.getNumber())),
          address(loc, begin.getX()), address(loc, begin.getOuts().front()),
          scratch});
}

void TaskEmitter::emit(FinishOp finish) {
  Location loc = finish.getLoc();
  LLVM::CallOp::create(
      builder, loc, TypeRange(), "ppopt_wait",
      ValueRange{rank, number(loc, i32,
                              tables.getCollective(task, finish.getNumber()))});
}

void TaskEmitter::emit(ReleaseOp release) {
  Location loc = release.getLoc();
  Value buffer = release.getBuffer();
  LLVM::CallOp::create(
      builder, loc, TypeRange(), "ppopt_release",
      ValueRange{rank, address(loc, buffer),
                 number(loc, i64, getBytes(buffer.getType()))});
}

LogicalResult TaskEmitter::emit(Operation &op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return emit(launch);
  bool isCall = llvm::TypeSwitch<Operation *, bool>(&op)
                    .Case<GemmOp, BeginOp, FinishOp, ReleaseOp>([&](auto call) {
                      emit(call);
                      return true;
                    })
                    .Default(false);
  if (isCall)
    return success();
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
    if (ShapedType::isDynamic(cast.getStaticOffsets()[0]))
      return cast.emitOpError("has an offset that is not a constant");
    return success();
  }
  if (isa<TempOp>(op))
    return success();
  if (isa<ReturnOp>(op)) {
    LLVM::ReturnOp::create(builder, op.getLoc(), ValueRange());
    return success();
  }
  return op.emitOpError("is neither a matmul, a launch, a collective nor a "
                        "buffer: it should be part of a kernel");
}

/// Returns the most buffers that a launch of the task takes.
unsigned countListEntries(TaskOp task) {
  unsigned most = 1;
  task.walk([&](LaunchOp launch) {
    most = std::max<unsigned>(most,
                              launch.getIns().size() + launch.getOuts().size());
  });
  return most;
}

LogicalResult TaskEmitter::emit(TaskOp emitted) {
  task = emitted;
  Location loc = task.getLoc();
  builder.setInsertionPointToEnd(module.getBody());
  // The function takes the name of the task, which is erased.
  std::string name = task.getSymName().str();
  task.setSymName(name + ".task");
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(nothing, {pointer, pointer, pointer}));
  // It contains only calls: the time to optimise it grows faster than its
  // length, without gain.
  function.setOptimizeNone(true);
  function.setNoInline(true);
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  rank = body->getArgument(0);
  args = body->getArgument(1);
  temps = body->getArgument(2);
  list = LLVM::AllocaOp::create(builder, loc, pointer, pointer,
                                number(loc, i32, countListEntries(task)));
  for (Operation &op : task.getBody().front())
    if (failed(emit(op)))
      return failure();
  return success();
}

struct EmitTasks : pp::impl::EmitTasksBase<EmitTasks> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<schema::Program> program = buildProgram(module);
    if (failed(program))
      return signalPassFailure();
    std::string text = schema::writeProgram(*program);

    ProgramTables tables(module);
    SmallVector<std::string> names;
    for (TaskOp task : tables.tasks)
      names.push_back(task.getSymName().str());
    TaskEmitter emitter(module, tables);
    emitter.declareRuntime();
    for (TaskOp task : tables.tasks)
      if (failed(emitter.emit(task)))
        return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<PPDialect>(op.getDialect()))
        op.erase();
    ProgramKind kind = program->generation         ? ProgramKind::Generation
                       : !program->outputs.empty() ? ProgramKind::Prediction
                                                   : ProgramKind::Training;
    emitProgramSymbols(
        module, kind, SmallVector<StringRef>(names.begin(), names.end()), text);
    // Programs share the buffers.
    if (kind == ProgramKind::Training)
      emitBuffers(module);
    module->removeAttr(kBuffersAttr);
  }
};

} // namespace
