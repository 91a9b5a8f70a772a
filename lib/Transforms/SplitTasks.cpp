//===- SplitTasks.cpp - Cuts the entry into isolated tasks ----------------===//
//
// Before: the entry on local shapes, a forward and a backward region. After:
// declarations of the parameters, and the tasks s0_P (if there are sums over
// the batch of inputs), s0_F and s0_B, whose signatures name all that they
// need.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"
#include "ppopt/Transforms/TaskBuilder.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITTASKS
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The parts of a one-place entry.
struct Parts {
  func::FuncOp entry;
  PlaceOp forward, backward;
  SmallVector<UpdateOp> updates;
  Value loss;
};

/// The value inside a region that a place's result stands for; else itself.
Value throughPlace(Value value) {
  if (auto place = value.getDefiningOp<PlaceOp>())
    return throughPlace(place.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  return value;
}

FailureOr<Parts> findParts(func::FuncOp entry) {
  Parts parts{entry, {}, {}, {}, {}};
  for (Operation &op : entry.getBody().front()) {
    if (auto place = dyn_cast<PlaceOp>(op)) {
      if (parts.backward)
        return place.emitOpError("is a third region; this version makes tasks "
                                 "of one place with one stage"),
               failure();
      (parts.forward ? parts.backward : parts.forward) = place;
    } else if (auto update = dyn_cast<UpdateOp>(op)) {
      parts.updates.push_back(update);
    }
  }
  if (!parts.forward)
    return entry.emitError("has no pp.place: run --pp-place-ops first"),
           failure();
  parts.loss =
      throughPlace(entry.getBody().front().getTerminator()->getOperand(0));
  return parts;
}

/// Builds the tasks of a stage from its regions.
class TaskSplitter {
public:
  TaskSplitter(const Parts &parts, OpBuilder &builder)
      : parts(parts), builder(builder) {}

  void run();
  unsigned numRecomputed = 0, numSaved = 0;

private:
  void nameBatchSums();
  void findSaved();
  void buildPrologue();
  void buildForward();
  void buildBackward();
  bool isAvailable(Value value, const DenseSet<Value> &saved);
  Value materialise(TaskBuilder &task, Value value);
  std::optional<RoleAttr> roleOf(Value value);
  RoleAttr role(RoleKind kind, const Twine &name) {
    return RoleAttr::get(builder.getContext(), kind, name.str());
  }

  Parts parts;
  OpBuilder &builder;
  /// What is summed over the batch for the prologue, in order; the sums' names
  /// are g0, g1, ….
  llvm::SetVector<Value> summed;
  /// Of each, an op that sums it.
  SmallVector<BatchSumOp> batchSums;
  /// Forward values that the backward takes as arguments, in program order.
  SmallVector<Value> saved;
};

/// The role of a value that a task takes as an argument wherever it is needed.
std::optional<RoleAttr> TaskSplitter::roleOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    if (auto known = parts.entry.getArgAttrOfType<RoleAttr>(i, "pp.role"))
      return known;
    return role(
        RoleKind::Input,
        parts.entry.getArgAttrOfType<StringAttr>(i, kInputAttr).getValue());
  }
  if (auto param = value.getDefiningOp<ParamOp>())
    return role(RoleKind::Param, param.getParamName());
  if (auto sum = value.getDefiningOp<BatchSumOp>()) {
    Value partial = throughPlace(sum.getPartial());
    return role(RoleKind::Global,
                "g" + Twine(llvm::find(summed, partial) - summed.begin()));
  }
  return std::nullopt;
}

void TaskSplitter::nameBatchSums() {
  // Forward and backward may both complete one sum.
  parts.entry.walk([&](BatchSumOp op) {
    if (summed.insert(throughPlace(op.getPartial())))
      batchSums.push_back(op);
  });
}

/// Whether the backward can have `value` without more being saved.
bool TaskSplitter::isAvailable(Value value, const DenseSet<Value> &kept) {
  if (roleOf(value) || kept.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && isCheap(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isAvailable(throughPlace(operand), kept);
         });
}

