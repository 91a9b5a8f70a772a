//===- BufferizeTasks.cpp - Assigns a buffer to every tensor of a task ----===//
//
// Before: launches of kernels on tensors, matmuls, views. After: the same on
// memrefs: arguments, destinations of results, temporaries.
//
//   %1 = pp.launch @relu ins(%0 : tensor<4x8xf32>) outs() ...   // before
//       -> tensor<4x8xf32>
//   pp.return %1
//
//   pp.launch @relu ins(%0 : memref<4x8xf32>)                   // after
//       outs(%result : memref<4x8xf32>) ...
//   pp.return
//
//===----------------------------------------------------------------------===//

#include "ppopt/Codegen/ForEachTask.h"
#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Codegen/TemporaryPlan.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "ppopt/Codegen/Passes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_BUFFERIZETASKS
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The storage of a value: from an element of another value on.
struct Part {
  Value whole;
  int64_t offset; ///< in elements
};

class TaskBufferizer {
public:
  /// `dying`: the numbers of arguments whose values are dead after the task.
  TaskBufferizer(TaskOp task, const Target &target, int64_t threads,
                 bool usesLibrary, const DenseSet<unsigned> &dying)
      : task(task), target(target), threads(threads), usesLibrary(usesLibrary),
        dying(dying), body(task.getBody().front()), ret(body.getTerminator()),
        builder(task.getContext()), alignment(getBufferAlignment(task)) {}

  LogicalResult run();

private:
  MemRefType getBufferType(Type tensor, Pitch pitch = std::nullopt) {
    return pp::getBufferType(cast<RankedTensorType>(tensor), pitch);
  }
  void widenAccumulatedCalls();
  void findParts();
  Part getStorage(Value value) const;
  Value getRoot(Value value) const { return getStorage(value).whole; }
  void convertSignature();
  void findUses();
  SmallVector<Hole> findHoles(SmallVectorImpl<Value> &arguments);
  void assignTemporaries();
  Value getBuffer(Value value);
  LogicalResult convert(Operation &op);
  LogicalResult checkIsInPlace(JoinOp op);
  void convertLaunch(LaunchOp op);
  void convertBegin(BeginOp op);
  void release(BeginOp op);
  LogicalResult convertCall(LibraryCallOpInterface op);
  Value getWorkspace(const ppopt::MatmulDescriptor &matmul, Location loc);

  TaskOp task;
  const Target &target;
  int64_t threads;
  bool usesLibrary; ///< for matmuls
  const DenseSet<unsigned> &dying;
  Block &body;
  Operation *ret;
  OpBuilder builder;
  int64_t alignment; ///< of buffers
  /// Values that are computed in place of a concatenation's operand.
  DenseMap<Value, Part> parts;
  /// The buffers of roots; keyed by root value.
  DenseMap<Value, Value> buffers;
  /// The first element in its buffer of each root that is in a hole.
  DenseMap<Value, int64_t> offsets;
  llvm::MapVector<Value, unsigned> firstWrites;
  DenseMap<Value, unsigned> lastUses;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> position;
  int64_t tempBytes = 0, workspaceBytes = 0;
};

/// Computes a call that is accumulated in a wider type in that type: it is
/// never rounded to its own.
void TaskBufferizer::widenAccumulatedCalls() {
  for (auto call : body.getOps<LibraryCallOpInterface>()) {
    AccumulateOp accumulate = getAccumulation(call, target);
    if (!accumulate)
      continue;
    Type wide = getElementTypeOrSelf(accumulate.getAccumulator());
    Value value = call->getResult(0);
    while (value != accumulate.getResult()) {
      value.setType(cast<RankedTensorType>(value.getType()).clone(wide));
      Operation *user = *value.user_begin();
      if (!isa<CastOp>(user)) {
        value = user->getResult(0);
        continue;
      }
      user->replaceAllUsesWith(ValueRange(value));
      user->erase();
    }
  }
}

/// The remaining concatenations have operands that are computed in place
/// (form-kernels).
void TaskBufferizer::findParts() {
  for (auto concat : body.getOps<ConcatOp>())
    for (auto [input, offset] :
         llvm::zip(concat.getInputs(), *getContiguousOffsets(concat)))
      parts[getRoot(input)] = {concat.getResult(), offset};
}

