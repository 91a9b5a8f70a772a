//===- PullOperands.cpp - What reductions compute instead of reading ------===//
//
// The gradient of a layer norm's gain is a sum over rows:
//
//   %x = pp.mul (pp.sub %residual, %mean), %scale   // in a kernel of form rows
//   %1 = pp.mul %dy, %x                             // read by the sum alone
//   %2 = pp.reduce sum %1 [0]                       // a kernel of form columns
//
// If the sum's kernel computes %1, from %dy, %residual, and a mean and a scale
// per row, %1 is neither written nor read.
//
//===----------------------------------------------------------------------===//

#include "PullOperands.h"

#include "ReductionForms.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether an element costs less to compute than to read: a few
/// operations, no division and no function.
static bool isArithmetic(Operation *op) {
  constexpr double kFewOperations = 4;
  for (const ElementWork &work : estimateWork(op).ofType)
    if (work.divisions > 0 || work.functions > 0 ||
        work.operations > kFewOperations * getNumElements(op->getResult(0)))
      return false;
  return true;
}

namespace {

/// An operand of reductions of one kernel, and what computes it there.
struct Pull {
  Value operand;
  SmallVector<ReduceOp> reductions;
  DenseSet<Operation *> ops;
  DenseSet<Operation *> moved; ///< the ops that nothing else reads
  /// The values that the ops read from memory.
  SetVector<Value> reads;
};

/// Decides which operands are pulled. Changes nothing.
class PullDecisions {
public:
  PullDecisions(TaskOp task, const Target &target)
      : fusion(task, target),
        mostOps(getThreshold(task, Threshold::KernelOps)) {
    for (unsigned result : llvm::seq(task.getNumResults()))
      if (std::optional<unsigned> argument = task.getTiedArgument(result))
        overwritten.insert(task.getBody().getArgument(*argument));
  }

  SmallVector<Pull> decide();

  TaskFusion fusion;

private:
  Value getOperand(ReduceOp reduction) const;
  SmallVector<Value> getOperands(const Cluster &cluster) const;
  bool isFull(Value value, const Cluster &cluster) const;
  bool isInMemory(Value value, const Cluster &producer) const;
  std::optional<Pull> findPull(Value operand, const Cluster &reader);
  bool pays(const Pull &pull, const Cluster &producer,
            const Cluster &reader) const;

  size_t mostOps;
  DenseSet<Value> overwritten; ///< arguments of the task
  DenseMap<const Cluster *, size_t> opsPulledInto;
  DenseSet<Value> pulled; ///< operands that no kernel writes any more
  DenseSet<Value> needed; ///< what pulled ops read
};

} // namespace

/// Returns the value whose elements a reduction reads where it is, before casts
/// that each reader computes and reshapes that add or drop dimensions of size
/// 1.
Value PullDecisions::getOperand(ReduceOp reduction) const {
  Value x = reduction.getX();
  while (Operation *def = x.getDefiningOp()) {
    bool isCast = isWideningCast(def) && fusion.isLazy(def);
    if (!isCast && !isReshape(def))
      break;
    if (dropUnitDims(getShape(def->getOperand(0))) != dropUnitDims(getShape(x)))
      break;
    x = def->getOperand(0);
  }
  return x;
}

/// Returns the operands of a cluster's reductions, each once.
SmallVector<Value> PullDecisions::getOperands(const Cluster &cluster) const {
  SetVector<Value> operands;
  for (Operation *op : cluster.ops)
    if (auto reduction = dyn_cast<ReduceOp>(op))
      operands.insert(getOperand(reduction));
  return operands.takeVector();
}

bool PullDecisions::isFull(Value value, const Cluster &cluster) const {
  return getNumElements(value) == cluster.space.getNumElements();
}

/// Returns whether the cluster that computes `value` writes it.
bool PullDecisions::isInMemory(Value value, const Cluster &producer) const {
  return needed.contains(value) ||
         (!pulled.contains(value) && fusion.isUsedOutside(value, producer));
}

/// Finds the ops of the operand's kernel that compute it: up to what is in
/// memory anyway, values per row, and what takes long to compute. Nothing if
/// the operand is read elsewhere, or if pulling it does not pay.
std::optional<Pull> PullDecisions::findPull(Value operand,
                                            const Cluster &reader) {
  Operation *def = operand.getDefiningOp();
  const Cluster *producer = def ? fusion.getCluster(def) : nullptr;
  if (!producer || producer->isAlone || producer->form != KernelForm::Rows ||
      !isFull(operand, *producer) || needed.contains(operand))
    return std::nullopt;

  Pull pull;
  pull.operand = operand;
  for (Operation *op : reader.ops)
    if (auto reduction = dyn_cast<ReduceOp>(op);
        reduction && getOperand(reduction) == operand)
      pull.reductions.push_back(reduction);
  auto isReduction = [&](Operation *op) {
    return llvm::is_contained(pull.reductions, op);
  };
  if (!fusion.allReaders(operand, [&](Operation *op) {
        return isReduction(op) || fusion.getCluster(op) == producer;
      }))
    return std::nullopt;

  DenseSet<Value> wanted = {operand};
  for (Operation *op : llvm::reverse(producer->ops)) {
    Value value = op->getResult(0);
    if (!wanted.contains(value))
      continue;
    bool moves = fusion.allReaders(value, [&](Operation *reader) {
      return isReduction(reader) || pull.moved.contains(reader);
    });
    bool isComputed = isa<ElementOpInterface>(op) && !isa<AccumulateOp>(op) &&
                      (value == operand || !isInMemory(value, *producer)) &&
                      isArithmetic(op);
    if (!isComputed) {
      pull.reads.insert(value);
      continue;
    }
    pull.ops.insert(op);
    if (moves)
      pull.moved.insert(op);
    for (const Read &read : fusion.getReads(op).reads) {
      Operation *source = read.source.getDefiningOp();
      if (source && fusion.getCluster(source) == producer &&
          isFull(read.source, *producer) && read.access == Access::Identity)
        wanted.insert(read.source);
      else
        pull.reads.insert(read.source);
    }
  }
  if (!pull.ops.contains(def) || llvm::any_of(pull.reads, [&](Value value) {
        return overwritten.contains(value);
      }))
    return std::nullopt;
  size_t ops = reader.ops.size() + opsPulledInto[&reader] + pull.ops.size();
  if (ops > mostOps || !pays(pull, *producer, reader))
    return std::nullopt;
  return pull;
}

