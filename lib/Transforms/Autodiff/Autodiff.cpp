//===- Autodiff.cpp - Adds backward ops -----------------------------------===//
//
// Before (phase placed): forward pp.place regions and the loss. After (phase
// train): for each region that a gradient reaches, a backward region after all
// forward ones, in reverse order. It ends with a pp.add_grad for each parameter
// that the stage gives a gradient. Forward regions yield the values that
// backward regions read. No pp.detach is left.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Transforms/Autodiff/Passes.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::pp {
#define GEN_PASS_DEF_AUTODIFF
#include "ppopt/Transforms/Autodiff/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Visits the values that use `value` directly: the results of its users and,
/// for a place's yield, the result of the place.
void forEachSuccessor(Value value,
                      llvm::function_ref<void(Operation *, Value)> visit) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto yield = dyn_cast<YieldOp>(user))
      visit(user, yield->getParentOp()->getResult(use.getOperandNumber()));
    else
      for (Value result : user->getResults())
        visit(user, result);
  }
}

/// Returns the values that follow from `roots`. `passes` says whether to follow
/// a step through an op to a result.
template <typename PassesFn>
DenseSet<Value> reachableFrom(ArrayRef<Value> roots, PassesFn passes) {
  DenseSet<Value> reached(roots.begin(), roots.end());
  SmallVector<Value> worklist(roots);
  while (!worklist.empty())
    forEachSuccessor(worklist.pop_back_val(), [&](Operation *op, Value next) {
      if (passes(op, next) && reached.insert(next).second)
        worklist.push_back(next);
    });
  return reached;
}

bool carriesGradient(Operation *op, Value result) {
  return !isa<DetachOp>(op) && isFloat(result);
}

/// Builds the backward regions of one entry function.
class Differentiator {
public:
  Differentiator(func::FuncOp entry)
      : block(entry.getBody().front()),
        ret(cast<func::ReturnOp>(block.getTerminator())),
        loss(ret.getOperand(0)), builder(ret) {
    for (auto param : block.getOps<ParamOp>())
      if (!param.getFrozen() && !param.getState())
        trained.push_back(param);
    SmallVector<Value> roots(trained.begin(), trained.end());
    active = reachableFrom(roots, carriesGradient);
    for (auto copy : block.getOps<CopyOp>())
      nextCopy = std::max(nextCopy, copy.getId() + 1);
  }

  LogicalResult run();

private:
  LogicalResult differentiate(PlaceOp forward);
  LogicalResult differentiate(Operation *op);
  void differentiate(CopyOp copy);
  void addGradient(Value value, Value gradient);
  SmallVector<Value> findOuter();
  Value hoistConstant(Value value);
  Value copyConstant(Value value);
  void addPart(Value value, Value gradient);
  void addToParam(ParamOp param, Value gradient);
  void warnOfParams();
  void warnNeverLearns(ParamOp param);
  void warnOfRounding();
  void yieldWhatBackwardReads();
  void consumeDetaches();

  Block &block;
  func::ReturnOp ret;
  Value loss;
  OpBuilder builder;
  SmallVector<ParamOp> trained;
  /// Values through which a trained parameter learns if their gradient is not
  /// zero.
  DenseSet<Value> active;
  /// Gradients inside the region that is being differentiated.
  DenseMap<Value, Value> gradients;
  /// The parts that each later stage, and each copy, adds to the gradient of a
  /// value outside of regions. The backward of the stage that makes the value
  /// sums them.
  DenseMap<Value, SmallVector<Value>> parts;
  /// The parameters whose gradient some region adds to.
  DenseSet<Value> learning;
  /// What gradients are outside of regions; null for those that belong to a
  /// place.
  DenseMap<Value, Value> hoisted;
  int64_t nextCopy = 0;
};

void Differentiator::addGradient(Value value, Value gradient) {
  Value &sum = gradients[value];
  sum =
      sum ? AddOp::create(builder, gradient.getLoc(), sum, gradient).getResult()
          : gradient;
}

void Differentiator::addPart(Value value, Value gradient) {
  parts[value].push_back(gradient);
}

void Differentiator::addToParam(ParamOp param, Value gradient) {
  learning.insert(param);
  AddGradOp::create(builder, param.getLoc(), param, gradient,
                    /*tiles=*/IntegerAttr());
}

LogicalResult Differentiator::differentiate(Operation *op) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(active.contains(operand));
  if (isa<DetachOp>(op) ||
      llvm::none_of(needed, [](bool need) { return need; }))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("has no gradient, and a trained parameter reaches "
                           "the loss through it; put a pp.detach before it if "
                           "that is meant");
  SmallVector<Value> operandGrads(op->getNumOperands());
  if (failed(differentiable.buildAdjoint(builder, resultGrads, needed,
                                         operandGrads)))
    return failure();
  for (auto [operand, grad, need] :
       llvm::zip(op->getOperands(), operandGrads, needed))
    if (need && grad)
      addGradient(operand, grad);
  return success();
}

