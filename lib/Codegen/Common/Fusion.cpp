//===- Fusion.cpp - Groups the ops of a task into kernels -----------------===//

#include "Fusion.h"
#include "PlaceSums.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include <queue>

using namespace mlir;
using namespace mlir::pp;

TaskFusion::TaskFusion(TaskOp task, const Target &target,
                       DenseSet<Operation *> pulled, const TaskFusion *before)
    : task(task), target(target), probe(task.getContext()),
      largeZeros(findLargeZeros(task)),
      mostOps(getThreshold(task, Threshold::KernelOps)),
      lazy(std::move(pulled)) {
  for (auto [i, op] : llvm::enumerate(task.getBody().front()))
    position[&op] = i;
  findInPlaceAccumulations();
  findMemoryViews();
  findLazyOps();
  if (before)
    takeReads(*before);
  formClusters();
}

/// Takes the reads of ops that read as before: if the same ops are lazy, all
/// that are still there, since those of reductions are not asked for.
void TaskFusion::takeReads(const TaskFusion &before) {
  for (Operation *op : llvm::make_first_range(position))
    if (before.position.contains(op) && before.isLazy(op) != isLazy(op))
      return;
  for (const auto &[op, known] : before.reads)
    if (position.contains(op))
      reads.try_emplace(op, known);
}

//===----------------------------------------------------------------------===//
// Dependencies
//===----------------------------------------------------------------------===//

/// Collects the ops with buffers whose values are read to compute `value`. Adds
/// those that are read through a memory view to `memorySources` too, if given.
void TaskFusion::collectSources(Value value, SetVector<Operation *> &sources,
                                SetVector<Operation *> *memorySources) const {
  // Each with whether it is read through a memory view.
  SmallVector<std::pair<Value, bool>> worklist = {{value, false}};
  DenseSet<Value> seen[2];
  while (!worklist.empty()) {
    auto [next, isInView] = worklist.pop_back_val();
    Operation *def = next.getDefiningOp();
    if (!def || !seen[isInView].insert(next).second)
      continue;
    if (isLazy(def) || isMemoryView(def) || isReshape(def)) {
      for (Value operand : llvm::reverse(def->getOperands()))
        worklist.push_back({operand, isInView || isMemoryView(def)});
      continue;
    }
    sources.insert(def);
    if (isInView && memorySources)
      memorySources->insert(def);
  }
}

const SetVector<Operation *> &TaskFusion::getSources(Operation *op) const {
  auto [it, isNew] = sourcesOf.try_emplace(op);
  if (isNew) {
    SetVector<Operation *> sources, memorySources;
    for (Value operand : op->getOperands())
      collectSources(operand, sources, &memorySources);
    memorySourcesOf[op] = std::move(memorySources);
    it = sourcesOf.find(op);
    it->second = std::move(sources);
  }
  return it->second;
}

/// Returns whether an op of a cluster reads what another one writes.
bool TaskFusion::readsResultOf(unsigned reader, unsigned written) const {
  return llvm::any_of(clusters[reader].ops, [&](Operation *op) {
    return llvm::is_contained(getSourceClusters(op), written);
  });
}

/// Returns whether `op` reads, through a memory view, what a cluster writes: it
/// must then stay after it.
bool TaskFusion::readsMemoryOf(Operation *op, unsigned cluster) const {
  getSources(op);
  return llvm::any_of(memorySourcesOf.find(op)->second, [&](Operation *source) {
    auto it = clusterOf.find(source);
    return it != clusterOf.end() && it->second == cluster;
  });
}

/// Returns whether no cluster of these reads another's results through a memory
/// view, or where they are not at hand.
bool TaskFusion::canMerge(unsigned into, ArrayRef<unsigned> others) {
  auto reads = [&](unsigned reader, unsigned written) {
    return llvm::any_of(clusters[reader].ops, [&](Operation *op) {
      return readsMemoryOf(op, written) || !readsInHand(op, written);
    });
  };
  return llvm::none_of(others, [&](unsigned other) {
    return reads(into, other) || reads(other, into);
  });
}

