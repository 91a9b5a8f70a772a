//===- SumChecker.cpp - Checks that sums are complete when read -----------===//

#include "SumChecker.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

/// Returns whether it adds the parts of ranks; otherwise it gathers chunks.
static bool isSum(StartOp start) { return geometry::reduces(start.getKind()); }

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
bool SumChecker::isSummedHere(Attribute what) {
  ArrayRef<int64_t> places = table.index.placesOf.lookup(what);
  return places.empty() || llvm::any_of(places, [&](int64_t place) {
           return table.schedule.isOf(place);
         });
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

LogicalResult SumChecker::checkAreSummed(Operation *reader,
                                         ArrayRef<Attribute> list) {
  for (Attribute what : list) {
    if (summed.count(what) || countRanks(what) == 1 || !isSummedHere(what))
      continue;
    InFlightDiagnostic diag = reader->emitOpError("needs ")
                              << what << " of all ranks, which is not ";
    Operation *scatter = scattered.lookup(what);
    diag << (scatter ? "gathered yet" : "summed yet");
    if (scatter)
      diag.attachNote(scatter->getLoc())
          << "from here on each rank has its chunk of the sum";
    return diag;
  }
  return success();
}

LogicalResult SumChecker::checkAddition(RunOp run, const Use &use,
                                        int64_t place) {
  added.insert(use.what);
  Operation *chunks = scattered.lookup(use.what);
  if (Operation *sum = chunks ? chunks : summed.lookup(use.what)) {
    InFlightDiagnostic diag = run.emitOpError("adds to ")
                              << use.role << ", which is summed already";
    diag.attachNote(sum->getLoc()) << "the sum is complete here";
    return diag;
  }
  if (Operation *reader = taken.lookup({place, use.what})) {
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
    if (StartOp start = underWay.lookup(use.what)) {
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
    if (failed(checkAreSummed(run, use.what)))
      return failure();
    taken.try_emplace({task.getPlace(), use.what}, run);
  }
  return success();
}

LogicalResult SumChecker::checkIsNotSummed(Operation *sum, Attribute what) {
  Operation *first = summed.lookup(what);
  if (!first)
    return success();
  InFlightDiagnostic diag =
      sum->emitOpError("sums a value that is summed already");
  diag.attachNote(first->getLoc()) << "the sum is complete here";
  return diag;
}

/// Checks that the ranks of the group are those that have a part.
LogicalResult SumChecker::checkGroup(StartOp start) {
  const ScheduleIndex &index = table.index;
  Attribute what = start.getWhat();
  geometry::Group group = start.getGroup().getGeometry();
  std::optional<int64_t> rank = index.mesh.firstRank(table.schedule.getPlace());
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
  Attribute what = start.getWhat();
  Operation *scatter = scattered.lookup(what);
  if (isSum(start)) {
    if (!scatter)
      return checkIsNotSummed(start, what);
    InFlightDiagnostic diag =
        start.emitOpError("sums a value that is summed already");
    diag.attachNote(scatter->getLoc()) << "each rank has its chunk here";
    return diag;
  }
  if (scatter)
    return success();
  return start.emitOpError("gathers ")
         << what << ", of which ranks do not have chunks; put a "
         << geometry::wordOf(geometry::Collective::ReduceScatter)
         << " before it";
}

LogicalResult SumChecker::check(StartOp start) {
  Attribute what = start.getWhat();
  if (StartOp first = underWay.lookup(what))
    return start.emitOpError(isSum(start) ? "sums" : "gathers")
           << " a value that is being "
           << (isSum(first) ? "summed" : "gathered") << " already";
  if (failed(checkIsDue(start)))
    return failure();
  underWay[what] = start;
  return checkGroup(start);
}

void SumChecker::finish(StartOp start, WaitOp wait) {
  Attribute what = start.getWhat();
  underWay.erase(what);
  scattered.erase(what);
  (geometry::gathers(start.getKind()) ? summed : scattered)[what] = wait;
}

/// Checks that the places are those that have a part.
LogicalResult SumChecker::check(SumPlacesOp sum) {
  const ScheduleIndex &index = table.index;
  Attribute what = sum.getWhat();
  if (failed(checkIsNotSummed(sum, what)))
    return failure();
  summed[what] = sum;
  SmallVector<int64_t> places(index.placesOf.lookup(what));
  if (places.empty())
    places = llvm::to_vector(llvm::seq(index.places));
  if (sum.getPlaces() == ArrayRef(places))
    return success();
  InFlightDiagnostic diag = sum.emitOpError("sums ")
                            << what << " over places " << sum.getPlaces();
  diag << ", and places " << ArrayRef(places) << " have a part of it";
  return diag;
}
