//===- BatchSplit.cpp - How values follow the split of the batch ----------===//

#include "ppopt/Transforms/Sharding/BatchSplit.h"

#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::pp;

IterationSpace pp::getBatchSpace(IterationSpaceOpInterface op) {
  IterationSpace space = op.getIterationSpace();
  auto join = [&](TensorLoops &tensor) {
    for (DimLoops &loops : tensor) {
      if (loops.empty() || space.loops[loops.back()].kind != LoopKind::Permute)
        continue;
      unsigned permuted = loops.pop_back_val();
      space.loops[loops.front()].extent *= space.loops[permuted].extent;
    }
  };
  llvm::for_each(space.operands, join);
  llvm::for_each(space.results, join);
  return space;
}

std::optional<BatchLoop> pp::getBatchLoop(const IterationSpace &space,
                                          const TensorLoops &tensor,
                                          BatchState state, int64_t batch) {
  // The dimension's loops are major to minor. The cut is on the first loop that
  // has more than one iteration; each of its iterations stands for `minor`
  // elements.
  ArrayRef<unsigned> loops = tensor[state.dim];
  int64_t minor = 1;
  for (unsigned loop : loops)
    minor *= space.loops[loop].extent;
  for (unsigned loop : loops) {
    int64_t extent = space.loops[loop].extent;
    minor /= extent;
    if (extent == 1 && loop != loops.back())
      continue;
    if (state.unit % minor != 0 || extent != batch * (state.unit / minor))
      return std::nullopt;
    return BatchLoop{loop, state.unit / minor};
  }
  return std::nullopt;
}

std::optional<BatchState> pp::getStateFor(const IterationSpace &space,
                                          const TensorLoops &tensor,
                                          BatchLoop cut) {
  for (auto [dim, loops] : llvm::enumerate(tensor)) {
    const auto *found = llvm::find(loops, cut.loop);
    if (found == loops.end())
      continue;
    for (const auto *it = loops.begin(); it != found; ++it)
      if (space.loops[*it].extent != 1)
        return std::nullopt;
    int64_t minor = 1;
    for (const auto *it = found + 1; it != loops.end(); ++it)
      minor *= space.loops[*it].extent;
    return BatchState::split(dim, cut.unit * minor);
  }
  return BatchState{};
}

std::optional<IterationComputation>
pp::findIterationComputation(Value value, BatchState state, int64_t extent) {
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1 || isa<ParamOp>(op))
    return std::nullopt;
  IterationSpace space = getBatchSpace(op);
  std::optional<BatchLoop> cut =
      getBatchLoop(space, space.results[0], state, extent);
  if (!cut || space.loops[cut->loop].kind != LoopKind::Parallel)
    return std::nullopt;
  return IterationComputation{op, std::move(space), *cut};
}

bool pp::dependsOnPosition(IterationSpaceOpInterface op, BatchLoop cut) {
  if (op.needsRandomKey())
    return true;
  Localization localization(op);
  localization.loops[cut.loop].push_back(
      {StringAttr::get(op.getContext(), "part"),
       indexOf(KeyElement::Coordinates), /*parts=*/2,
       localization.space.loops[cut.loop].extent});
  Operation *part = op->clone();
  cast<IterationSpaceOpInterface>(part).localize(localization);
  bool isChanged = part->getAttrDictionary() != op->getAttrDictionary();
  part->destroy();
  return isChanged;
}

LogicalResult pp::verifyPart(IterationSpaceOpInterface whole, Operation *part,
                             BatchLoop cut, int64_t rows) {
  IterationSpace space = getBatchSpace(whole);
  LoopKind kind = space.loops[cut.loop].kind;
  auto refuse = [&] {
    return part->emitOpError("is not what it computes for ")
           << rows << " of its rows: ";
  };
  if (kind != LoopKind::Parallel && kind != LoopKind::Sum)
    return refuse() << "each result needs all of them";
  auto check = [&](Value was, Value is, const TensorLoops &loops,
                   bool isResult) -> LogicalResult {
    std::optional<BatchState> state = getStateFor(space, loops, cut);
    if (!state)
      return refuse() << "they are scattered in " << was.getType();
    bool isSplit = state->kind == BatchState::Split;
    if (isResult && isSplit != (kind == LoopKind::Parallel))
      return refuse() << "results are "
                      << (isSplit ? "rows and sums over them"
                                  : "the same for each");
    SmallVector<int64_t> shape(getShape(was));
    if (isSplit)
      shape[state->dim] = rows * state->unit;
    if (getShape(is) != ArrayRef<int64_t>(shape))
      return refuse() << is.getType() << " stands for these rows of "
                      << was.getType();
    return success();
  };
  for (auto [was, is, loops] :
       llvm::zip(whole->getOperands(), part->getOperands(), space.operands))
    if (failed(check(was, is, loops, /*isResult=*/false)))
      return failure();
  for (auto [was, is, loops] :
       llvm::zip(whole->getResults(), part->getResults(), space.results))
    if (failed(check(was, is, loops, /*isResult=*/true)))
      return failure();
  return verify(part);
}
