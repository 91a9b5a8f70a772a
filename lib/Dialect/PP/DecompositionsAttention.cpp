//===- DecompositionsAttention.cpp - Attention as products and rows -------===//
//
// Replaced when kernels are formed. Only batch and heads are ever split, so
// that the causal mask's indices are global ones.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::pp;

/// The factor of the scores: by default 1/sqrt(width of a head).
template <typename OpT> static double getScoreScale(OpT op) {
  if (std::optional<APFloat> scale = op.getScale())
    return scale->convertToDouble();
  return 1 / std::sqrt(static_cast<double>(getShape(op.getQ()).back()));
}

/// scale * q kᵀ, in the type of statistics.
template <typename OpT> static Value buildScores(TensorBuilder &b, OpT op) {
  Value products =
      b.make<MatmulOp>(op.getQ(), op.getK(), /*transpose_lhs=*/false,
                       /*transpose_rhs=*/true);
  return b.scale(b.castToStatistics(products), getScoreScale(op));
}

/// `scores` [B, H, T, S], but `outside` where position t does not see s.
static Value maskCausal(TensorBuilder &b, Value scores, double outside) {
  ArrayRef<int64_t> shape = getShape(scores);
  Type i32 = b.builder.getI32Type();
  auto iota = [&](ArrayRef<int64_t> iotaShape) {
    return b.make<IotaOp>(RankedTensorType::get(iotaShape, i32),
                          /*key=*/Value(), /*dim=*/0, /*tile=*/TileAttr());
  };
  Value sees =
      b.compare(ComparePredicate::Ge, iota({shape[2], 1}), iota({shape[3]}));
  return b.select(sees, scores, b.scalar(scores, outside));
}

/// Below every score. Not -inf: LLVM would then leave a masked score out of the
/// maximum by a branch for each element, which it does not vectorise.
static double getLowest(Value scores) {
  return getElementTypeOrSelf(scores).isF64()
             ? std::numeric_limits<double>::lowest()
             : std::numeric_limits<float>::lowest();
}

PP_DECOMPOSE(AttentionOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value scores = buildScores(b, *this);
  if (getCausal())
    scores = maskCausal(b, scores, getLowest(scores));
  Value max = b.rowMax(scores);
  Value exp = b.exp(b.sub(scores, max));
  Value sum = b.rowSum(exp);
  // Rows of the output are divided: they are shorter than rows of scores.
  Value weighted = b.make<MatmulOp>(b.castLike(exp, getV()), getV());
  Value out = b.mul(b.castToStatistics(weighted), b.reciprocal(sum));
  Value lse = b.add(max, b.make<LogOp>(sum));
  return {b.castLike(out, getOut()),
          b.castLike(b.reshape(lse, getShape(getLse())), getLse())};
}

/// With P = exp(scores - lse):
///   dV = Pᵀ dO,  dP = dO Vᵀ,  dS = P (dP - rowsum(dO O)) scale,
///   dQ = dS K,  dK = dSᵀ Q.
PP_DECOMPOSE(AttentionGradOp, Kernel) {
  TensorBuilder b(builder, getLoc());
  Value scores = buildScores(b, *this);
  Value lse = b.castLike(b.addUnitDim(getLse()), scores);
  Value p = b.exp(b.sub(scores, lse));
  if (getCausal())
    p = maskCausal(b, p, 0);
  Value dv = b.make<MatmulOp>(b.castLike(p, getQ()), getDout(),
                              /*transpose_lhs=*/true, false);
  Value dp = b.castToStatistics(
      b.make<MatmulOp>(getDout(), getV(), false, /*transpose_rhs=*/true));
  Value delta = b.rowSum(
      b.mul(b.castToStatistics(getDout()), b.castToStatistics(getOut())));
  Value ds = b.castLike(
      b.scale(b.mul(p, b.sub(dp, delta)), getScoreScale(*this)), getQ());
  Value dq = b.make<MatmulOp>(ds, getK());
  Value dk = b.make<MatmulOp>(ds, getQ(), /*transpose_lhs=*/true, false);
  return {dq, dk, dv};
}
