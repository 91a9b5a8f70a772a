//===- PartsChecker.cpp - Checks that the parts of ranks become a whole ---===//

#include "PartsChecker.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
using Access = MemoryUse::Access;
using geometry::Collective;

/// Returns whether it adds the parts of ranks; otherwise it gathers chunks.
static bool isSum(StartOp start) { return geometry::reduces(start.getKind()); }

static OnPlace getMemory(StartOp start) {
  return {start.getPlaceOfStart(), start.getBuffer()};
}

/// What the step before left in flight is in chunks until it is waited for.
PartsChecker::PartsChecker(CheckedTable table) : table(table) {
  for (BlockArgument token : table.schedule.getBody().getArguments())
    if (StartOp start = table.index.getCarried(token)) {
      Parts &parts = memory[getMemory(start)];
      parts.chunks = start.getGroup();
      parts.cut = start;
      parts.isGathering = true;
    }
}

/// Returns whether a rank of the place has a part of a sum: a place that
/// borrows a bucket has none.
bool PartsChecker::hasPart(OnPlace memory) {
  BucketOp bucket = table.index.buffers.getBucket(memory.second);
  return !bucket || llvm::is_contained(bucket.getUpdatePlaces(), memory.first);
}

/// Returns whether ranks have all of a buffer, and update a chunk of it.
bool PartsChecker::isUpdatedInChunks(BufferAttr buffer) {
  BucketOp bucket = table.index.buffers.getBucket(buffer);
  return bucket && buffer.getKind() == BufferKind::Params &&
         bucket.hasShardedStates() && !bucket.hasShardedParams();
}

/// Returns the number of ranks that have a part of a sum; 1 for what is none.
int64_t PartsChecker::countRanks(BufferAttr buffer) {
  const ScheduleIndex &index = table.index;
  if (!isSummed(buffer))
    return 1;
  if (buffer.getKind() == BufferKind::Norm) {
    // Gradients are sums over the parts of the batch. Of a shard, only the
    // ranks that have it know the norm, and so of a cut parameter.
    bool isOfShards = llvm::any_of(
        index.buckets, [](BucketOp each) { return each.hasShardedStates(); });
    int64_t ranks = index.places *
                    (isOfShards ? index.mesh.size(index.mesh.shardAxis()) : 1);
    for (StringAttr axis : index.buffers.getNorm().getAxes())
      ranks *= index.mesh.size(axis.strref());
    return ranks;
  }
  int64_t parts = index.batchParts * index.countModelParts(buffer);
  BucketOp bucket = index.buffers.getBucket(buffer);
  if (!bucket)
    return parts * index.places;
  int64_t ranks = parts * bucket.getUpdatePlaces().size();
  // What tasks add to a chunk is a sum over the ranks that shard the bucket.
  return bucket.hasShardedGradients() ? ranks / bucket.getChunks(index.mesh)
                                      : ranks;
}

/// Checks that the buffer of a place is complete, or the rank's chunk of it.
LogicalResult PartsChecker::checkIsComplete(Operation *reader, OnPlace place,
                                            bool isChunk) {
  BufferAttr buffer = place.second;
  static const Parts none;
  auto found = memory.find(place);
  const Parts &parts = found == memory.end() ? none : found->second;
  int64_t ranks = hasPart(place) ? countRanks(buffer) : 1;
  bool isAdded = ranks == 1 || parts.ranks == ranks;
  if (isAdded && (isChunk || !parts.chunks))
    return success();
  InFlightDiagnostic diag = reader->emitOpError("needs ")
                            << buffer << " of all ranks, which is not "
                            << (isAdded ? "gathered yet" : "summed yet");
  if (table.schedule.isLocal())
    diag << " on place " << place.first;
  if (isAdded)
    diag.attachNote(parts.cut->getLoc())
        << "from here on each rank has its chunk";
  else if (parts.summed)
    diag.attachNote(parts.summed->getLoc())
        << "here it is the sum of " << parts.ranks << " of " << ranks
        << " ranks";
  return diag;
}

