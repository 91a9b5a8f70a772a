//===- EntryParts.cpp - The stages of an entry in phase train -------------===//

#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::pp;

PlaceOp pp::yieldAll(PlaceOp place) {
  OpBuilder builder(place);
  Operation *yield = place.getBody().front().getTerminator();
  auto wider = PlaceOp::create(
      builder, place.getLoc(), yield->getOperandTypes(), place.getPlace(),
      place.getStage(), place.getBackward(), place.getEvaluation());
  wider.getBody().takeBody(place.getBody());
  for (auto [old, result] : llvm::zip(place.getResults(), wider.getResults()))
    old.replaceAllUsesWith(result);
  place.erase();
  return wider;
}

PlaceOp pp::yieldWhatIsRead(PlaceOp place) {
  Block &body = place.getBody().front();
  llvm::SetVector<Value> read;
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      for (Operation *user : result.getUsers())
        if (user->getBlock() != &body)
          read.insert(result);
  Operation *yield = body.getTerminator();
  unsigned first = yield->getNumOperands();
  yield->insertOperands(first, read.getArrayRef());
  place = yieldAll(place);
  for (auto [i, readValue] : llvm::enumerate(read)) {
    Value value = readValue;
    value.replaceUsesWithIf(place.getResult(first + i), [&](OpOperand &use) {
      return use.getOwner()->getBlock() != &body;
    });
  }
  return place;
}

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

CountOp pp::findCount(Value value) {
  return throughCopies(value).getDefiningOp<CountOp>();
}

void pp::sortByPosition(func::FuncOp entry, llvm::SetVector<Value> &values) {
  Block &body = entry.getBody().front();
  // Each is an argument, or in the body, or in a place of the body.
  auto isBefore = [&](Value a, Value b) {
    Operation *ofA = a.getDefiningOp(), *ofB = b.getDefiningOp();
    if (!ofA || !ofB)
      return !ofA && ofB;
    if (ofA == ofB)
      return cast<OpResult>(a).getResultNumber() <
             cast<OpResult>(b).getResultNumber();
    Operation *outerA = body.findAncestorOpInBlock(*ofA),
              *outerB = body.findAncestorOpInBlock(*ofB);
    if (outerA != outerB)
      return outerA->isBeforeInBlock(outerB);
    return outerA == ofA || (outerB != ofB && ofA->isBeforeInBlock(ofB));
  };
  SmallVector<Value> sorted = values.takeVector();
  llvm::sort(sorted, isBefore);
  values.insert_range(sorted);
}

StageParts *EntryParts::getStageOf(Block *block) {
  auto place = dyn_cast_or_null<PlaceOp>(block->getParentOp());
  return place ? &stages[place.getStage()] : nullptr;
}

Block *EntryParts::getSender(CopyOp copy) {
  Value sent = throughPlace(copy.getX());
  if (sent.getDefiningOp() && getStageOf(sent.getParentBlock()))
    return sent.getParentBlock();
  return &copy.getX().getDefiningOp<PlaceOp>().getBody().front();
}

bool EntryParts::makesLoss(StageParts &stage) {
  if (!loss.getDefiningOp())
    return false;
  Block *block = loss.getParentBlock();
  if (block == stage.getForwardBlock())
    return true;
  return !trainingLoss && !getStageOf(block) &&
         &stage == &getStageOfResult(loss);
}

StageParts &EntryParts::getStageOfResult(Value value) {
  SmallVector<Value> worklist{value};
  StageParts *last = nullptr;
  while (!worklist.empty()) {
    Value source = throughPlace(worklist.pop_back_val());
    Operation *op = source.getDefiningOp();
    StageParts *stage = op ? getStageOf(op->getBlock()) : nullptr;
    if (stage && (!last || stage->stage > last->stage))
      last = stage;
    if (op && !stage)
      llvm::append_range(worklist, op->getOperands());
  }
  return last ? *last : stages.back();
}

SmallVector<Value> EntryParts::getResults(StageParts &stage) {
  SmallVector<Value> results;
  if (&getStageOfResult(loss) == &stage)
    results.push_back(loss);
  for (const EntryMetric &metric : metrics)
    if (&getStageOfResult(metric.value) == &stage)
      results.push_back(metric.value);
  for (const EntryOutput &output : outputs)
    if (&getStageOfResult(output.value) == &stage)
      results.push_back(output.value);
  return results;
}

SmallVector<EntryOutput> EntryParts::getProposals(StageParts &stage) {
  SmallVector<EntryOutput> made;
  for (const EntryOutput &proposal : proposals)
    if (&getStageOfResult(proposal.value) == &stage)
      made.push_back(proposal);
  return made;
}

unsigned pp::countNamedResults(func::FuncOp entry) {
  unsigned count = 1; // the loss
  while (count < entry.getNumResults() &&
         (entry.getResultAttr(count, kMetricAttr) ||
          entry.getResultAttr(count, kMetricCountAttr) ||
          entry.getResultAttr(count, kOutputAttr) ||
          entry.getResultAttr(count, kProposalAttr)))
    ++count;
  return count;
}