/// Returns whether kernels read and write fewer bytes if the reader pulls the
/// operand. Few threads share the rows of a reduction, so what it reads in
/// addition counts twice.
bool PullDecisions::pays(const Pull &pull, const Cluster &producer,
                         const Cluster &reader) const {
  int64_t elements = getNumElements(pull.operand);
  auto getBytesRead = [&](Value value) {
    int64_t most = std::min(getNumElements(value), elements);
    return most * getElementBytes(getElementTypeOrSelf(value));
  };
  int64_t operand = getBytesRead(pull.operand);

  // The producer does not write the operand, and does not read what only the
  // moved ops read.
  int64_t saved = operand;
  for (Value value : pull.reads)
    if (Operation *def = value.getDefiningOp();
        def && fusion.getCluster(def) == &producer &&
        !isInMemory(value, producer))
      saved -= getBytesRead(value);
  SmallVector<Operation *> kept = llvm::filter_to_vector(
      producer.ops, [&](Operation *op) { return !pull.moved.contains(op); });
  SetVector<Value> readByKept = fusion.getMemoryReads(kept);
  for (Value value : fusion.getMemoryReads(producer.ops))
    if (!readByKept.contains(value))
      saved += getBytesRead(value);

  // The reader reads what the pulled ops read, and shares it with others.
  SetVector<Value> reads = fusion.getMemoryReads(reader.ops);
  reads.remove(pull.operand);
  int64_t added = -operand;
  for (Value value : pull.reads)
    if (reads.insert(value))
      added += getBytesRead(value);
  for (const Cluster *sharer :
       fusion.findSharers(pull.reductions.front(), reads))
    for (Value value : fusion.getMemoryReads(sharer->ops))
      if (reads.contains(value))
        added -= getBytesRead(value);
  return saved > added + std::max<int64_t>(added, 0);
}

SmallVector<Pull> PullDecisions::decide() {
  SmallVector<Pull> pulls;
  for (const Cluster *cluster : fusion.getClusters()) {
    if (cluster->form != KernelForm::Columns)
      continue;
    for (Value operand : getOperands(*cluster))
      if (std::optional<Pull> pull = findPull(operand, *cluster)) {
        pulled.insert(operand);
        needed.insert_range(pull->reads);
        opsPulledInto[cluster] += pull->ops.size();
        pulls.push_back(std::move(*pull));
      }
  }
  return pulls;
}

namespace {

/// Copies the ops of a pull, with the lazy ops and reshapes between them, for
/// its reductions.
class PullCopier {
public:
  PullCopier(const Pull &pull, const TaskFusion &fusion,
             DenseSet<Operation *> &copies)
      : pull(pull), fusion(fusion), copies(copies),
        builder(pull.reductions.front()) {}

  void copy() {
    for (ReduceOp reduction : pull.reductions)
      reduction.getXMutable().assign(apply(reduction.getX()));
  }

private:
  /// Returns the copy of `value`, or itself if it follows from nothing copied.
  Value apply(Value value) {
    if (Value known = map.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    bool isPulled = op && pull.ops.contains(op);
    if (!isPulled && !(op && (fusion.isLazy(op) || isReshape(op))))
      return value;
    bool isChanged = isPulled;
    for (Value operand : op->getOperands()) {
      Value copied = apply(operand);
      map.map(operand, copied);
      isChanged |= copied != operand;
    }
    if (!isChanged)
      return value;
    Operation *copied = builder.clone(*op, map);
    if (!isReshape(op))
      copies.insert(copied);
    map.map(value, copied->getResult(0));
    return copied->getResult(0);
  }

  const Pull &pull;
  const TaskFusion &fusion;
  DenseSet<Operation *> &copies;
  OpBuilder builder;
  IRMapping map;
};

} // namespace

TaskFusion pp::pullOperands(TaskOp task, const Target &target) {
  if (llvm::all_of(task.getBody().front().getOps<ReduceOp>(), isRowReduction))
    return TaskFusion(task, target);
  PullDecisions decisions(task, target);
  SmallVector<Pull> pulls = decisions.decide();
  if (pulls.empty())
    return std::move(decisions.fusion);
  DenseSet<Operation *> copies;
  for (const Pull &pull : pulls)
    PullCopier(pull, decisions.fusion, copies).copy();
  eraseDeadOps(task);
  return TaskFusion(task, target, std::move(copies), &decisions.fusion);
}