/// Returns the clusters of the ops that `op` reads, each once.
SmallVector<unsigned> TaskFusion::getSourceClusters(Operation *op) const {
  SetVector<unsigned> found;
  for (Operation *source : getSources(op))
    if (auto it = clusterOf.find(source); it != clusterOf.end())
      found.insert(it->second);
  return found.takeVector();
}

bool TaskFusion::allReaders(ValueRange values,
                            llvm::function_ref<bool(Operation *)> isWanted,
                            bool throughMemory) const {
  SmallVector<Operation *> worklist;
  DenseSet<Operation *> seen;
  auto push = [&](ValueRange read) {
    size_t begin = worklist.size();
    for (Value value : read)
      llvm::append_range(worklist, value.getUsers());
    std::reverse(worklist.begin() + begin, worklist.end());
  };
  push(values);
  while (!worklist.empty()) {
    Operation *user = worklist.pop_back_val();
    if (!seen.insert(user).second)
      continue;
    if (isLazy(user) || isReshape(user) ||
        (throughMemory && isMemoryView(user)))
      push(user->getResults());
    else if (!isWanted(user))
      return false;
  }
  return true;
}

/// Returns whether joining `op` and `targets` would close a cycle: whether
/// another cluster is on a path between two of them. Searches from the targets
/// to their readers, which are few: an op joins clusters made shortly before
/// it.
bool TaskFusion::hasPathThroughOthers(Operation *op,
                                      ArrayRef<unsigned> targets) const {
  SmallVector<unsigned> worklist(targets);
  DenseSet<unsigned> seen(targets.begin(), targets.end());
  while (!worklist.empty()) {
    unsigned from = worklist.pop_back_val();
    bool isOther = !llvm::is_contained(targets, from);
    auto canContinue = [&](Operation *reader) {
      auto it = clusterOf.find(reader);
      bool isOurs = reader == op || (it != clusterOf.end() &&
                                     llvm::is_contained(targets, it->second));
      if (!isOurs && it != clusterOf.end() && seen.insert(it->second).second)
        worklist.push_back(it->second);
      return !(isOther && isOurs);
    };
    for (Operation *member : clusters[from].ops)
      if (!allReaders(member->getResults(), canContinue,
                      /*throughMemory=*/true))
        return true;
  }
  return false;
}

const OpReads &TaskFusion::getReads(Operation *op) {
  auto it = reads.find(op);
  if (it == reads.end())
    it = reads
             .try_emplace(
                 op, probe.probe(cast<ElementOpInterface>(op),
                                 [&](Operation *def) { return isLazy(def); }))
             .first;
  return it->second;
}

const Cluster *TaskFusion::getCluster(Operation *op) const {
  auto it = clusterOf.find(op);
  return it == clusterOf.end() ? nullptr : &clusters[it->second];
}

SetVector<Value> TaskFusion::getMemoryReads(ArrayRef<Operation *> ops) const {
  DenseSet<Operation *> computed(llvm::from_range, ops);
  SetVector<Value> reads;
  SmallVector<Value> worklist;
  DenseSet<Value> seen;
  for (Operation *op : ops)
    llvm::append_range(worklist, op->getOperands());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *def = value.getDefiningOp();
    if (def && (isLazy(def) || isReshape(def)))
      llvm::append_range(worklist, def->getOperands());
    else if (!def || !computed.contains(def))
      reads.insert(value);
  }
  return reads;
}