LogicalResult PartsChecker::checkComplete() {
  bool isTraining = !table.schedule.isLocal() && table.schedule.isTraining();
  DenseSet<BufferAttr> done;
  for (auto &[place, parts] : memory) {
    auto [number, buffer] = place;
    if (!isSummed(buffer)) {
      bool isLeft = isTraining && parts.isGathering;
      if (!isLeft &&
          failed(checkIsComplete(table.schedule, place, /*isChunk=*/false)))
        return failure();
      continue;
    }
    // Places that add nothing take part in the sum, too.
    if (!done.insert(buffer).second)
      continue;
    BucketOp bucket = table.index.buffers.getBucket(buffer);
    for (int64_t each = 0; each < table.index.places; ++each)
      if (table.schedule.isOf(each) &&
          failed(checkIsComplete(table.schedule, {each, buffer},
                                 bucket && bucket.hasShardedStates())))
        return failure();
  }
  return success();
}

LogicalResult PartsChecker::checkAddition(RunOp run, BufferAttr buffer,
                                          const Parts &parts) {
  Operation *before = parts.summed ? parts.summed : parts.taken;
  if (!before)
    return success();
  InFlightDiagnostic diag =
      run.emitOpError("adds to ")
      << buffer << ", which "
      << (parts.summed ? "is summed already" : "was read or sent already");
  diag.attachNote(before->getLoc())
      << (parts.summed ? "the sum is complete here"
                       : "it is read or sent here");
  return diag;
}

LogicalResult PartsChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  for (const MemoryUse &use : table.index.uses.of(task)) {
    OnPlace place = {task.getPlace(), use.buffer};
    if (use.access == Access::Add) {
      if (failed(checkAddition(run, use.buffer, memory[place])))
        return failure();
    } else if (isUpdatedInChunks(use.buffer) || isSummed(use.buffer)) {
      bool isOwnChunk = use.isChunk && !run.getChunk();
      if (failed(checkIsComplete(run, place, isOwnChunk)))
        return failure();
      Parts &parts = memory[place];
      parts.take(run);
      if (use.access != Access::Update)
        continue;
      parts.chunks =
          table.index.buffers.getBucket(use.buffer).getShardGroupAttr();
      parts.cut = run;
    }
  }
  return success();
}

LogicalResult PartsChecker::check(ZeroOp zero) {
  for (auto &[place, parts] : memory)
    if (isSummed(place.second))
      return zero.emitOpError("comes after the first use of ")
             << place.second << " on place " << place.first;
  return success();
}

LogicalResult PartsChecker::checkSend(Operation *send, const StepCopy &copy) {
  OnPlace place = {copy.from, copy.getBuffer()};
  // The owner adds what borrowers send, and ranks sum that.
  if (!copy.gradientOf)
    return checkIsComplete(send, place, /*isChunk=*/false);
  memory[place].take(send);
  return success();
}

