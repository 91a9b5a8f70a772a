//===- ReadThroughViews.cpp - Makes backwards read the saved layout -------===//
//
// Applies where a backward region reads a result that a kernel writes by
// strides, as attention does, and the forward uses that result through other
// views alone (heads merged into rows). The backward then reads the value under
// these views and undoes them. So the value is saved once: `chooseSaved` picks
// one of several views of a value.
//
//   %f:2 = pp.place 0 stage 0 { %a, %s = pp.attention … %t = pp.transpose %a …
//                               pp.yield %y, %a }              // before
//   pp.place 0 stage 0 backward { … %f#1 … }
//
//   %f:3 = pp.place 0 stage 0 { … pp.yield %y, %a, %t }        // after
//   pp.place 0 stage 0 backward { %u = pp.transpose %f#2 … %u … }
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_READTHROUGHVIEWS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class ViewReader {
public:
  explicit ViewReader(StageParts &stage)
      : forward(stage.getForwardBlock()), backward(stage.getBackwardBlock()),
        builder(OpBuilder::atBlockBegin(backward)) {}

  /// Returns whether any read was changed.
  bool readWrittenViews();

private:
  llvm::MapVector<Value, SmallVector<OpOperand *>> getReads();
  Value getContinuation(Value value);
  Value undoViews(Value value, Value continuation, Value same);

  Block *forward, *backward;
  OpBuilder builder;
};

} // namespace

/// Looks through places and checkpoints.
static Value throughMarks(Value value) {
  value = throughPlace(value);
  if (auto mark = value.getDefiningOp<CheckpointOp>())
    return throughMarks(mark.getX());
  return value;
}

/// Adds the ops of the block, except its yield, that read a value.
static void addReaders(Value value, Block *block,
                       llvm::SmallPtrSetImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (auto mark = dyn_cast<CheckpointOp>(user))
      addReaders(mark, block, readers);
    else if (user->getBlock() == block && !isa<YieldOp>(user))
      readers.insert(user);
}

/// Returns the values of the forward that the backward reads, with the uses.
llvm::MapVector<Value, SmallVector<OpOperand *>> ViewReader::getReads() {
  llvm::MapVector<Value, SmallVector<OpOperand *>> reads;
  for (Operation &op : *backward)
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = throughMarks(operand.get());
      if (value.getDefiningOp() && value.getParentBlock() == forward)
        reads[value].push_back(&operand);
    }
  return reads;
}

/// Returns `value` under the views through which alone the forward uses it.
Value ViewReader::getContinuation(Value value) {
  llvm::SmallPtrSet<Operation *, 4> readers;
  addReaders(value, forward, readers);
  if (readers.size() != 1)
    return value;
  auto only = dyn_cast<ViewOpInterface>(*readers.begin());
  if (!only || !only.hasInverse())
    return value;
  return getContinuation(only->getResult(0));
}

/// Returns `value` computed from `same`, which equals `continuation`, a view of
/// `value`.
Value ViewReader::undoViews(Value value, Value continuation, Value same) {
  if (value == continuation)
    return same;
  auto view = continuation.getDefiningOp<ViewOpInterface>();
  return undoViews(value, throughMarks(view->getOperand(0)),
                   view.buildInverse(builder, same));
}

bool ViewReader::readWrittenViews() {
  auto reads = getReads();
  bool hasChanged = false;
  for (auto &[value, operands] : reads) {
    auto written = value.getDefiningOp<KernelFormOpInterface>();
    if (!written || !written.usesStrides())
      continue;
    Value continuation = getContinuation(value);
    if (continuation == value)
      continue;
    Value undone = undoViews(value, continuation, continuation);
    for (OpOperand *operand : operands)
      operand->set(undone);
    hasChanged = true;
  }
  return hasChanged;
}

namespace {

struct ReadThroughViews : pp::impl::ReadThroughViewsBase<ReadThroughViews> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    FailureOr<EntryParts> parts = findParts(*entry);
    if (failed(parts))
      return signalPassFailure();
    for (StageParts &stage : parts->stages)
      if (stage.backward && ViewReader(stage).readWrittenViews())
        yieldWhatIsRead(stage.forward);
  }
};

} // namespace
