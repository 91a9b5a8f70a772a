//===- MixPrecision.cpp - Casts matmuls and attention to bf16 -------------===//
//
// Before: the entry in the types of the model, compositions replaced, places
// not chosen yet. After, if the plan's precision is bf16: ops that compute in
// low precision take bf16, and values that only they read, directly or through
// element ops, are bf16. Everything else is f32, and so is what is added to the
// scores of attention, which are f32 in its kernels, and the angles of a
// rotation.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_MIXPRECISION
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}
bool isF32(Value value) { return getElementTypeOrSelf(value).isF32(); }

/// Returns whether the op's time is that of matmuls: a matmul, or a composite
/// op that contains some.
bool isLowPrecision(Operation *op) { return estimateWork(op).flops > 0; }

/// Returns whether an op in low precision takes the operand as it is.
bool staysWide(OpOperand &use) {
  if (auto rotation = dyn_cast<RotateOp>(use.getOwner()))
    return use.get() == rotation.getCos() || use.get() == rotation.getSin();
  auto attention = dyn_cast<AttentionOpInterface>(use.getOwner());
  if (!attention)
    return false;
  AttentionScores scores = attention.getAttentionScores();
  return use.get() == scores.bias || use.get() == scores.slopes;
}

/// Rewrites the entry in program order.
class PrecisionMixer {
public:
  explicit PrecisionMixer(MLIRContext *context) : builder(context) {}

  LogicalResult run(func::FuncOp entry) {
    findNarrow(entry.getBody().front());
    return rewrite(entry.getBody().front());
  }

private:
  bool wasF32(Value value) const {
    return isF32(value) || widened.contains(value);
  }
  bool isElementOp(Operation *op) const;
  void findNarrow(Block &block);
  bool wantsNarrow(OpOperand &use) const;
  LogicalResult rewrite(Block &block);
  void rewriteMatmul(Operation *op);
  void rewriteElementOp(Operation *op);
  void rewriteYield(YieldOp yield);
  void widenOperands(Operation *op);
  void narrowOperands(Operation *op);
  void widenOperand(OpOperand &operand);
  Value cast(Value value, Type element);
  Value narrow(Value value, Operation *user);
  Value widen(Value value);

  OpBuilder builder;
  /// f32 values that only low-precision ops read, directly or through element
  /// ops.
  DenseSet<Value> isNarrow;
  /// The bf16 form of a value computed in f32, and the f32 form of one computed
  /// in bf16.
  DenseMap<Value, Value> narrowed, widened;
};

/// Returns whether the op computes the elements of its result from elements of
/// the same type, so that it can compute in bf16 as well as in f32.
bool PrecisionMixer::isElementOp(Operation *op) const {
  auto isOther = [&](Value operand) {
    return isFloat(operand) && !wasF32(operand);
  };
  return isa<ElementOpInterface>(op) && op->getNumResults() == 1 &&
         isF32(op->getResult(0)) && llvm::any_of(op->getOperands(), isFloat) &&
         llvm::none_of(op->getOperands(), isOther);
}

/// Returns whether the reader of the value would take it in bf16. The reader's
/// own readers have been decided before.
bool PrecisionMixer::wantsNarrow(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (staysWide(use))
    return false;
  if (isLowPrecision(user))
    return true;
  if (isa<YieldOp>(user))
    return isNarrow.contains(
        user->getParentOp()->getResult(use.getOperandNumber()));
  return isElementOp(user) && isNarrow.contains(user->getResult(0));
}

void PrecisionMixer::findNarrow(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (!isa<ParamOp>(op))
      for (Value result : op.getResults())
        if (isF32(result) && !result.use_empty() &&
            llvm::all_of(result.getUses(),
                         [&](OpOperand &use) { return wantsNarrow(use); }))
          isNarrow.insert(result);
    for (Region &region : op.getRegions())
      findNarrow(region.front());
  }
}

Value PrecisionMixer::cast(Value value, Type element) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return CastOp::create(builder, value.getLoc(), type.clone(element), value);
}