/// Checks that the mesh has the group, and that it is more than one rank.
LogicalResult PartsChecker::checkRanks(StartOp start) {
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
LogicalResult PartsChecker::checkGroup(StartOp start, const Parts &parts) {
  if (!isSum(start))
    return success();
  const ScheduleIndex &index = table.index;
  geometry::Group group = start.getGroup().getGeometry();
  int64_t ranks = index.mesh.size(group);
  BucketOp bucket = index.buffers.getBucket(start.getBuffer());
  ArrayRef<int64_t> places;
  if (bucket && bucket.getUpdatePlaces().size() > 1 &&
      llvm::is_contained(group.axes, geometry::placeAxis))
    places = bucket.getUpdatePlaces();
  // Reduce-scatters leave other ranks to sums of shards.
  bool mayBeSome =
      start.getKind() == Collective::ReduceScatter || start.getShard();
  int64_t due = countRanks(start.getBuffer()) / parts.ranks;
  if ((mayBeSome ? due % ranks != 0 : due != ranks) ||
      start.getGroup().getAmong() != places)
    return start.emitOpError("sums ")
           << start.getBuffer() << " over " << ranks << " ranks, and not the "
           << due << " that have a part of it";
  return success();
}

/// Checks that what is gathered, or summed in shards, are the chunks of the
/// start's ranks; and that equal chunks are those of a group that no earlier
/// level has summed over.
LogicalResult PartsChecker::checkChunks(StartOp start, const Parts &parts) {
  StringRef verb = isSum(start) ? "sums shards of " : "gathers ";
  BucketOp bucket = table.index.buffers.getBucket(start.getBuffer());
  if (!parts.chunks) {
    InFlightDiagnostic diag = start.emitOpError(verb)
                              << start.getBuffer()
                              << ", of which ranks do not have chunks";
    if (!start.gathersParameters())
      diag << "; put a " << geometry::wordOf(Collective::ReduceScatter)
           << " before it";
    else if (bucket && bucket.hasShardedParams())
      diag << " to gather here: tasks gather them";
    return diag;
  }
  if (!isSum(start))
    return start.getGroup() == parts.chunks
               ? success()
               : start.emitOpError("gathers ")
                     << start.getBuffer() << " over " << start.getGroup()
                     << ", but its chunks are over " << parts.chunks;
  if (!bucket || bucket.getShardGroupAttr() != parts.chunks)
    return start.emitOpError("sums shards of ")
           << start.getBuffer() << ", whose chunks are over " << parts.chunks;
  SmallVector<GroupAttr> groups(parts.shards.begin(), parts.shards.end());
  groups.push_back(parts.chunks);
  for (GroupAttr group : groups)
    for (StringAttr axis : start.getGroup().getAxes())
      if (llvm::is_contained(group.getAxes(), axis))
        return start.emitOpError("sums over ")
               << axis << " again: " << group << " is summed already";
  return success();
}

/// Checks that a chunk that tasks have summed is summed over the replicas.
LogicalResult PartsChecker::checkReplicas(StartOp start) {
  BucketOp bucket = table.index.buffers.getBucket(start.getBuffer());
  if (!bucket || !bucket.hasShardedGradients())
    return success();
  GroupAttr replicas = bucket.getReplicaGroupAttr();
  if (!replicas || (start.getKind() == Collective::AllReduce &&
                    start.getGroup() == replicas))
    return success();
  return start.emitOpError("must be an all_reduce of ")
         << start.getBuffer() << " over " << replicas
         << ": tasks have summed it over " << bucket.getShardGroupAttr();
}

/// Checks that parts are summed once, and that what is gathered or summed in
/// shards are chunks.
LogicalResult PartsChecker::checkIsDue(StartOp start, const Parts &parts) {
  if (!isSum(start) || start.getShard())
    return checkChunks(start, parts);
  if (!parts.summed)
    return checkReplicas(start);
  InFlightDiagnostic diag =
      start.emitOpError("sums a value that is summed already");
  diag.attachNote(parts.summed->getLoc())
      << (parts.chunks ? "each rank has its chunk here"
                       : "the sum is complete here");
  return diag;
}

LogicalResult PartsChecker::check(StartOp start) {
  Parts &parts = memory[getMemory(start)];
  if (failed(checkRanks(start)) || failed(checkIsDue(start, parts)) ||
      failed(checkGroup(start, parts)))
    return failure();
  parts.isGathering = !isSum(start);
  return success();
}

void PartsChecker::finish(StartOp start, Operation *wait) {
  Parts &parts = memory[getMemory(start)];
  if (!isSum(start)) {
    parts.chunks = {};
    parts.isGathering = false;
    return;
  }
  parts.summed = wait;
  parts.ranks *= table.index.mesh.size(start.getGroup().getGeometry());
  if (start.getShard()) {
    parts.shards.push_back(start.getGroup());
  } else if (!geometry::gathers(start.getKind())) {
    parts.chunks = start.getGroup();
    parts.cut = wait;
  }
}