bool TaskFusion::isUsedOutside(Value value, const Cluster &cluster) const {
  return !allReaders(
      value, [&](Operation *user) { return getCluster(user) == &cluster; });
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

unsigned TaskFusion::newCluster(Operation *op, KernelForm form, Space space) {
  Cluster cluster;
  cluster.form = form;
  cluster.space = space;
  cluster.ops = {op};
  clusterOf[op] = clusters.size();
  clusters.push_back(std::move(cluster));
  return clusters.size() - 1;
}

/// Merges `op` and all of `targets` into the first of them.
void TaskFusion::join(Operation *op, ArrayRef<unsigned> targets) {
  unsigned into = targets.front();
  for (unsigned target : targets.drop_front()) {
    for (Operation *member : clusters[target].ops) {
      clusterOf[member] = into;
      clusters[into].ops.push_back(member);
    }
    clusters[target].ops.clear();
  }
  clusterOf[op] = into;
  clusters[into].ops.push_back(op);
}

/// Returns whether `op` and the clusters make one kernel that is not too large,
/// without a cycle.
bool TaskFusion::canBeOne(Operation *op, ArrayRef<unsigned> targets) const {
  size_t ops = 1;
  for (unsigned target : targets)
    ops += clusters[target].ops.size();
  return ops <= mostOps && !hasPathThroughOthers(op, targets);
}

/// Returns whether a value of a cluster of form Rows has one element per row.
bool TaskFusion::isRowLevel(Value value, const Cluster &cluster) const {
  return cluster.space.columns != 1 &&
         getNumElements(value) == cluster.space.rows;
}

/// Returns whether `op`, an element op or a row reduction over `space`, can be
/// computed in the rows of a cluster: it reads the cluster's values at the
/// current position.
bool TaskFusion::canJoin(Operation *op, Space space, unsigned index) {
  const Cluster &cluster = clusters[index];
  if (cluster.isAlone || cluster.form != KernelForm::Rows ||
      readsMemoryOf(op, index))
    return false;
  bool isOfRowLevel =
      isa<ElementOpInterface>(op) && isRowLevel(op->getResult(0), cluster);
  return (isOfRowLevel || space == cluster.space) && readsInHand(op, index);
}

/// Returns whether an element op or a row reduction reads the values of a
/// cluster of form Rows, if any, where they are when it is computed in the
/// cluster's rows.
bool TaskFusion::readsInHand(Operation *op, unsigned index) {
  if (!llvm::is_contained(getSourceClusters(op), index))
    return true;
  const Cluster &cluster = clusters[index];
  bool isOfRowLevel =
      isa<ElementOpInterface>(op) && isRowLevel(op->getResult(0), cluster);
  auto isInHand = [&](Value source, Access access) {
    if (!isRowLevel(source, cluster))
      return !isOfRowLevel && access == Access::Identity;
    return access == (isOfRowLevel ? Access::Identity : Access::Row);
  };
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    // Reads at the same index, unless reshapes in between change the columns. A
    // lazy cast counts as its operand.
    for (Value x = reduce.getX();;) {
      Operation *def = x.getDefiningOp();
      if (!def)
        return false;
      if (auto it = clusterOf.find(def); it != clusterOf.end())
        return it->second == index && isInHand(x, Access::Identity);
      bool isSameElement =
          isReshape(def) || (isWideningCast(def) && isLazy(def));
      if (!isSameElement || getSpace(def->getOperand(0)) != getSpace(x))
        return false;
      x = def->getOperand(0);
    }
  }
  return llvm::all_of(getReads(op).reads, [&](const Read &read) {
    Operation *def = read.source.getDefiningOp();
    auto it = def ? clusterOf.find(def) : clusterOf.end();
    return it == clusterOf.end() || it->second != index ||
           isInHand(read.source, read.access);
  });
}

/// Adds an op to the clusters of form Rows that it reads, as far as they can be
/// merged.
void TaskFusion::addToRows(Operation *op, Space space) {
  SmallVector<unsigned> targets;
  for (unsigned source : getSourceClusters(op)) {
    if (!canJoin(op, space, source) || !canMerge(source, targets) ||
        (!targets.empty() &&
         clusters[source].space != clusters[targets.front()].space))
      continue;
    targets.push_back(source);
    if (!canBeOne(op, targets))
      targets.pop_back();
  }
  if (targets.empty())
    newCluster(op, KernelForm::Rows, space);
  else
    join(op, targets);
}

