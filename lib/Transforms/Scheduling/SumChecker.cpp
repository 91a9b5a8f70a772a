//===- SumChecker.cpp - Checks that sums are complete when read -----------===//

#include "SumChecker.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

/// Returns whether it adds the parts of ranks; otherwise it gathers chunks.
static bool isSum(StartOp start) { return geometry::reduces(start.getKind()); }

/// Returns the part of a value that a start hands over.
static OnPlace getPart(StartOp start) {
  return {start.getPlaceOfStart(), start.getWhat()};
}

ArrayRef<SumChecker::Use> SumChecker::getUses(TaskOp task) {
  auto [it, isNew] = uses.try_emplace(task);
  if (!isNew)
    return it->second;
  DenseSet<Attribute> results;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    results.insert(task.getResultRole(i));
  for (const TaskOperand &operand : table.index.step.getOperands(task))
    if (Attribute what = table.index.getSummed(operand.role))
      it->second.push_back({operand.role, what, results.contains(operand.role),
                            table.index.isChunk(operand)});
  return it->second;
}

/// Returns whether the place takes part in a sum: a place that borrows a bucket
/// does not.
bool SumChecker::isSummedOn(int64_t place, Attribute what) {
  ArrayRef<int64_t> places = table.index.placesOf.lookup(what);
  return places.empty() || llvm::is_contained(places, place);
}

/// Returns whether ranks need no more of a sum than their chunk.
bool SumChecker::isSharded(Attribute what) {
  BucketOp bucket = table.index.buckets.lookup(what);
  return bucket && bucket.hasShardedStates();
}

/// Returns the number of ranks that have a part of a sum.
int64_t SumChecker::countRanks(Attribute what) {
  const ScheduleIndex &index = table.index;
  auto role = dyn_cast<RoleAttr>(what);
  if (role && role.getKind() == RoleKind::Norm) {
    // Gradients are sums over the parts of the batch. Of a shard, only the
    // ranks that have it know the norm.
    bool isOfShards = llvm::any_of(index.buckets, [](auto each) {
      return each.second.hasShardedStates();
    });
    return index.places *
           (isOfShards ? index.mesh.size(index.mesh.shardAxis()) : 1);
  }
  ArrayRef<int64_t> some = index.placesOf.lookup(what);
  int64_t ranks =
      index.batchParts *
      (some.empty() ? index.places : static_cast<int64_t>(some.size()));
  // What tasks add to a chunk is a sum over the ranks that shard the bucket.
  BucketOp bucket = index.buckets.lookup(what);
  bool isScattered = bucket && bucket.hasShardedGradients();
  return isScattered ? ranks / bucket.getChunks(index.mesh) : ranks;
}

/// Checks that the value of a place is summed, or the rank's chunk of it.
LogicalResult SumChecker::checkIsSummed(Operation *reader, OnPlace part,
                                        bool isChunk) {
  auto [place, what] = part;
  int64_t ranks = countRanks(what);
  if (ranks == 1 || !isSummedOn(place, what))
    return success();
  const Sum &sum = sums[part];
  if (sum.ranks == ranks && (isChunk || !sum.scattered))
    return success();
  InFlightDiagnostic diag =
      reader->emitOpError("needs ")
      << what << " of all ranks, which is not "
      << (sum.ranks == ranks ? "gathered yet" : "summed yet");
  if (table.schedule.isLocal())
    diag << " on place " << place;
  if (sum.ranks == ranks)
    diag.attachNote(sum.scattered->getLoc())
        << "from here on each rank has its chunk of the sum";
  else if (sum.summed)
    diag.attachNote(sum.summed->getLoc())
        << "here it is the sum of " << sum.ranks << " of " << ranks << " ranks";
  return diag;
}

LogicalResult SumChecker::checkComplete() {
  for (Attribute what : added)
    for (int64_t place = 0; place < table.index.places; ++place)
      if (table.schedule.isOf(place) &&
          failed(checkIsSummed(table.schedule, {place, what}, isSharded(what))))
        return failure();
  return success();
}

LogicalResult SumChecker::checkAddition(RunOp run, const Use &use,
                                        const Sum &sum) {
  added.insert(use.what);
  if (sum.summed) {
    InFlightDiagnostic diag = run.emitOpError("adds to ")
                              << use.role << ", which is summed already";
    diag.attachNote(sum.summed->getLoc()) << "the sum is complete here";
    return diag;
  }
  if (sum.taken) {
    InFlightDiagnostic diag = run.emitOpError("adds to ")
                              << use.role << ", which was read or sent already";
    diag.attachNote(sum.taken->getLoc()) << "it is read or sent here";
    return diag;
  }
  return success();
}

LogicalResult SumChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  for (const Use &use : getUses(task)) {
    OnPlace part = {task.getPlace(), use.what};
    Sum &sum = sums[part];
    if (StartOp start = sum.underWay) {
      InFlightDiagnostic diag =
          run.emitOpError("uses ")
          << use.role << " while it is being "
          << (isSum(start) ? "summed over ranks" : "gathered from ranks");
      diag.attachNote(start.getLoc()) << "this start is not waited for";
      return diag;
    }
    if (use.isAdded) {
      if (failed(checkAddition(run, use, sum)))
        return failure();
      continue;
    }
    bool isOwnChunk = use.isChunk && !run.getChunk();
    if (failed(checkIsSummed(run, part, isOwnChunk)))
      return failure();
    sum.take(run);
  }
  return success();
}

