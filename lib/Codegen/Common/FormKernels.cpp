//===- FormKernels.cpp - Groups ops of tasks into kernels -----------------===//
//
// Before: tasks of element ops, sums, maxima, matmuls, embedding gradients.
// After: launches of kernels on tensors, matmuls (some accumulating), and views
// of their operands.
//
//   %0 = pp.matmul %x, %w
//   %1 = pp.launch @add_relu_8x16 ins(%0, %b : ...) outs() ... -> ...
//
//===----------------------------------------------------------------------===//

#include "CombinePads.h"
#include "KernelOutliner.h"
#include "PlaceSums.h"
#include "PullOperands.h"
#include "ReductionForms.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "ppopt/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Threading.h"

namespace mlir::pp {
#define GEN_PASS_DEF_FORMKERNELS
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Rewrites one task cluster by cluster; the new body grows before the return.
class TaskRewriter {
public:
  TaskRewriter(TaskOp task, TaskFusion fusion, KernelOutliner &outliner)
      : task(task), fusion(std::move(fusion)), outliner(outliner),
        ret(task.getBody().front().getTerminator()), builder(ret) {}

  LogicalResult rewrite();

private:
  LogicalResult checkJoins();
  void place(Value value);
  void placeAlone(const Cluster &cluster);
  LogicalResult copyWhatIsNotWritten();
  LogicalResult copy(ArrayRef<OpOperand *> uses,
                     function_ref<Value(OpOperand *)> getTied);

  TaskOp task;
  TaskFusion fusion;
  KernelOutliner &outliner;
  Operation *ret;
  OpBuilder builder;
  DenseSet<Operation *> placed;
};

/// Moves the views of `value` to their readers.
void TaskRewriter::place(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<LaunchOp>(op) || !placed.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    place(operand);
  op->moveBefore(ret);
}

/// Checks that the parts of what is joined lie where they are joined.
LogicalResult TaskRewriter::checkJoins() {
  for (auto join : task.getBody().front().getOps<JoinOp>())
    for (Value part : join.getParts()) {
      auto accumulate = part.getDefiningOp<AccumulateOp>();
      if (!accumulate || !fusion.isInPlace(accumulate))
        return join.emitOpError("has a part that is not accumulated in its "
                                "range of the zeros");
    }
  return success();
}

void TaskRewriter::placeAlone(const Cluster &cluster) {
  if (auto zeros = dyn_cast<ZerosOp>(cluster.ops.front())) {
    LaunchOp launch =
        outliner.outlineZeros(zeros.getLoc(), zeros.getType(), builder);
    zeros.replaceAllUsesWith(launch.getResult(0));
    return;
  }
  place(cluster.ops.front()->getResult(0));
  if (cluster.ops.size() > 1)
    place(cluster.ops.back()->getResult(0));
}

/// Copies a returned value that no op writes to its destination: an argument, a
/// second use of a result, or a value that is tied to an argument that is read
/// elsewhere.
LogicalResult TaskRewriter::copyWhatIsNotWritten() {
  /// Returns whether the op overwrites `argument` with its result, directly or
  /// not.
  auto isWrittenOver = [](Value value, Value argument) {
    while (value != argument) {
      if (auto accumulate = value.getDefiningOp<AccumulateOp>()) {
        value = accumulate.getAccumulator();
        continue;
      }
      auto launch = value.getDefiningOp<LaunchOp>();
      if (!launch)
        return false;
      int64_t input =
          launch.getInplace()[cast<OpResult>(value).getResultNumber()];
      if (input < 0)
        return false;
      value = launch.getIns()[input];
    }
    return true;
  };
  // For each returned value: the argument that its result is tied to, or null.
  auto tiedArguments = llvm::map_to_vector(
      llvm::seq(task.getNumResults()), [&](unsigned result) -> Value {
        auto argument = task.getTiedArgument(result);
        return argument ? task.getBody().getArgument(*argument) : Value();
      });
  auto getTied = [&](OpOperand *use) {
    return tiedArguments[use->getOperandNumber()];
  };
  // A value that overwrites an argument goes to that argument's result first.
  auto uses = llvm::map_to_vector(ret->getOpOperands(),
                                  [](OpOperand &use) { return &use; });
  llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
    return std::make_pair(!getTied(a), a->getOperandNumber()) <
           std::make_pair(!getTied(b), b->getOperandNumber());
  });
  DenseSet<Value> taken;
  SmallVector<OpOperand *> copied;
  for (OpOperand *use : uses) {
    Value value = use->get(), base = skipReshapes(value), tied = getTied(use);
    bool isWritten = base.getDefiningOp() && taken.insert(base).second;
    if (tied && isWritten)
      isWritten = tied.use_empty() || isWrittenOver(base, tied);
    if (!isWritten && value != tied)
      copied.push_back(use);
  }
  return copy(copied, getTied);
}

