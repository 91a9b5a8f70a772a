//===- BuildAttention.cpp - Scaled dot-product attention ------------------===//
//
// A mask that is constant and shows each position those up to it is
// pp.attention {causal}. Other masks are plain ops: scores, mask, softmax,
// matmul.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "EvaluateConstants.h"
#include "ppopt/Dialect/PP/CompositeOps.h"

#include "llvm/ADT/STLExtras.h"

#include <cfloat>
#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

namespace {

enum class MaskForm { All, Causal, Other };

/// Whether position t sees exactly the positions that a constant mask of
/// booleans, or of zeros and minus infinity, shows.
MaskForm recogniseMask(const HostTensor &mask) {
  int64_t rank = mask.getRank();
  if (rank < 2)
    return MaskForm::Other;
  bool seesAll = true,
       isCausal = mask.getShape()[rank - 2] == mask.getShape()[rank - 1];
  Shape distinct(mask.getShape());
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (mask.getStrides()[dim] == 0)
      distinct[dim] = 1;
  HostTensor::forEachIndex(distinct, [&](ArrayRef<int64_t> index) {
    double value = mask.getReal(index);
    bool sees = mask.isFloat() ? value == 0 : value != 0;
    bool hides = mask.isFloat() ? value == -INFINITY || value == -FLT_MAX ||
                                      value == -DBL_MAX
                                : value == 0;
    seesAll &= sees;
    isCausal &= index[rank - 1] <= index[rank - 2] ? sees : hides;
  });
  return seesAll    ? MaskForm::All
         : isCausal ? MaskForm::Causal
                    : MaskForm::Other;
}

/// The probabilities of plain attention under a mask; rows that see nothing are
/// zero, and have no gradient.
Value maskedSoftmax(OpCall &call, Emitter &emit, Value scores,
                    const Tensor &mask) {
  Dtype type = Emitter::typeOf(scores);
  Value hidden = emit.number(type, -INFINITY), shown;
  if (mask.type == Dtype::boolean) {
    shown = emit.value(mask);
    scores = emit.select(shown, scores, hidden);
  } else {
    scores = emit.add(scores, emit.operand(call, "attn_mask", type));
    shown = emit.compare(ComparePredicate::Gt, scores, hidden);
  }
  Value probabilities = emit.make<SoftmaxOp>(scores);
  return emit.select(shown, probabilities, emit.number(type, 0));
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
  q = withFourDims(emit, q);
  k = withFourDims(emit, k);
  v = withFourDims(emit, v);
  int64_t heads = Emitter::shapeOf(q)[1];
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
  k = repeatHeads(emit, k, heads);
  v = repeatHeads(emit, v, heads);
  int64_t positions = Emitter::shapeOf(q)[2], keys = Emitter::shapeOf(k)[2];
  double scale =
      call.number("scale", 1 / std::sqrt(double(Emitter::shapeOf(q)[3])));
  MaskForm form = isCausal ? MaskForm::Causal : MaskForm::All;
  if (mask && mask->constant) {
    if (!fits(call, mask->shape, mask->shape))
      return {};
    form = recogniseMask(*mask->constant);
  } else if (mask) {
    form = MaskForm::Other;
  }
  Tensor ownMask;
  bool isPlain = form == MaskForm::Other || dropout > 0 ||
                 (form == MaskForm::Causal && positions != keys);
  if (!isPlain) {
    FloatAttr factor = call.has("scale")
                           ? emit.getBuilder().getF64FloatAttr(scale)
                           : FloatAttr();
    Value out = emit.attention(q, k, v, form == MaskForm::Causal, factor);
    return {emit.reshape(out, call.result().shape)};
  }
  Value scores =
      emit.scale(emit.matmul(q, emit.transpose(k, {0, 1, 3, 2})), scale);
  Value probabilities;
  if (form == MaskForm::Causal) {
    if (!fits(call, {positions, keys}, {positions, keys}))
      return {};
    HostTensor lower(Dtype::boolean, {positions, keys});
    HostTensor::forEachIndex({positions, keys}, [&](ArrayRef<int64_t> index) {
      lower.set(index, {0, index[1] <= index[0]});
    });
    ownMask = {Dtype::boolean, {positions, keys}, lower, {}, -1};
    mask = &ownMask;
  }
  if (form == MaskForm::All)
    probabilities = emit.make<SoftmaxOp>(scores);
  else
    probabilities = maskedSoftmax(call, emit, scores, *mask);
  if (dropout > 0)
    probabilities = emit.dropout(probabilities, dropout);
  return {emit.reshape(emit.matmul(probabilities, v), call.result().shape)};
}

const OpRow rows[] = {
    {"aten.scaled_dot_product_attention.default", buildAttention},
};

} // namespace

ArrayRef<OpRow> pt2::attentionRows() { return rows; }
