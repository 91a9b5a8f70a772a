//===- BuildAttention.cpp - Scaled dot-product attention ------------------===//
//
// A constant mask that shows each position those up to it, or the last of
// these, is causal or a window; other masks are operands of pp.attention.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "EvaluateConstants.h"
#include "ppopt/Dialect/PP/AttentionOps.h"

#include "llvm/ADT/STLExtras.h"

#include <cfloat>
#include <cmath>
#include <optional>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

namespace {

/// What a constant mask shows.
struct MaskForm {
  bool isAll = false;      ///< each position sees all
  bool isCausal = false;   ///< position t sees those up to it
  int64_t window = 0;      ///< and of these only the last `window`; 0: all
  bool isBoolean = false;  ///< it only shows and hides
  bool isInfinite = false; ///< one of its numbers is -infinity
};

/// Reads a mask of booleans, or of numbers that are added to scores.
MaskForm recogniseMask(const HostTensor &mask) {
  MaskForm form;
  int64_t rank = mask.getRank();
  int64_t queries = rank < 2 ? 0 : mask.getShape()[rank - 2];
  int64_t keys = rank < 1 ? 0 : mask.getShape()[rank - 1];
  form.isAll = form.isBoolean = true;
  form.isCausal = queries > 0 && queries == keys;
  int64_t nearestHidden = keys, farthestSeen = -1;
  HostTensor distinct = mask.collapse();
  HostTensor::forEachIndex(distinct.getShape(), [&](ArrayRef<int64_t> at) {
    double value = distinct.getReal(at);
    bool sees = distinct.isFloat() ? value == 0 : value != 0;
    form.isBoolean &= sees || !distinct.isFloat() || value == -INFINITY;
    form.isInfinite |= value == -INFINITY;
    form.isAll &= sees;
  });
  if (form.isAll || !form.isCausal)
    return form;
  HostTensor::forEachIndex(mask.getShape(), [&](ArrayRef<int64_t> at) {
    double value = mask.getReal(at);
    bool sees = mask.isFloat() ? value == 0 : value != 0;
    bool hides = mask.isFloat() ? value == -INFINITY || value == -FLT_MAX ||
                                      value == -DBL_MAX
                                : value == 0;
    int64_t distance = at[rank - 2] - at[rank - 1];
    form.isCausal &= distance < 0 ? hides : sees || hides;
    if (distance >= 0 && sees)
      farthestSeen = std::max(farthestSeen, distance);
    else if (distance >= 0)
      nearestHidden = std::min(nearestHidden, distance);
  });
  form.isCausal &= farthestSeen >= 0 && farthestSeen < nearestHidden;
  if (form.isCausal && nearestHidden < keys)
    form.window = nearestHidden;
  return form;
}

/// [B, Hkv, S, D] as [B, H, S, D]: each head of keys serves H / Hkv in a row.
Value repeatHeads(Emitter &emit, Value x, int64_t heads) {
  Shape shape(Emitter::shapeOf(x));
  if (shape[1] == heads)
    return x;
  Shape spread = {shape[0], shape[1], 1, shape[2], shape[3]}, repeated = spread,
        merged = shape;
  repeated[2] = heads / shape[1];
  merged[1] = heads;
  return emit.reshape(emit.broadcastTo(emit.reshape(x, spread), repeated),
                      merged);
}

/// Four dimensions: batch, heads, positions, width.
Value withFourDims(Emitter &emit, Value x) {
  Shape shape(Emitter::shapeOf(x));
  if (shape.size() <= 4) {
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    if (Emitter::rankOf(x) == 3)
      shape = {Emitter::shapeOf(x)[0], 1, shape[2], shape[3]};
  } else {
    int64_t batch = countElements(ArrayRef(shape).drop_back(3));
    shape.erase(shape.begin(), shape.end() - 3);
    shape.insert(shape.begin(), batch);
  }
  return emit.reshape(x, shape);
}

/// A mask of scores in four dimensions, of which the first are those of the
/// batch, the heads and the queries or 1.
Value spreadMask(Emitter &emit, Value mask, ArrayRef<int64_t> scores) {
  Shape shape(Emitter::shapeOf(mask));
  shape.insert(shape.begin(), scores.size() - shape.size(), 1);
  mask = emit.reshape(mask, shape);
  // Several dimensions that become one are whole or 1.
  if (scores.size() > 4 &&
      llvm::any_of(ArrayRef(shape).drop_back(3),
                   [](int64_t size) { return size != 1; })) {
    llvm::copy(scores.drop_back(3), shape.begin());
    mask = emit.broadcastTo(mask, shape);
  }
  return withFourDims(emit, mask);
}

/// What hides and changes scores.
struct Masking {
  Value bias, mask;
  bool isCausal = false;
  int64_t window = 0;
};

/// Returns the operands for a mask that `scores` has the shape of.
std::optional<Masking> buildMasking(OpCall &call, Emitter &emit,
                                    const Tensor &mask,
                                    ArrayRef<int64_t> scores) {
  Masking masking;
  MaskForm form;
  if (mask.constant) {
    if (!fits(call, mask.shape, mask.shape))
      return std::nullopt;
    form = recogniseMask(*mask.constant);
    if (form.isAll)
      return masking;
    if (form.isCausal) {
      masking.isCausal = true;
      masking.window = form.window;
      return masking;
    }
  }
  if (mask.type == Dtype::boolean) {
    masking.mask = spreadMask(emit, emit.value(mask), scores);
    return masking;
  }
  Value added = emit.operand(call, "attn_mask", call.result().type);
  // A query of which all keys are hidden gives zeros, so what is hidden is
  // said.
  Value hidden = emit.number(call.result().type, -INFINITY);
  if (!mask.constant || form.isInfinite)
    masking.mask = spreadMask(
        emit, emit.compare(ComparePredicate::Ne, added, hidden), scores);
  if (!form.isBoolean)
    masking.bias = spreadMask(emit, added, scores);
  return masking;
}

Values buildAttention(OpCall &call, Emitter &emit) {
  Value q = emit.value(call.tensor("query")),
        k = emit.value(call.tensor("key")),
        v = emit.value(call.tensor("value"));
  if (Emitter::rankOf(q) < 2 || Emitter::rankOf(k) != Emitter::rankOf(q) ||
      Emitter::rankOf(v) != Emitter::rankOf(q)) {
    call.fail("has a query, key and value of different ranks");
    return {};
  }
  const Tensor *mask = call.optionalTensor("attn_mask");
  double dropout = call.number("dropout_p", 0);
  bool isCausal = call.flag("is_causal", false);
  Shape scores(Emitter::shapeOf(q));
  scores.back() = Emitter::shapeOf(k).drop_back().back();
  q = withFourDims(emit, q);
  k = withFourDims(emit, k);
  v = withFourDims(emit, v);
  int64_t heads = Emitter::shapeOf(q)[1], queries = Emitter::shapeOf(q)[2];
  auto serves = [&](Value x) {
    int64_t own = Emitter::shapeOf(x)[1];
    return own == heads ||
           (own > 0 && heads % own == 0 && call.flag("enable_gqa", false));
  };
  if (!serves(k) || !serves(v)) {
    call.fail("has " + Twine(heads) + " heads of queries and " +
              Twine(Emitter::shapeOf(k)[1]) + " of keys");
    return {};
  }
  if (Emitter::shapeOf(k)[1] != Emitter::shapeOf(v)[1]) {
    k = repeatHeads(emit, k, heads);
    v = repeatHeads(emit, v, heads);
  }
  Masking masking;
  if (mask) {
    std::optional<Masking> made = buildMasking(call, emit, *mask, scores);
    if (!made)
      return {};
    masking = *made;
  }
  if (isCausal && queries == scores.back()) {
    masking.isCausal = true;
  } else if (isCausal) {
    // Of queries and keys of different numbers the first are aligned.
    Shape shape = {queries, scores.back()};
    if (!fits(call, shape, shape))
      return {};
    HostTensor lower(Dtype::boolean, shape);
    HostTensor::forEachIndex(shape, [&](ArrayRef<int64_t> at) {
      lower.set(at, {0, at[1] <= at[0]});
    });
    masking.mask = spreadMask(emit, emit.constant(lower), scores);
  }
  OpBuilder &builder = emit.getBuilder();
  auto real = [&](StringRef name) -> TypedAttr {
    return call.has(name) ? builder.getF64FloatAttr(call.number(name, 0))
                          : FloatAttr();
  };
  Value out = emit.make<AttentionOp>(
      q, k, v, masking.bias, masking.mask, /*slopes=*/Value(),
      /*segments=*/Value(), masking.isCausal,
      masking.window ? builder.getI64IntegerAttr(masking.window)
                     : IntegerAttr(),
      /*soft_cap=*/TypedAttr(), real("scale"),
      dropout > 0 ? builder.getF64FloatAttr(dropout) : TypedAttr(),
      /*stream=*/IntegerAttr());
  return {emit.reshape(out, call.result().shape)};
}

const OpRow rows[] = {
    {"aten.scaled_dot_product_attention.default", buildAttention},
};

} // namespace

ArrayRef<OpRow> pt2::attentionRows() { return rows; }