/// Checks that the mesh has the group, and that it is more than one rank.
LogicalResult SumChecker::checkRanks(StartOp start) {
  const ScheduleIndex &index = table.index;
  geometry::Group group = start.getGroup().getGeometry();
  int64_t place = start.getPlaceOfStart();
  std::optional<int64_t> rank = index.mesh.firstRank(place);
  if (!rank)
    return start.emitOpError("is on place ")
           << place << ", and the plan has " << index.places;
  if (std::string wrong = index.mesh.check(group, *rank); !wrong.empty())
    return start.emitOpError(wrong);
  if (index.mesh.size(group) == 1)
    return start.emitOpError(isSum(start) ? "sums" : "gathers")
           << " over " << start.getGroup() << ", which is one rank";
  return success();
}

/// Checks that the ranks of the group have a part each that is not in the sum
/// yet.
LogicalResult SumChecker::checkGroup(StartOp start, const Sum &sum) {
  if (!isSum(start))
    return success();
  const ScheduleIndex &index = table.index;
  Attribute what = start.getWhat();
  geometry::Group group = start.getGroup().getGeometry();
  int64_t ranks = index.mesh.size(group);
  ArrayRef<int64_t> places = index.placesOf.lookup(what);
  bool spansPlaces = llvm::is_contained(group.axes, geometry::placeAxis);
  if (places.size() == 1 || !spansPlaces)
    places = {};
  // Reduce-scatters leave other ranks to sums of shards.
  bool mayBeSome = start.getKind() == geometry::Collective::ReduceScatter ||
                   start.getShard();
  int64_t due = countRanks(what) / sum.ranks;
  if ((mayBeSome ? due % ranks != 0 : due != ranks) ||
      start.getGroup().getAmong() != places)
    return start.emitOpError("sums ")
           << what << " over " << ranks << " ranks, and not the " << due
           << " that have a part of it";
  return success();
}

/// Checks that each rank has its chunk of what is gathered, or summed in
/// shards.
LogicalResult SumChecker::checkChunks(StartOp start, const Sum &sum) {
  if (sum.scattered)
    return success();
  return start.emitOpError(isSum(start) ? "sums shards of " : "gathers ")
         << start.getWhat() << ", of which ranks do not have chunks; put a "
         << geometry::wordOf(geometry::Collective::ReduceScatter)
         << " before it";
}

/// Checks that equal chunks of other ranks are summed: those of a group that no
/// earlier level has summed over.
LogicalResult SumChecker::checkShard(StartOp start, const Sum &sum) {
  BucketOp bucket = table.index.buckets.lookup(start.getWhat());
  if (!bucket || bucket.getShardGroupAttr() != sum.chunks)
    return start.emitOpError("sums shards of ")
           << start.getWhat() << ", whose chunks are over " << sum.chunks;
  SmallVector<GroupAttr> groups(sum.shards.begin(), sum.shards.end());
  groups.push_back(sum.chunks);
  for (GroupAttr group : groups)
    for (StringAttr axis : start.getGroup().getAxes())
      if (llvm::is_contained(group.getAxes(), axis))
        return start.emitOpError("sums over ")
               << axis << " again: " << group << " is summed already";
  return success();
}

/// Checks that a chunk that tasks have summed is summed over the replicas.
LogicalResult SumChecker::checkReplicas(StartOp start, BucketOp bucket) {
  GroupAttr replicas = bucket.getReplicaGroupAttr();
  if (!replicas || (start.getKind() == geometry::Collective::AllReduce &&
                    start.getGroup() == replicas))
    return success();
  return start.emitOpError("must be an all_reduce of ")
         << start.getWhat() << " over " << replicas
         << ": tasks have summed it over " << bucket.getShardGroupAttr();
}

LogicalResult SumChecker::checkGather(StartOp start, const Sum &sum) {
  if (start.getGroup() != sum.chunks)
    return start.emitOpError("gathers ")
           << start.getWhat() << " over " << start.getGroup()
           << ", but its chunks are over " << sum.chunks;
  return success();
}

/// Checks that parts are summed once, and that what is gathered or summed in
/// shards are chunks of a sum.
LogicalResult SumChecker::checkIsDue(StartOp start, const Sum &sum) {
  if (!isSum(start) || start.getShard()) {
    if (failed(checkChunks(start, sum)))
      return failure();
    return isSum(start) ? checkShard(start, sum) : checkGather(start, sum);
  }
  if (!sum.summed) {
    BucketOp bucket = table.index.buckets.lookup(start.getWhat());
    bool isScattered = bucket && bucket.hasShardedGradients();
    return isScattered ? checkReplicas(start, bucket) : success();
  }
  InFlightDiagnostic diag =
      start.emitOpError("sums a value that is summed already");
  diag.attachNote(sum.summed->getLoc())
      << (sum.scattered ? "each rank has its chunk here"
                        : "the sum is complete here");
  return diag;
}

LogicalResult SumChecker::check(StartOp start) {
  Sum &sum = sums[getPart(start)];
  if (StartOp first = sum.underWay)
    return start.emitOpError(isSum(start) ? "sums" : "gathers")
           << " a value that is being "
           << (isSum(first) ? "summed" : "gathered") << " already";
  if (failed(checkRanks(start)) || failed(checkIsDue(start, sum)) ||
      failed(checkGroup(start, sum)))
    return failure();
  sum.underWay = start;
  return success();
}

void SumChecker::finish(StartOp start, WaitOp wait) {
  Sum &sum = sums[getPart(start)];
  sum.underWay = {};
  sum.summed = wait;
  if (!isSum(start)) {
    sum.scattered = nullptr;
    return;
  }
  sum.ranks *= table.index.mesh.size(start.getGroup().getGeometry());
  if (start.getShard()) {
    sum.shards.push_back(start.getGroup());
  } else if (!geometry::gathers(start.getKind())) {
    sum.scattered = wait;
    sum.chunks = start.getGroup();
  }
}
