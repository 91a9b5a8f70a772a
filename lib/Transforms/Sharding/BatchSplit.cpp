//===- BatchSplit.cpp - How values follow the split of the batch ----------===//

#include "ppopt/Transforms/Sharding/BatchSplit.h"

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