/// Returns the root whose buffer holds `value`, and the offset there. Looks
/// through views, in-place results and parts of concatenations. The offset
/// means nothing if a view's elements are not contiguous.
Part TaskBufferizer::getStorage(Value value) const {
  Part storage{value, 0};
  while (true) {
    Value at = storage.whole;
    if (auto part = parts.find(at); part != parts.end()) {
      storage.whole = part->second.whole;
      storage.offset += part->second.offset;
      continue;
    }
    Operation *op = at.getDefiningOp();
    if (isView(op)) {
      storage.offset +=
          getContiguousOffset(cast<ViewOpInterface>(op)).value_or(0);
      storage.whole = op->getOperand(0);
    } else if (isa_and_nonnull<AccumulateOp, JoinOp, FinishOp>(op)) {
      storage.whole = op->getOperand(0); // completed in place
    } else if (auto launch = dyn_cast_or_null<LaunchOp>(op)) {
      int64_t input = launch.getInplace()[cast<OpResult>(at).getResultNumber()];
      if (input < 0)
        return storage;
      storage.whole = launch.getIns()[input];
    } else {
      return storage;
    }
  }
}

/// Converts arguments to memrefs, and untied results to arguments.
void TaskBufferizer::convertSignature() {
  SmallVector<Attribute> attrs;
  auto getDict = [&](DictionaryAttr dict) { // values have no attributes
    return dict ? dict : builder.getDictionaryAttr({});
  };
  for (BlockArgument argument : body.getArguments()) {
    attrs.push_back(getDict(task.getArgAttrDict(argument.getArgNumber())));
    buffers[argument] = argument;
  }
  DenseMap<unsigned, Value> destinations;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
    std::optional<unsigned> tied = task.getTiedArgument(i);
    if (tied) {
      destinations[i] = body.getArgument(*tied);
      continue;
    }
    attrs.push_back(getDict(task.getResultAttrDict(i)));
    destinations[i] = body.addArgument(getBufferType(task.getResultTypes()[i]),
                                       ret->getOperand(i).getLoc());
  }
  for (OpOperand &use : ret->getOpOperands()) {
    Value root = getRoot(use.get());
    if (root.getDefiningOp())
      buffers[root] = destinations[use.getOperandNumber()];
  }
  task.setArgAttrsAttr(builder.getArrayAttr(attrs));
  task.removeResAttrsAttr();
}

/// Finds the uses of roots. An accumulating matmul runs where its accumulator
/// is complete. The life of a value that is written in parts begins with the
/// first part.
void TaskBufferizer::findUses() {
  for (Operation &op : body) {
    position[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation &op : body) {
    AccumulateOp accumulation;
    if (auto call = dyn_cast<LibraryCallOpInterface>(op))
      accumulation = getAccumulation(call, target);
    if (!accumulation && !isView(&op))
      for (Value result : op.getResults())
        firstWrites.insert({getRoot(result), position[&op]});
    unsigned runs = position[accumulation ? accumulation : &op];
    for (Value operand : op.getOperands()) {
      unsigned &last = lastUses[getRoot(operand)];
      last = std::max(last, runs);
    }
  }
}

/// Finds arguments that are dead for a part of the task: those that die here,
/// after their last reader; those that are made here, before the op that makes
/// them.
SmallVector<Hole> TaskBufferizer::findHoles(SmallVectorImpl<Value> &arguments) {
  SmallVector<Hole> holes;
  auto add = [&](Value buffer, unsigned first, unsigned last) {
    arguments.push_back(buffer);
    holes.push_back({getAlignedBytes(buffer.getType()), first, last,
                     getElementTypeOrSelf(buffer).getAsOpaquePointer()});
  };
  unsigned end = position[ret];
  // The original arguments of the task: those with tensor types.
  for (BlockArgument argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()) &&
        dying.contains(argument.getArgNumber()))
      add(argument, lastUses.lookup(argument) + 1, end);
  for (Value result : ret->getOperands()) {
    Value root = getRoot(result), buffer = buffers.lookup(root);
    bool isTied = isa<RankedTensorType>(buffer.getType());
    auto made = firstWrites.find(root);
    if (!isTied && made != firstWrites.end() && made->second > 0)
      add(buffer, 0, made->second - 1);
  }
  return holes;
}