/// Adds an element op after the reduction over rows that it reads at the same
/// index.
bool TaskFusion::joinTail(Operation *op) {
  // Few ops read such a reduction, and getReads takes long.
  if (llvm::none_of(getSourceClusters(op), [&](unsigned source) {
        return clusters[source].form == KernelForm::Columns;
      }))
    return false;
  for (const Read &read : getReads(op).reads) {
    Operation *def = read.source.getDefiningOp();
    auto it = def ? clusterOf.find(def) : clusterOf.end();
    if (it == clusterOf.end() || read.access != Access::Identity)
      continue;
    Cluster &cluster = clusters[it->second];
    if (cluster.isAlone || cluster.form != KernelForm::Columns ||
        readsMemoryOf(op, it->second))
      continue;
    bool readsElsewhere =
        llvm::any_of(getReads(op).reads, [&](const Read &other) {
          Operation *source = other.source.getDefiningOp();
          return other.access != Access::Identity && source &&
                 getCluster(source) == &cluster;
        });
    if (readsElsewhere || !canBeOne(op, {it->second}))
      continue;
    join(op, {it->second});
    return true;
  }
  return false;
}

/// Returns whether reductions over leading dimensions are over the same.
static bool reduceAlike(ReduceOp a, ReduceOp b) {
  return !isRowReduction(b) && getShape(a.getX()) == getShape(b.getX()) &&
         a.getDims() == b.getDims();
}

SmallVector<const Cluster *>
TaskFusion::findSharers(ReduceOp op, const SetVector<Value> &reads) const {
  SmallVector<unsigned> targets;
  if (const Cluster *own = getCluster(op))
    targets.push_back(getIndex(own));
  SetVector<Operation *> sources;
  for (Value value : reads)
    collectSources(value, sources, nullptr);
  auto isSmallOrShared = [&](Value value) {
    return getNumElements(value) < getNumElements(op.getX()) ||
           reads.contains(value);
  };
  auto isApart = [&](unsigned cluster) {
    return llvm::none_of(sources,
                         [&](Operation *source) {
                           return getCluster(source) == &clusters[cluster];
                         }) &&
           llvm::none_of(targets, [&](unsigned target) {
             return readsResultOf(cluster, target) ||
                    readsResultOf(target, cluster);
           });
  };
  SmallVector<const Cluster *> sharers;
  auto addSharer = [&](Operation *reader) {
    auto other = dyn_cast<ReduceOp>(reader);
    const Cluster *cluster = other ? getCluster(other) : nullptr;
    if (!cluster || position.lookup(op) < position.lookup(other) ||
        !reduceAlike(op, other) ||
        llvm::is_contained(targets, getIndex(cluster)) ||
        !isApart(getIndex(cluster)) ||
        !llvm::all_of(getMemoryReads(cluster->ops), isSmallOrShared))
      return true;
    targets.push_back(getIndex(cluster));
    if (canBeOne(op, targets))
      sharers.push_back(cluster);
    else
      targets.pop_back();
    return true;
  };
  allReaders(reads.getArrayRef(), addSharer, /*throughMemory=*/true);
  return sharers;
}

/// Merges reductions over the same rows of the same values into one kernel.
void TaskFusion::addColumnReduction(ReduceOp op) {
  SmallVector<unsigned> targets = llvm::map_to_vector(
      findSharers(op, getMemoryReads(op.getOperation())),
      [&](const Cluster *cluster) { return getIndex(cluster); });
  if (targets.empty())
    newCluster(op, KernelForm::Columns, getSpace(op.getX()));
  else
    join(op, targets);
}

/// Adds an op that is no part of a kernel.
unsigned TaskFusion::addAlone(Operation &op) {
  unsigned index = newCluster(&op, KernelForm::Rows, Space());
  clusters[index].isAlone = true;
  return index;
}