/// Returns `value` in bf16. If all readers read it in bf16, the cast follows
/// the value; otherwise it precedes the reader, because readers may be on other
/// places.
Value PrecisionMixer::narrow(Value value, Operation *user) {
  if (!isF32(value))
    return value;
  if (!isNarrow.contains(value)) {
    builder.setInsertionPoint(user);
    return cast(value, builder.getBF16Type());
  }
  Value &known = narrowed[value];
  if (!known) {
    builder.setInsertionPointAfterValue(value);
    known = cast(value, builder.getBF16Type());
  }
  return known;
}

/// Returns in f32 a value that was f32 in the model and is bf16 now.
Value PrecisionMixer::widen(Value value) {
  Value &known = widened[value];
  if (!known) {
    builder.setInsertionPointAfterValue(value);
    known = cast(value, builder.getF32Type());
  }
  return known;
}

void PrecisionMixer::widenOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    widenOperand(operand);
}

void PrecisionMixer::widenOperand(OpOperand &operand) {
  if (widened.contains(operand.get()))
    operand.set(widen(operand.get()));
}

/// Sets the type of `result` and notes that it was f32.
static void setNarrow(Value result, Type type,
                      DenseMap<Value, Value> &widened) {
  if (result.getType() == type)
    return;
  result.setType(type);
  widened.try_emplace(result);
}

void PrecisionMixer::narrowOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (staysWide(operand))
      widenOperand(operand);
    else
      operand.set(narrow(operand.get(), op));
}

void PrecisionMixer::rewriteMatmul(Operation *op) {
  narrowOperands(op);
  SmallVector<Type> types;
  if (auto infers = dyn_cast<InferTypeOpInterface>(op)) {
    LogicalResult inferred = infers.inferReturnTypes(
        op->getContext(), op->getLoc(), op->getOperands(),
        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
        op->getRegions(), types);
    assert(succeeded(inferred) && "only element types have changed");
    (void)inferred;
  } else {
    assert(op->hasTrait<OpTrait::SameOperandsAndResultElementType>());
    types.push_back(llvm::cast<RankedTensorType>(op->getResult(0).getType())
                        .clone(getElementTypeOrSelf(op->getOperand(0))));
  }
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    setNarrow(result, type, widened);
}

void PrecisionMixer::rewriteElementOp(Operation *op) {
  Value result = op->getResult(0);
  bool isAllNarrow = isNarrow.contains(result) &&
                     llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
                       return !isF32(use.get()) || staysWide(use) ||
                              isNarrow.contains(use.get());
                     });
  if (!isAllNarrow)
    return widenOperands(op);
  narrowOperands(op);
  setNarrow(result,
            llvm::cast<RankedTensorType>(result.getType())
                .clone(builder.getBF16Type()),
            widened);
}

/// A value that is bf16 inside a mark is bf16 outside of it too.
void PrecisionMixer::rewriteYield(YieldOp yield) {
  for (auto [operand, result] :
       llvm::zip(yield->getOpOperands(), yield->getParentOp()->getResults())) {
    if (isNarrow.contains(result))
      operand.set(narrow(operand.get(), yield));
    setNarrow(result, operand.get().getType(), widened);
  }
}

LogicalResult PrecisionMixer::rewrite(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      if (failed(rewrite(region.front())))
        return failure();
    if (auto yield = dyn_cast<YieldOp>(op)) {
      rewriteYield(yield);
    } else if (isLowPrecision(&op)) {
      if (getElementTypeOrSelf(op.getOperand(0)).isF64())
        return op.emitOpError(
            "computes in f64, and --precision=bf16 is for models in f32; write "
            "the model in f32, or leave --precision out");
      rewriteMatmul(&op);
    } else if (isElementOp(&op)) {
      rewriteElementOp(&op);
    } else {
      widenOperands(&op);
    }
  }
  return success();
}

struct MixPrecision : pp::impl::MixPrecisionBase<MixPrecision> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    if (plan->getPrecision() != Precision::bf16)
      return;
    PrecisionMixer mixer(&getContext());
    if (failed(mixer.run(*entry)))
      return signalPassFailure();
  }
};

} // namespace
