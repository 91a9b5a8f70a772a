//===- ReshardSteps.cpp - A reshard as steps over single axes -------------===//

#include "ReshardSteps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class StepFinder {
public:
  StepFinder(const ShardingAxes &axes, Sharding from, const Sharding &to,
             ArrayRef<int64_t> shape)
      : axes(axes), now(std::move(from)), to(to), shape(shape) {}

  /// Takes the next step of `now`; nothing if there is none.
  std::optional<ReshardStep> take();
  const Sharding &getSharding() const { return now; }

private:
  std::optional<ReshardStep> takeOver(AxisSet set, ReshardStep::Kind kind);
  bool cut(ReshardStep &step);
  void assemble(ReshardStep &step, unsigned dim, Cut cut);
  CutDim see(unsigned dim, Cut cut) const;
  AxisSet findAxes(ReshardStep::Kind kind) const;

  const ShardingAxes &axes;
  Sharding now;
  const Sharding &to;
  ArrayRef<int64_t> shape;
};

} // namespace

/// Returns the axes over which a step of a kind is due.
AxisSet StepFinder::findAxes(ReshardStep::Kind kind) const {
  AxisSet cutBefore = now.getCutAxes(), cutAfter = to.getCutAxes();
  switch (kind) {
  case ReshardStep::Slice:
    return cutAfter & ~now.getAxes();
  case ReshardStep::ReduceScatter:
    return cutAfter & now.sums;
  case ReshardStep::AllToAll: {
    AxisSet moved = cutBefore & cutAfter;
    for (unsigned axis = 0; axis < axes.size(); ++axis)
      if (now.findCut(axis) == to.findCut(axis))
        moved &= ~onlyAxis(axis);
    return moved;
  }
  case ReshardStep::AllReduce:
    return now.sums & ~to.sums & ~cutAfter;
  case ReshardStep::AllReduceMax:
    return now.maxima & ~to.maxima & ~to.sums;
  case ReshardStep::AllGather:
    return cutBefore & ~(cutAfter | to.maxima);
  case ReshardStep::Share:
    return to.sums & ~now.getAxes();
  }
  llvm_unreachable("unknown kind of step");
}

/// Returns how a cut, which is none of `now`, lies in the local dimension.
CutDim StepFinder::see(unsigned dim, Cut cut) const {
  int64_t size = shape[dim], period = cut.period;
  for (Cut other : now.dims[dim]) {
    if (axes[other.axis].isLocal)
      continue;
    size /= axes[other.axis].parts;
    if (other.period < cut.period)
      period /= axes[other.axis].parts;
  }
  int64_t parts = axes[cut.axis].parts;
  return {dim, size / period, parts, period / parts};
}

/// Cuts `now` over the step's axis as the result is cut. Returns false if the
/// digits of an index would overlap.
bool StepFinder::cut(ReshardStep &step) {
  auto [dim, cut] = *to.findCut(llvm::countr_zero(step.axes));
  step.cut = see(dim, cut);
  return addCut(now.dims[dim], cut, shape[dim], axes);
}

/// Removes a cut that the value had before the step.
void StepFinder::assemble(ReshardStep &step, unsigned dim, Cut cut) {
  Cuts &cuts = now.dims[dim];
  cuts.erase(llvm::find(cuts, cut));
  step.assembled = see(dim, cut);
}

std::optional<ReshardStep> StepFinder::takeOver(AxisSet set,
                                                ReshardStep::Kind kind) {
  ReshardStep step{kind, set, {}, {}};
  switch (kind) {
  case ReshardStep::Slice:
  case ReshardStep::ReduceScatter:
    if (!cut(step))
      return std::nullopt;
    now.sums &= ~set;
    return step;
  case ReshardStep::AllToAll: {
    auto [dim, before] = *now.findCut(llvm::countr_zero(set));
    if (!cut(step))
      return std::nullopt;
    assemble(step, dim, before);
    return step;
  }
  case ReshardStep::AllReduce:
    now.sums &= ~set;
    return step;
  case ReshardStep::AllReduceMax:
    now.maxima &= ~set;
    return step;
  case ReshardStep::AllGather: {
    auto [dim, before] = *now.findCut(llvm::countr_zero(set));
    assemble(step, dim, before);
    return step;
  }
  case ReshardStep::Share:
    now.sums |= set;
    return step;
  }
  llvm_unreachable("unknown kind of step");
}

std::optional<ReshardStep> StepFinder::take() {
  for (auto kind :
       {ReshardStep::Slice, ReshardStep::ReduceScatter, ReshardStep::AllToAll,
        ReshardStep::AllReduce, ReshardStep::AllReduceMax,
        ReshardStep::AllGather, ReshardStep::Share}) {
    AxisSet due = findAxes(kind);
    if (!due)
      continue;
    if (kind == ReshardStep::AllReduce || kind == ReshardStep::AllReduceMax ||
        kind == ReshardStep::Share)
      return takeOver(due, kind);
    for (unsigned axis = 0; axis < axes.size(); ++axis)
      if (contains(due, axis))
        if (auto step = takeOver(onlyAxis(axis), kind))
          return step;
  }
  return std::nullopt;
}

/// Says what keeps a value from becoming another.
static std::string explainStop(const Sharding &now, const Sharding &to) {
  if (to.maxima & ~now.maxima)
    return "no collective makes a partial maximum";
  return "no collective makes these parts of those: they overlap";
}

ReshardSteps pp::findReshardSteps(const ShardingAxes &axes,
                                  const Sharding &from, const Sharding &to,
                                  ArrayRef<int64_t> shape,
                                  int64_t elementBytes) {
  auto countBytes = [&](const Sharding &sharding) {
    return computeProduct(getLocalShape(axes, sharding, shape)) * elementBytes;
  };
  int64_t most = std::max(countBytes(from), countBytes(to));
  ReshardSteps found;
  StepFinder finder(axes, from, to, shape);
  while (finder.getSharding() != to) {
    std::optional<ReshardStep> step = finder.take();
    if (!step) {
      found.refusal = explainStop(finder.getSharding(), to);
      break;
    }
    if (int64_t bytes = countBytes(finder.getSharding()); bytes > most) {
      found.refusal = "on the way a rank would have " + std::to_string(bytes) +
                      " bytes of it, more than before and after";
      break;
    }
    found.steps.push_back(*step);
  }
  return found;
}