FailureOr<EntryParts> pp::findParts(func::FuncOp entry) {
  EntryParts parts{entry, {}, {}, {}, {}, {}, {}, {}};
  for (auto place : entry.getOps<PlaceOp>()) {
    auto number = static_cast<size_t>(place.getStage());
    if (number >= parts.stages.size())
      parts.stages.resize(number + 1);
    StageParts &stage = parts.stages[number];
    PlaceOp &part = place.getBackward()     ? stage.backward
                    : place.getEvaluation() ? stage.evaluation
                                            : stage.forward;
    if (part)
      return place.emitOpError("is a second region of stage ") << number,
             failure();
    part = place;
    if (!place.getBackward() && !place.getEvaluation()) {
      stage.stage = place.getStage();
      stage.place = place.getPlace();
    } else if (!stage.forward || stage.place != place.getPlace()) {
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
  Operation *ret = entry.getBody().front().getTerminator();
  parts.loss = throughPlace(ret->getOperand(0));
  unsigned named = countNamedResults(entry);
  for (unsigned i = 1; i < named; ++i) {
    Value value = throughPlace(ret->getOperand(i));
    if (auto output = entry.getResultAttrOfType<StringAttr>(i, kOutputAttr)) {
      parts.outputs.push_back({output.getValue(), i, value});
      continue;
    }
    if (auto state = entry.getResultAttrOfType<StringAttr>(i, kProposalAttr)) {
      parts.proposals.push_back({state.getValue(), i, value});
      continue;
    }
    auto metric = entry.getResultAttrOfType<StringAttr>(i, kMetricAttr);
    auto count = entry.getResultAttrOfType<StringAttr>(i, kMetricCountAttr);
    parts.metrics.push_back(
        {(metric ? metric : count).getValue(), count != nullptr, i, value});
  }
  if (ret->getNumOperands() > named)
    parts.trainingLoss = throughPlace(ret->getOperand(named));
  parts.hasModes = entry.walk([](ByModeOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
  return parts;
}

ModeSwitch::ModeSwitch(func::FuncOp entry) {
  entry.walk([&](ByModeOp op) {
    auto uses =
        llvm::map_to_vector(op->getUses(), [](OpOperand &use) { return &use; });
    readers.emplace_back(op, std::move(uses));
  });
}

void ModeSwitch::set(bool isEvaluation) {
  for (auto &[op, uses] : readers)
    for (OpOperand *use : uses)
      use->set(isEvaluation ? op.getEvaluation() : op.getTraining());
}

namespace {

/// Erases ops of a copy, and what maps to them.
class CopyEraser {
public:
  explicit CopyEraser(IRMapping &map) : map(map) {
    for (auto [original, copy] : map.getOperationMap())
      originals[copy] = original;
  }

  void erase(Operation *op) {
    op->walk([&](Operation *each) {
      if (Operation *original = originals.lookup(each))
        map.erase(original);
      originals.erase(each);
    });
    op->erase();
  }
  void dropUnread(PlaceOp place);

private:
  IRMapping &map;
  DenseMap<Operation *, Operation *> originals;
};

} // namespace

/// Replaces a place by one that yields only what is read, and erases the ops
/// that nothing needs.
void CopyEraser::dropUnread(PlaceOp place) {
  Block &body = place.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Value> read;
  BitVector isUnread(place.getNumResults());
  for (OpResult result : place.getResults())
    if (result.use_empty())
      isUnread.set(result.getResultNumber());
    else
      read.push_back(result);
  yield->eraseOperands(isUnread);
  OpBuilder builder(place);
  auto narrower = PlaceOp::create(
      builder, place.getLoc(), TypeRange(ValueRange(read)), place.getPlace(),
      place.getStage(), place.getBackward(), place.getEvaluation());
  narrower.getBody().takeBody(place.getBody());
  for (auto [old, result] : llvm::zip(read, narrower.getResults()))
    old.replaceAllUsesWith(result);
  erase(place);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(narrower.getBody().front())))
    if (op.use_empty() && !isa<YieldOp>(op))
      erase(&op);
}

func::FuncOp pp::cloneForEvaluation(func::FuncOp entry, IRMapping &map) {
  auto clone = cast<func::FuncOp>(entry->clone(map));
  Operation *ret = clone.getBody().front().getTerminator();
  BitVector dropped(clone.getNumResults());
  for (unsigned i = countNamedResults(clone), e = dropped.size(); i < e; ++i)
    dropped.set(i); // the loss of training
  for (unsigned i = 0, e = dropped.size(); i < e; ++i)
    if (clone.getResultAttr(i, kProposalAttr))
      dropped.set(i);
  ret->eraseOperands(dropped);
  (void)clone.eraseResults(dropped);
  ModeSwitch(clone).setEvaluation();
  CopyEraser eraser(map);
  // What is left of the backward are gradients of parameters.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(clone.getBody().front()))) {
    auto place = dyn_cast<PlaceOp>(op);
    if (place && !place.getBackward())
      eraser.dropUnread(place);
    else if (op.use_empty() && !isa<ParamOp, func::ReturnOp>(op))
      eraser.erase(&op);
  }
  return clone;
}