/// What crosses from forward to backward, less what follows cheaply from the
/// rest.
void TaskSplitter::findSaved() {
  if (!parts.backward)
    return;
  llvm::SetVector<Value> crossing;
  Block &forward = parts.forward.getBody().front();
  parts.backward.walk([&](Operation *op) {
    if (isa<BatchSumOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      Value inner = throughPlace(operand);
      if (inner.getParentBlock() == &forward && !roleOf(inner))
        crossing.insert(inner);
    }
  });
  DenseSet<Value> kept(crossing.begin(), crossing.end());
  SmallVector<Value> ordered(crossing.getArrayRef());
  llvm::sort(ordered, [](Value a, Value b) {
    return a.getDefiningOp() == b.getDefiningOp()
               ? cast<OpResult>(a).getResultNumber() <
                     cast<OpResult>(b).getResultNumber()
               : a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  // The last first: a value may be dropped in favour of what it is made of,
  // never the other way round.
  for (Value value : llvm::reverse(ordered)) {
    kept.erase(value);
    if (!isAvailable(value, kept))
      kept.insert(value);
  }
  for (Value value : ordered)
    if (kept.contains(value))
      saved.push_back(value);
  numSaved = saved.size();
}

/// The value in the task: an argument, a clone made before, or a clone made now
/// of the op and what it needs.
Value TaskSplitter::materialise(TaskBuilder &task, Value outer) {
  Value value = throughPlace(outer);
  if (Value known = task.lookup(value))
    return known;
  if (std::optional<RoleAttr> found = roleOf(value)) {
    Value argument = task.addArgument(*found, value.getType(), value.getLoc());
    task.map(value, argument);
    return argument;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialise(task, operand);
  task.clone(op, [&](Value operand) { return throughPlace(operand); });
  return task.lookup(value);
}

void TaskSplitter::buildPrologue() {
  if (batchSums.empty())
    return;
  TaskBuilder task(builder, "p0_P", TaskKind::Prologue, TaskOp::kNoStage,
                   /*place=*/0, parts.forward.getLoc());
  for (BatchSumOp sum : batchSums)
    task.accumulate(*roleOf(sum), materialise(task, sum.getPartial()));
  TaskOp made = task.finish();
  // The schedule's check of counts needs to know which sums count targets.
  for (unsigned i = 0, e = made.getNumResults(); i < e; ++i)
    if (batchSums[i].getCount())
      made.setArgAttr(*made.getTiedArgument(i), kCountAttr,
                      builder.getUnitAttr());
}

void TaskSplitter::buildForward() {
  TaskBuilder task(builder, "s0_F", TaskKind::Forward, /*stage=*/0, /*place=*/0,
                   parts.forward.getLoc());
  Value loss = materialise(task, parts.loss);
  task.accumulate(role(RoleKind::Loss, "loss"), loss);
  for (auto [i, value] : llvm::enumerate(saved))
    task.addResult(role(RoleKind::Saved, "v" + Twine(i)),
                   materialise(task, value));
  task.finish();
}

void TaskSplitter::buildBackward() {
  if (!parts.backward)
    return;
  TaskBuilder task(builder, "s0_B", TaskKind::Backward, /*stage=*/0,
                   /*place=*/0, parts.backward.getLoc());
  for (auto [i, value] : llvm::enumerate(saved))
    task.map(value, task.addArgument(role(RoleKind::Saved, "v" + Twine(i)),
                                     value.getType(), value.getLoc()));
  Block &body = parts.backward.getBody().front();
  DenseMap<Value, SmallVector<UpdateOp>> updatesOf;
  for (UpdateOp update : parts.updates)
    updatesOf[throughPlace(update.getGradient())].push_back(update);
  auto accumulate = [&](Value gradient) {
    for (UpdateOp update : updatesOf.lookup(gradient)) {
      auto param = update.getParam().getDefiningOp<ParamOp>();
      task.accumulate(role(RoleKind::Grad, param.getParamName()),
                      task.lookup(gradient));
    }
  };
  // In program order; what is computed again stands right before its first use.
  for (Operation &op : body.without_terminator()) {
    if (isa<BatchSumOp>(op))
      continue;
    for (Value operand : op.getOperands())
      if (throughPlace(operand).getParentBlock() != &body || roleOf(operand))
        if (!task.lookup(throughPlace(operand))) {
          unsigned before = task.size();
          materialise(task, operand);
          numRecomputed += task.size() - before;
        }
    task.clone(&op, [&](Value operand) { return throughPlace(operand); });
    for (Value result : op.getResults())
      accumulate(result);
  }
  // A gradient that no op of the backward makes: a value of the forward as it
  // is, or one that was scaled outside of the regions.
  for (UpdateOp update : parts.updates) {
    Value gradient = throughPlace(update.getGradient());
    if (gradient.getParentBlock() == &body)
      continue;
    materialise(task, gradient);
    accumulate(gradient);
    updatesOf.erase(gradient);
  }
  task.finish();
}

void TaskSplitter::run() {
  nameBatchSums();
  findSaved();
  buildPrologue();
  buildForward();
  buildBackward();
}

/// Parameters as the module keeps them when the entry is gone.
void declareParameters(const Parts &parts, OpBuilder &builder) {
  func::FuncOp entry = parts.entry;
  for (auto param : entry.getOps<ParamOp>()) {
    bool learns = llvm::any_of(parts.updates, [&](UpdateOp update) {
      return update.getParam() == param.getResult();
    });
    ParamDeclOp::create(builder, param.getLoc(), param.getParamNameAttr(),
                        TypeAttr::get(param.getType()), param.getInitAttr(),
                        param.getFrozenAttr(), param.getNoDecayAttr(),
                        learns ? builder.getUnitAttr() : UnitAttr(),
                        builder.getDenseI64ArrayAttr({0}));
  }
}

struct SplitTasks : pp::impl::SplitTasksBase<SplitTasks> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    FailureOr<Parts> parts = findParts(*entry);
    if (failed(parts))
      return signalPassFailure();
    OpBuilder builder(*entry);
    declareParameters(*parts, builder);
    builder.setInsertionPoint(*entry);
    TaskSplitter splitter(*parts, builder);
    splitter.run();
    numSaved = splitter.numSaved;
    numRecomputed = splitter.numRecomputed;
    entry->erase();
  }
};

} // namespace
