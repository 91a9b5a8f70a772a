//===- SumChecker.cpp - Checks that sums are complete when read -----------===//

#include "SumChecker.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

/// Returns whether it adds the parts of ranks; otherwise it gathers chunks.
static bool isSum(StartOp start) { return geometry::reduces(start.getKind()); }

/// Returns the part of a value that a start hands over.
static OnPlace getPart(StartOp start) {
  return {SlotUses::getPlace(start), start.getWhat()};
}

ArrayRef<SumChecker::Use> SumChecker::getUses(TaskOp task) {
  auto [it, isNew] = uses.try_emplace(task);
  if (!isNew)
    return it->second;
  DenseSet<Attribute> results;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    results.insert(task.getResultRole(i));
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (Attribute what = table.index.getSummed(role))
      it->second.push_back({role, what, results.contains(role)});
  }
  return it->second;
}

/// Returns whether the place takes part in a sum: a place that borrows a bucket
/// does not.
bool SumChecker::isSummedOn(int64_t place, Attribute what) {
  ArrayRef<int64_t> places = table.index.placesOf.lookup(what);
  return places.empty() || llvm::is_contained(places, place);
}

/// Returns the number of ranks that have a part of a sum.
int64_t SumChecker::countRanks(Attribute what) {
  const ScheduleIndex &index = table.index;
  auto role = dyn_cast<RoleAttr>(what);
  if (role && role.getKind() == RoleKind::Norm)
    return index.places; // gradients are summed over the parts of the batch
  ArrayRef<int64_t> some = index.placesOf.lookup(what);
  return index.batchParts *
         (some.empty() ? index.places : static_cast<int64_t>(some.size()));
}

/// Checks that the value of a place is summed.
LogicalResult SumChecker::checkIsSummed(Operation *reader, OnPlace part) {
  auto [place, what] = part;
  if (summed.count(part) || countRanks(what) == 1 || !isSummedOn(place, what))
    return success();
  InFlightDiagnostic diag = reader->emitOpError("needs ")
                            << what << " of all ranks, which is not ";
  Operation *scatter = scattered.lookup(part);
  diag << (scatter ? "gathered yet" : "summed yet");
  if (table.schedule.isLocal())
    diag << " on place " << place;
  if (scatter)
    diag.attachNote(scatter->getLoc())
        << "from here on each rank has its chunk of the sum";
  return diag;
}

LogicalResult SumChecker::checkComplete() {
  for (Attribute what : added)
    for (int64_t place = 0; place < table.index.places; ++place)
      if (table.schedule.isOf(place) &&
          failed(checkIsSummed(table.schedule, {place, what})))
        return failure();
  return success();
}

LogicalResult SumChecker::checkAddition(RunOp run, const Use &use,
                                        int64_t place) {
  added.insert(use.what);
  OnPlace part = {place, use.what};
  Operation *chunks = scattered.lookup(part);
  if (Operation *sum = chunks ? chunks : summed.lookup(part)) {
    InFlightDiagnostic diag = run.emitOpError("adds to ")
                              << use.role << ", which is summed already";
    diag.attachNote(sum->getLoc()) << "the sum is complete here";
    return diag;
  }
  if (Operation *reader = taken.lookup(part)) {
    InFlightDiagnostic diag = run.emitOpError("adds to ")
                              << use.role << ", which was read or sent already";
    diag.attachNote(reader->getLoc()) << "it is read or sent here";
    return diag;
  }
  return success();
}

LogicalResult SumChecker::check(RunOp run) {
  TaskOp task = table.index.uses.getTask(run);
  for (const Use &use : getUses(task)) {
    OnPlace part = {task.getPlace(), use.what};
    if (StartOp start = underWay.lookup(part)) {
      InFlightDiagnostic diag =
          run.emitOpError("uses ")
          << use.role << " while it is being "
          << (isSum(start) ? "summed over ranks" : "gathered from ranks");
      diag.attachNote(start.getLoc()) << "this start is not waited for";
      return diag;
    }
    if (use.isAdded) {
      if (failed(checkAddition(run, use, task.getPlace())))
        return failure();
      continue;
    }
    if (failed(checkIsSummed(run, part)))
      return failure();
    taken.try_emplace(part, run);
  }
  return success();
}

LogicalResult SumChecker::checkIsNotSummed(StartOp start, OnPlace part) {
  Operation *first = summed.lookup(part);
  if (!first)
    return success();
  InFlightDiagnostic diag =
      start.emitOpError("sums a value that is summed already");
  diag.attachNote(first->getLoc()) << "the sum is complete here";
  return diag;
}

/// Checks that the ranks of the group are those that have a part.
LogicalResult SumChecker::checkGroup(StartOp start) {
  const ScheduleIndex &index = table.index;
  Attribute what = start.getWhat();
  geometry::Group group = start.getGroup().getGeometry();
  int64_t place = SlotUses::getPlace(start);
  std::optional<int64_t> rank = index.mesh.firstRank(place);
  if (!rank)
    return start.emitOpError("is on place ")
           << place << ", and the plan has " << index.places;
  if (std::string wrong = index.mesh.check(group, *rank); !wrong.empty())
    return start.emitOpError(wrong);
  int64_t ranks = index.mesh.size(group);
  if (ranks == 1)
    return start.emitOpError(isSum(start) ? "sums" : "gathers")
           << " over " << start.getGroup() << ", which is one rank";
  ArrayRef<int64_t> places = index.placesOf.lookup(what);
  if (places.size() == 1)
    places = {};
  if (ranks != countRanks(what) || start.getGroup().getAmong() != places)
    return start.emitOpError(isSum(start) ? "sums " : "gathers ")
           << what << " over " << ranks << " ranks, and not the "
           << countRanks(what) << " that have a part of it";
  return success();
}

/// Checks that parts are summed once, and that what is gathered are chunks of a
/// sum.
LogicalResult SumChecker::checkIsDue(StartOp start) {
  OnPlace part = getPart(start);
  Operation *scatter = scattered.lookup(part);
  if (isSum(start)) {
    if (!scatter)
      return checkIsNotSummed(start, part);
    InFlightDiagnostic diag =
        start.emitOpError("sums a value that is summed already");
    diag.attachNote(scatter->getLoc()) << "each rank has its chunk here";
    return diag;
  }
  if (scatter)
    return success();
  return start.emitOpError("gathers ")
         << start.getWhat() << ", of which ranks do not have chunks; put a "
         << geometry::wordOf(geometry::Collective::ReduceScatter)
         << " before it";
}

LogicalResult SumChecker::check(StartOp start) {
  OnPlace part = getPart(start);
  if (StartOp first = underWay.lookup(part))
    return start.emitOpError(isSum(start) ? "sums" : "gathers")
           << " a value that is being "
           << (isSum(first) ? "summed" : "gathered") << " already";
  if (failed(checkIsDue(start)))
    return failure();
  underWay[part] = start;
  return checkGroup(start);
}

void SumChecker::finish(StartOp start, WaitOp wait) {
  OnPlace part = getPart(start);
  underWay.erase(part);
  scattered.erase(part);
  (geometry::gathers(start.getKind()) ? summed : scattered)[part] = wait;
}