/// Adds an accumulation in place, if there is one, to the cluster of `op`.
void TaskFusion::addAccumulation(Operation *op, AccumulateOp accumulate) {
  if (!accumulate || !isInPlace(accumulate))
    return;
  unsigned index = clusterOf.lookup(op);
  clusterOf[accumulate] = index;
  clusters[index].ops.push_back(accumulate);
}

/// Adds a library's call, with the accumulation in place that is its only use.
void TaskFusion::addCall(LibraryCallOpInterface op) {
  addAlone(*op);
  addAccumulation(op, getAccumulation(op, target));
}

/// Adds an op whose kernel has a form of its own: with the views through which
/// results are written, or the accumulation in place that is its only use.
void TaskFusion::addOfForm(KernelFormOpInterface op) {
  Value result = op->getResult(0);
  unsigned index = newCluster(op, op.getKernelForm(), getSpace(result));
  if (!op.usesStrides()) {
    auto accumulate = result.hasOneUse()
                          ? dyn_cast<AccumulateOp>(*result.user_begin())
                          : AccumulateOp();
    if (accumulate && accumulate.getValue() == result)
      addAccumulation(op, accumulate);
    return;
  }
  for (Operation *view : writtenViews.lookup(op)) {
    clusterOf[view] = index;
    clusters[index].ops.push_back(view);
  }
}

void TaskFusion::add(Operation &op) {
  if (isa<ReturnOp>(op) || isReshape(&op) || isLazy(&op) || isMemoryView(&op) ||
      clusterOf.contains(&op))
    return;
  if (auto formOp = dyn_cast<KernelFormOpInterface>(op))
    return addOfForm(formOp);
  if (auto call = dyn_cast<LibraryCallOpInterface>(op))
    return addCall(call);
  if (hasMemoryOfItsOwn(&op)) {
    addAlone(op);
    return;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (isRowReduction(reduce))
      return addToRows(&op, getSpace(reduce.getX()));
    return addColumnReduction(reduce);
  }
  // A kernel with more than this addition would need the zeros earlier, when
  // other sums are still in memory.
  bool addsToLarge = largeZeros && isa<AccumulateOp>(op) &&
                     findZeros(op.getResult(0)) == largeZeros;
  if (addsToLarge)
    newCluster(&op, KernelForm::Rows, getSpace(op.getResult(0)));
  else if (!joinTail(&op))
    addToRows(&op, getSpace(op.getResult(0)));
}

void TaskFusion::formClusters() {
  for (Operation &op : task.getBody().front())
    add(op);
  for (Cluster &cluster : clusters)
    llvm::sort(cluster.ops, [&](Operation *a, Operation *b) {
      return position.lookup(a) < position.lookup(b);
    });
}

SmallVector<const Cluster *> TaskFusion::getClusters() const {
  // Of the clusters that can run, take the one whose last op comes first.
  SmallVector<unsigned> pending(clusters.size());
  SmallVector<SetVector<unsigned>> readers(clusters.size());
  for (auto [i, cluster] : llvm::enumerate(clusters)) {
    SetVector<unsigned> sources;
    for (Operation *op : cluster.ops)
      for (unsigned source : getSourceClusters(op))
        if (source != i && sources.insert(source))
          readers[source].insert(i);
    pending[i] = sources.size();
  }
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  auto push = [&](unsigned i) {
    if (!clusters[i].isEmpty())
      ready.push({position.lookup(clusters[i].ops.back()), i});
  };
  for (unsigned i = 0; i < clusters.size(); ++i)
    if (pending[i] == 0)
      push(i);
  SmallVector<const Cluster *> order;
  while (!ready.empty()) {
    unsigned next = ready.top().second;
    ready.pop();
    order.push_back(&clusters[next]);
    for (unsigned reader : readers[next])
      if (--pending[reader] == 0)
        push(reader);
  }
  return order;
}