void TaskBufferizer::assignTemporaries() {
  SmallVector<Value> values;
  SmallVector<Lifetime> plan;
  for (auto [root, made] : firstWrites) {
    if (buffers.contains(root))
      continue;
    values.push_back(root);
    MemRefType type = getBufferType(root.getType(), getPitch(root));
    plan.push_back({getAlignedBytes(type, alignment), made,
                    std::max(made, lastUses.lookup(root)),
                    getElementTypeOrSelf(root).getAsOpaquePointer()});
  }
  SmallVector<Value> arguments;
  SmallVector<Hole> holes = findHoles(arguments);
  tempBytes = planOffsets(plan, holes);
  for (auto [value, lifetime] : llvm::zip(values, plan)) {
    if (lifetime.hole) {
      buffers[value] = arguments[*lifetime.hole];
      offsets[value] =
          lifetime.offset / getElementBytes(getElementTypeOrSelf(value));
      continue;
    }
    builder.setInsertionPoint(ops[lifetime.first]);
    buffers[value] = TempOp::create(
        builder, value.getLoc(),
        getBufferType(value.getType(), getPitch(value)), lifetime.offset);
  }
}

/// Returns the buffer of `value` with the value's shape.
Value TaskBufferizer::getBuffer(Value value) {
  Part storage = getStorage(value);
  Value buffer = buffers.lookup(storage.whole);
  int64_t offset = storage.offset + offsets.lookup(storage.whole);
  MemRefType wanted = getBufferType(value.getType(), getPitch(value));
  auto type = dyn_cast<MemRefType>(buffer.getType()); // else of an argument
  if (offset == 0 &&
      cast<ShapedType>(buffer.getType()).getShape() == wanted.getShape() &&
      (type ? getPitch(type) : std::nullopt) == getPitch(wanted))
    return buffer;
  SmallVector<int64_t> strides = wanted.getStridesAndOffset().first;
  if (offset != 0)
    wanted = MemRefType::get(
        wanted.getShape(), wanted.getElementType(),
        StridedLayoutAttr::get(builder.getContext(), offset, strides));
  return memref::ReinterpretCastOp::create(builder, value.getLoc(), wanted,
                                           buffer, offset, wanted.getShape(),
                                           strides);
}