/// Returns the values outside of the region that have a gradient now, in
/// program order (a DenseMap has no order).
SmallVector<Value> Differentiator::findOuter() {
  SmallVector<Value> outer;
  for (BlockArgument argument : block.getArguments())
    if (gradients.contains(argument))
      outer.push_back(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (gradients.contains(result))
        outer.push_back(result);
  return outer;
}

/// A gradient that follows cheaply from constants alone belongs to no place:
/// computes it outside of the regions, before the return. Returns null for
/// others.
Value Differentiator::hoistConstant(Value value) {
  if (auto known = hoisted.find(value); known != hoisted.end())
    return known->second;
  Value constant = copyConstant(value);
  return hoisted[value] = constant;
}

Value Differentiator::copyConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return nullptr;
  bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
  if (op->getBlock() == &block)
    return isConstant ? value : Value();
  if (!isConstant && (!isCheap(op) || op->getNumOperands() == 0))
    return nullptr;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(hoistConstant(operand));
    if (!operands.back())
      return nullptr;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(ret);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  return hoisted[copy->getResult(0)] = copy->getResult(0);
}

/// Builds the backward region of a forward one, at the end of the entry.
LogicalResult Differentiator::differentiate(PlaceOp forward) {
  bool isReached = llvm::any_of(forward.getResults(), [&](Value result) {
    return active.contains(result) && (result == loss || parts.count(result));
  });
  if (!isReached)
    return success();
  auto body = std::make_unique<Block>();
  builder.setInsertionPointToEnd(body.get());
  gradients.clear();
  Operation *yield = forward.getBody().front().getTerminator();
  for (auto [result, value] :
       llvm::zip(forward.getResults(), yield->getOperands())) {
    if (!active.contains(value))
      continue;
    for (Value gradient : parts.lookup(result))
      addGradient(value, gradient);
    if (result == loss) {
      auto type = cast<RankedTensorType>(loss.getType());
      addGradient(value,
                  ConstantOp::create(builder, value.getLoc(), type, 1.0));
    }
  }
  // A copy of the list: an adjoint may add decisions to the forward region.
  auto ops = llvm::map_to_vector(forward.getBody().front().without_terminator(),
                                 [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (failed(differentiate(op)))
      return failure();

  // Gradients of values outside of the region continue there. The value of a
  // copy sends one gradient back: the sum over the stages that read it.
  SmallVector<Value> outer = findOuter(), crossing, yielded;
  SmallVector<Type> types;
  for (Value value : outer) {
    if (value.getDefiningOp<ParamOp>())
      continue;
    if (value.getDefiningOp<CopyOp>())
      for (Value gradient : std::exchange(parts[value], {}))
        addGradient(value, gradient);
    if (Value constant = hoistConstant(gradients[value])) {
      addPart(value, constant);
      continue;
    }
    crossing.push_back(value);
    yielded.push_back(gradients[value]);
    types.push_back(value.getType());
  }
  // The gradient of a parameter stays, even if it is constant: a task has to
  // add it.
  for (Value value : outer)
    if (auto param = value.getDefiningOp<ParamOp>())
      addToParam(param, gradients[value]);
  YieldOp::create(builder, forward.getLoc(), yielded);
  builder.setInsertionPoint(ret);
  auto backward =
      PlaceOp::create(builder, forward.getLoc(), types, forward.getPlace(),
                      forward.getStage(), /*backward=*/true);
  backward.getBody().push_back(body.release());
  for (auto [value, result] : llvm::zip(crossing, backward.getResults()))
    addPart(value, result);
  return success();
}

/// The adjoint of a copy is a copy in the opposite direction.
void Differentiator::differentiate(CopyOp copy) {
  auto known = parts.find(copy.getResult());
  if (known == parts.end() || !active.contains(copy.getX()))
    return;
  assert(known->second.size() == 1 && "its last reader has summed them");
  if (Value constant = hoistConstant(known->second.front()))
    return addPart(copy.getX(), constant);
  builder.setInsertionPoint(ret);
  addPart(copy.getX(),
          CopyOp::create(builder, copy.getLoc(), known->second.front(),
                         copy.getTo(), copy.getFrom(), nextCopy++,
                         builder.getI64IntegerAttr(copy.getId())));
}

void Differentiator::warnNeverLearns(ParamOp param) {
  auto anything = [](Operation *, Value) { return true; };
  SmallVector<Value> copies;
  for (ParamOp other : trained)
    if (other.getParamName() == param.getParamName())
      copies.push_back(other);
  InFlightDiagnostic diag = param.emitWarning() << "'" << param.getParamName()
                                                << "' never learns: ";
  if (!reachableFrom(copies, anything).contains(loss)) {
    diag << "it does not reach the loss";
    return;
  }
  SmallVector<Operation *> cuts;
  for (Value value : reachableFrom(copies, carriesGradient))
    for (Operation *user : value.getUsers())
      if (isa<DetachOp>(user) &&
          reachableFrom({user->getResult(0)}, anything).contains(loss) &&
          !llvm::is_contained(cuts, user))
        cuts.push_back(user);
  if (cuts.empty()) {
    diag << "it reaches the loss only through values that carry no gradient "
            "(integers, comparisons)";
    return;
  }
  // Program order: by region, then inside it.
  auto position = [&](Operation *op) {
    return op->getBlock() == &block ? op : op->getParentOp();
  };
  llvm::sort(cuts, [&](Operation *a, Operation *b) {
    return a->getBlock() == b->getBlock()
               ? a->isBeforeInBlock(b)
               : position(a)->isBeforeInBlock(position(b));
  });
  diag << "every path from the loss to it passes a detach";
  for (Operation *cut : cuts)
    diag.attachNote(cut->getLoc()) << "this one";
}

/// A parameter learns if some copy of it does. In a program that predicts none
/// is meant to.
void Differentiator::warnOfParams() {
  if (hasOutputs(cast<func::FuncOp>(block.getParentOp())))
    return;
  llvm::StringSet<> done;
  for (Value param : learning)
    done.insert(param.getDefiningOp<ParamOp>().getParamName());
  for (ParamOp param : trained)
    if (done.insert(param.getParamName()).second)
      warnNeverLearns(param);
  warnOfRounding();
}

/// Between two powers of two bf16 has 128 numbers, so an update of less than
/// 1/512 of a weight is always rounded away. Warns once, of all parameters.
void Differentiator::warnOfRounding() {
  ParamOp first;
  llvm::StringSet<> narrow;
  for (ParamOp param : trained)
    if (learning.contains(param) &&
        getElementTypeOrSelf(param.getType()).isBF16()) {
      first = first ? first : param;
      narrow.insert(param.getParamName());
    }
  if (!first)
    return;
  InFlightDiagnostic diag = first.emitWarning()
                            << "'" << first.getParamName() << "'";
  if (narrow.size() > 1)
    diag << " and " << narrow.size() - 1 << " more are";
  else
    diag << " is";
  diag << " trained in bf16: updates of less than 1/512 of a weight are lost "
          "in rounding; make parameters f32, and compile with --precision "
          "bf16";
}

/// A backward region may refer to values of forward regions; makes those
/// results of their place.
void Differentiator::yieldWhatBackwardReads() {
  for (auto place : llvm::make_early_inc_range(block.getOps<PlaceOp>()))
    yieldWhatIsRead(place);
}

void Differentiator::consumeDetaches() {
  block.getParentOp()->walk([](DetachOp detach) {
    detach.replaceAllUsesWith(detach.getX());
    detach.erase();
  });
}

LogicalResult Differentiator::run() {
  SmallVector<Operation *> forward;
  for (Operation &op : block)
    forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    if (auto copy = dyn_cast<CopyOp>(op))
      differentiate(copy);
    else if (auto place = dyn_cast<PlaceOp>(op);
             place && failed(differentiate(place)))
      return failure();
  }
  warnOfParams();
  consumeDetaches();
  yieldWhatBackwardReads();
  return success();
}

/// Whoever runs the program must give these inputs, for nothing.
void warnOfUnreadInputs(func::FuncOp entry) {
  for (BlockArgument input : entry.getArguments())
    if (input.use_empty())
      emitWarning(input.getLoc())
          << "input "
          << entry.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                kInputAttr)
          << " is not read: the loss does not depend on it; leave it out";
}

struct Autodiff : pp::impl::AutodiffBase<Autodiff> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    for (auto place : entry->getOps<PlaceOp>())
      if (place.getBackward()) {
        entry->emitError("has a backward region already: autodiff runs once");
        return signalPassFailure();
      }
    if (entry->getNumResults() != countNamedResults(*entry)) {
      entry->emitError("has no single loss to differentiate");
      return signalPassFailure();
    }
    if (!hasOutputs(*entry))
      warnOfUnreadInputs(*entry);
    Differentiator differentiator(*entry);
    if (failed(differentiator.run()))
      return signalPassFailure();
  }
};

} // namespace
