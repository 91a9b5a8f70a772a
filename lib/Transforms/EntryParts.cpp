//===- EntryParts.cpp - The stages of an entry in phase train -------------===//

#include "EntryParts.h"

using namespace mlir;
using namespace mlir::pp;

Value pp::throughPlace(Value value) {
  if (auto place = value.getDefiningOp<PlaceOp>())
    return throughPlace(place.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  return value;
}

Value pp::throughCopies(Value value) {
  value = throughPlace(value);
  if (auto copy = value.getDefiningOp<CopyOp>())
    return throughCopies(copy.getX());
  return value;
}

StageParts *EntryParts::getStageOf(Block *block) {
  auto place = dyn_cast_or_null<PlaceOp>(block->getParentOp());
  return place ? &stages[place.getStage()] : nullptr;
}

FailureOr<EntryParts> pp::findParts(func::FuncOp entry) {
  EntryParts parts{entry, {}, {}, {}, {}};
  for (auto place : entry.getOps<PlaceOp>()) {
    auto number = static_cast<size_t>(place.getStage());
    if (number >= parts.stages.size())
      parts.stages.resize(number + 1);
    StageParts &stage = parts.stages[number];
    PlaceOp &part = place.getBackward() ? stage.backward : stage.forward;
    if (part)
      return place.emitOpError("is a second region of stage ") << number,
             failure();
    part = place;
    if (!place.getBackward()) {
      stage.stage = place.getStage();
      stage.place = place.getPlace();
    } else if (!stage.forward || stage.place != int64_t(place.getPlace())) {
      return place.emitOpError("has no forward region on its place"), failure();
    }
  }
  if (parts.stages.empty())
    return entry.emitError("has no pp.place: run --pp-place-ops first"),
           failure();
  for (auto [number, stage] : llvm::enumerate(parts.stages))
    if (!stage.forward)
      return entry.emitError("has nothing left of stage ")
                 << number
                 << ": no result of it reaches the loss; place those ops "
                    "elsewhere, or use fewer places",
             failure();
  parts.copies.assign(entry.getOps<CopyOp>().begin(),
                      entry.getOps<CopyOp>().end());
  parts.updates.assign(entry.getOps<UpdateOp>().begin(),
                       entry.getOps<UpdateOp>().end());
  parts.loss =
      throughPlace(entry.getBody().front().getTerminator()->getOperand(0));
  return parts;
}