void TaskBufferizer::convertLaunch(LaunchOp op) {
  SmallVector<Value> ins, outs;
  for (Value input : op.getIns())
    ins.push_back(getBuffer(input));
  for (auto [result, input] : llvm::zip(op.getResults(), op.getInplace()))
    outs.push_back(input < 0 ? getBuffer(result) : ins[input]);
  LaunchOp::create(builder, op.getLoc(), TypeRange(), op.getKernelAttr(), ins,
                   outs, op.getInplaceAttr());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void TaskBufferizer::convertBegin(BeginOp op) {
  auto outs = llvm::map_to_vector(
      op.getResults(), [&](Value result) { return getBuffer(result); });
  BeginOp::create(builder, op.getLoc(), TypeRange(), op.getNumber(),
                  op.getCollectiveAttr(), getBuffer(op.getX()), outs);
  if (op.getCollective().getKind() == ppopt::geometry::Collective::AllGather)
    release(op);
}

/// Releases what is gathered after its last reader, unless the task returns it.
void TaskBufferizer::release(BeginOp op) {
  OpBuilder::InsertionGuard guard(builder);
  Value gathered = op.getResult(0);
  Operation *last = ops[lastUses.lookup(getRoot(gathered))];
  if (last == ret)
    return;
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, op.getLoc(), getBuffer(gathered));
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// Returns scratch memory after all temporaries; matmuls use it one at a time.
Value TaskBufferizer::getWorkspace(const ppopt::MatmulDescriptor &matmul,
                                   Location loc) {
  int64_t bytes = usesLibrary ? target.getMatmulWorkspace(matmul, threads) : 0;
  if (bytes == 0)
    return Value();
  workspaceBytes =
      std::max<int64_t>(workspaceBytes, llvm::alignTo(bytes, alignment));
  auto temp = TempOp::create(
      builder, loc, MemRefType::get({bytes}, builder.getI8Type()), tempBytes);
  return temp;
}

LogicalResult TaskBufferizer::convertCall(LibraryCallOpInterface op) {
  Value failed;
  AccumulateOp accumulate = getAccumulation(op, target);
  // Everything still without memory is folded.
  std::optional<FoldedCall> folded = foldCall(
      op, [](Operation *) { return false; }, accumulate != nullptr, failed);
  if (!folded)
    return op.emitOpError(
        "has an operand whose views do not fold into strides; "
        "run --pp-form-kernels first");
  if (std::string wrong = target.checkMatmul(folded->call); !wrong.empty())
    return op.emitOpError("is a matmul that the library refuses: ") << wrong;
  SmallVector<Value> operands;
  SmallVector<int64_t> offsets;
  for (const Layout &operand : folded->operands) {
    operands.push_back(getBuffer(operand.base));
    offsets.push_back(operand.offset);
  }
  Value result = getBuffer(accumulate ? Value(accumulate.getAccumulator())
                                      : Value(op->getResult(0)));
  op.createCall(builder, folded->call, operands, offsets, result,
                getWorkspace(folded->call, op.getLoc()));
  return success();
}

//===----------------------------------------------------------------------===//
// The task
//===----------------------------------------------------------------------===//

/// Checks that each part is computed where it belongs. Elsewhere it would be
/// lost: nothing copies it.
LogicalResult TaskBufferizer::checkIsInPlace(JoinOp op) {
  Part base = getStorage(op.getBase());
  for (auto [i, part, offset] :
       llvm::enumerate(op.getParts(), op.getOffsets())) {
    Part storage = getStorage(part);
    if (storage.whole != base.whole || storage.offset != base.offset + offset)
      return op.emitOpError("has part ")
             << i << " at element " << offset
             << ", where it is not accumulated: it would be lost";
  }
  return success();
}

LogicalResult TaskBufferizer::convert(Operation &op) {
  builder.setInsertionPoint(&op);
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    convertLaunch(launch);
    return success();
  }
  if (auto call = dyn_cast<LibraryCallOpInterface>(op)) {
    // Emitted where the accumulator is complete.
    if (AccumulateOp accumulate = getAccumulation(call, target))
      builder.setInsertionPoint(accumulate);
    return convertCall(call);
  }
  if (auto begin = dyn_cast<BeginOp>(op)) {
    convertBegin(begin);
    return success();
  }
  if (auto finish = dyn_cast<FinishOp>(op)) {
    FinishOp::create(builder, op.getLoc(), Type(), finish.getNumber(),
                     ValueRange());
    return success();
  }
  if (auto join = dyn_cast<JoinOp>(op))
    return checkIsInPlace(join);
  if (isa<AccumulateOp, ConcatOp>(op) || isView(&op))
    return success();
  return op.emitOpError("is neither a matmul, a launch nor a view; run "
                        "--pp-form-kernels first");
}

LogicalResult TaskBufferizer::run() {
  if (llvm::any_of(task.getArgumentTypes(), llvm::IsaPred<MemRefType>))
    return task.emitOpError("has buffers already");
  widenAccumulatedCalls();
  findParts();
  convertSignature();
  SmallVector<Operation *> old;
  for (Operation &op : body)
    if (&op != ret)
      old.push_back(&op);
  findUses();
  assignTemporaries();
  for (Operation *op : old)
    if (failed(convert(*op)))
      return failure();
  ret->eraseOperands(0, ret->getNumOperands());
  for (Operation *op : llvm::reverse(old))
    op->erase();
  // Until here ops on tensors have used them.
  for (BlockArgument argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      argument.setType(getBufferType(argument.getType()));
  task.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
  task.setTempBytes(tempBytes + workspaceBytes);
  task.setWorkspaceBytes(workspaceBytes);
  return success();
}

struct BufferizeTasksPass : pp::impl::BufferizeTasksBase<BufferizeTasksPass> {
  void runOnOperation() override {
    FailureOr<const Target *> target = findTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    int64_t threads = 1;
    bool usesLibrary = true;
    for (auto plan : getOperation().getOps<PlanOp>()) {
      threads = plan.getTarget().getThreads();
      usesLibrary = plan.getMatmulSource() == MatmulSource::library;
    }
    auto dying = findDyingArguments(getOperation());
    if (failed(forEachTask(getOperation(), [&](TaskOp task) {
          return TaskBufferizer(task, **target, threads, usesLibrary,
                                dying.lookup(task))
              .run();
        })))
      signalPassFailure();
  }
};

} // namespace