/// Copies returned values, each to its own memory or over the argument that its
/// result is tied to. Copies of which one overwrites what another reads are
/// done by one kernel, which reads an element of all of them before it writes
/// one.
LogicalResult TaskRewriter::copy(ArrayRef<OpOperand *> uses,
                                 function_ref<Value(OpOperand *)> getTied) {
  auto copyAlone = [&](OpOperand *use) {
    place(use->get());
    use->set(outliner.outlineCopy(use->get(), builder).getResult(0));
  };
  SmallVector<OpOperand *> tied, exchanged;
  for (OpOperand *use : uses)
    if (getTied(use))
      tied.push_back(use);
    else
      copyAlone(use); // before something is overwritten
  DenseSet<Value> read, written;
  for (OpOperand *use : tied) {
    read.insert(skipReshapes(use->get()));
    written.insert(getTied(use));
  }
  for (OpOperand *use : tied)
    if (written.contains(skipReshapes(use->get())) ||
        read.contains(getTied(use)))
      exchanged.push_back(use);
    else
      copyAlone(use);
  if (exchanged.empty())
    return success();
  SmallVector<Value> over, values;
  for (OpOperand *use : exchanged) {
    over.push_back(getTied(use));
    values.push_back(use->get());
    if (over.back().getType() != over.front().getType() ||
        values.back().getType() != over.front().getType())
      return task.emitOpError("returns arguments of several shapes in place of "
                              "each other");
  }
  LaunchOp launch = outliner.outlineExchange(over, values, builder);
  for (auto [use, result] : llvm::zip(exchanged, launch.getResults()))
    use->set(result);
  return success();
}

LogicalResult TaskRewriter::rewrite() {
  if (failed(checkJoins()))
    return failure();
  for (const Cluster *cluster : fusion.getClusters()) {
    if (cluster->isAlone) {
      placeAlone(*cluster);
      continue;
    }
    LaunchOp launch = outliner.outline(*cluster, fusion, builder);
    for (Value input : launch.getIns())
      place(input);
    launch->moveBefore(ret);
  }
  for (Value value : ret->getOperands())
    place(value);
  if (failed(copyWhatIsNotWritten()))
    return failure();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(task.getBody().front())))
    if (op.use_empty() && !isa<ReturnOp, LaunchOp>(op))
      op.erase();
  return success();
}

/// Checks that a task contains only ops that kernels can contain.
LogicalResult checkOps(TaskOp task) {
  for (Operation &op : task.getBody().front()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    bool isKnown = isa<ElementOpInterface, LibraryCallOpInterface,
                       KernelFormOpInterface, JoinOp, ReturnOp>(op) ||
                   hasMemoryOfItsOwn(&op) ||
                   (reduce && reduce.getKind() != ReduceKind::Mean);
    if (!isKnown)
      return op.emitOpError(
          "can't be part of a kernel: it has no scalar code and "
          "is neither a matmul nor a sum; run "
          "--pp-decompose-kernels first");
  }
  return success();
}

/// Replaces the ops of a task by launches of the outliner's kernels.
LogicalResult formKernels(TaskOp task, const Target &target,
                          KernelOutliner &outliner) {
  eraseDeadOps(task);
  widenSummedMatmuls(task, target);
  splitAccumulations(task, target);
  hoistAccumulations(task);
  placeSums(task);
  normalizeReductions(task);
  combinePads(task);
  eraseDeadOps(task);
  return TaskRewriter(task, pullOperands(task, target), outliner).rewrite();
}

struct FormKernelsPass : pp::impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    FailureOr<const Target *> target = findTarget(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto task : getOperation().getOps<TaskOp>())
      if (failed(checkOps(task)))
        return signalPassFailure();
    auto tasks =
        llvm::map_to_vector(getOperation().getOps<TaskOp>(), [](TaskOp task) {
          return std::pair(task, KernelOutliner());
        });
    if (failed(failableParallelForEach(&getContext(), tasks, [&](auto &entry) {
          return formKernels(entry.first, **target, entry.second);
        })))
      return signalPassFailure();
    KernelSharing sharing(getOperation());
    for (auto &[task, outliner] : tasks)
      for (OutlinedKernel &outlined : outliner.getKernels())
        sharing.add(outlined);
  }
};

} // namespace
