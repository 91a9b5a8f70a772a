//===- BuildEmbeddings.cpp - Rows of tables, and bags of them -------------===//

#include "BuildIndexed.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

static void refuseScaleByFrequency(OpCall &call) {
  if (call.flag("scale_grad_by_freq", false))
    call.fail("scales gradients by the frequency of ids, which ppopt does not; "
              "use scale_grad_by_freq=False");
}

/// The condition under which ids are `padding`, as [ids…, 1].
static Value isPadding(Emitter &emit, Value ids, int64_t padding) {
  Shape column(Emitter::shapeOf(ids));
  column.push_back(1);
  return emit.compare(ComparePredicate::Eq, emit.reshape(ids, column),
                      emit.number(Emitter::typeOf(ids), double(padding)));
}

/// Rows of a table. The one at `padding_idx` has no gradient.
static Results buildEmbedding(OpCall &call, Emitter &emit) {
  const Tensor &weight = call.tensor("weight"), &ids = call.tensor("indices");
  int64_t padding = call.integer("padding_idx", -1);
  refuseScaleByFrequency(call);
  call.flag("sparse", false); // how PyTorch stores the same gradient
  if (weight.getRank() != 2)
    call.fail("has a table of " + Twine(weight.getRank()) + " dimensions");
  if (call.failed())
    return {};
  Value table = emit.value(weight);
  Index index{ids.shape, ids.constant, ids.value};
  if (ids.constant)
    index = readIndex(call, emit, ids, weight.shape[0]);
  if (call.failed())
    return {};
  Value rows = gatherDim(emit, table, 0, index);
  if (padding < 0)
    return {rows};
  Value isPad = isPadding(emit, emit.value(ids), padding);
  return {emit.select(isPad, emit.make<DetachOp>(rows), rows)};
}

/// The size of all bags, whose offsets are its multiples; 0 if they are not.
static int64_t bagSize(const HostTensor &offsets, int64_t ids,
                       bool hasLastOffset) {
  int64_t bags = offsets.getElements() - hasLastOffset;
  if (offsets.getRank() != 1 || bags < 1 || ids % bags != 0)
    return 0;
  int64_t size = ids / bags;
  for (int64_t bag = 0; bag < offsets.getElements(); ++bag)
    if (offsets.getInteger({bag}) != bag * size)
      return 0;
  return size;
}

/// embedding_bag with bags of one size; its other results are not made.
static Results buildEmbeddingBag(OpCall &call, Emitter &emit) {
  const Tensor &weight = call.tensor("weight"), &all = call.tensor("indices"),
               &offsets = call.tensor("offsets");
  int64_t mode = call.integer("mode", 0);
  int64_t padding = call.integer("padding_idx", -1);
  bool hasLastOffset = call.flag("include_last_offset", false);
  refuseScaleByFrequency(call);
  call.flag("sparse", false); // how PyTorch stores the same gradient
  if (weight.getRank() != 2 || all.getRank() != 1)
    call.fail("takes a table of two dimensions and ids of one");
  int64_t size =
      offsets.constant
          ? bagSize(*offsets.constant, all.shape.empty() ? 0 : all.shape[0],
                    hasLastOffset)
          : 0;
  if (size == 0)
    call.fail("has bags whose offsets are computed or which differ in size; "
              "give ids as [bags, ids of a bag], padded with padding_idx");
  if (mode < 0 || mode > 2 || (mode != 0 && call.has("per_sample_weights")))
    call.fail("has the mode " + Twine(mode) +
              ", which is none or takes no per_sample_weights");
  if (padding >= 0 && mode == 2)
    call.fail("takes a maximum with a padding_idx; use mode='sum' or 'mean'");
  if (call.failed())
    return {};
  int64_t bags = all.shape[0] / size;
  Value ids = emit.reshape(emit.value(all), {bags, size});
  Value rows = emit.make<EmbeddingOp>(emit.value(weight), ids, /*key=*/Value(),
                                      /*tile=*/TileAttr());
  Dtype type = weight.type;
  if (call.has("per_sample_weights"))
    rows = emit.mul(rows,
                    emit.reshape(emit.operand(call, "per_sample_weights", type),
                                 {bags, size, 1}));
  Results results(call.getResults());
  Value isPad;
  if (padding >= 0) {
    isPad = isPadding(emit, ids, padding);
    rows = emit.select(isPad, emit.number(type, 0), rows);
  }
  if (mode == 2) {
    // One of equal elements has the whole gradient.
    Value index = firstExtreme(emit, rows, 1, /*isMin=*/false);
    results[0] = pickAt(emit, rows, index, 1, /*keepDims=*/false,
                        /*isInRange=*/true);
    return results;
  }
  bool isMean = mode == 1;
  results[0] =
      emit.reduce(isMean && !isPad ? ReduceKind::Mean : ReduceKind::Sum, rows,
                  {1}, /*keepDims=*/false);
  if (isMean && isPad) {
    Value counts =
        emit.select(isPad, emit.number(type, 0), emit.number(type, 1));
    Value count = emit.reduce(ReduceKind::Sum, counts, {1}, false);
    results[0] =
        emit.div(results[0], emit.make<MaximumOp>(count, emit.number(type, 1)));
  }
  return results;
}

ArrayRef<OpRow> pt2::embeddingRows() {
  static constexpr StringRef kFrequency = "scale_grad_by_freq";
  static constexpr StringRef kBags =
      "bags of different sizes, computed offsets, maxima with a padding_idx, "
      "scale_grad_by_freq; reads of other results";
  static const OpRow rows[] = {
      {"aten.embedding.default", &buildEmbedding, kFrequency},
      {"aten.embedding_bag.default", &buildEmbeddingBag, kBags},
      {"aten.embedding_bag.padding_idx", &buildEmbeddingBag, kBags},
      {"aten._embedding_bag.default", &buildEmbeddingBag, kBags},
      {"aten._embedding_bag_forward_only.default", &buildEmbeddingBag, kBags},
  };
  return rows;
}
