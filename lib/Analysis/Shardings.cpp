//===- Shardings.cpp - How tensors are cut over axes ----------------------===//

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Dialect/PP/RandomKey.h"

using namespace mlir;
using namespace mlir::pp;
using namespace ppopt;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

ShardingAxis pp::getRowAxis(MLIRContext *context, int64_t rows) {
  return {StringAttr::get(context, kRowAxis), rows, /*splitsBatch=*/true,
          /*at=*/0, /*isLocal=*/true};
}

ShardingAxes ShardingAxes::of(PlanOp plan) {
  SmallVector<ShardingAxis> axes;
  Builder builder(plan.getContext());
  int64_t at = indexOf(KeyElement::Coordinates);
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>()) {
    geometry::AxisUse use = geometry::useOf(axis.getName());
    if (axis.getSize() > 1 && use != geometry::AxisUse::Places)
      axes.push_back({builder.getStringAttr(axis.getName()), axis.getSize(),
                      use == geometry::AxisUse::Batch, at});
    ++at;
  }
  if (plan.getMicrobatches() > 1)
    axes.insert(plan.getByMicrobatch() ? axes.begin() : axes.end(),
                {builder.getStringAttr(kMicrobatchAxis), plan.getMicrobatches(),
                 /*splitsBatch=*/true, indexOf(KeyElement::Microbatch)});
  bool isSplit = llvm::any_of(
      axes, [](const ShardingAxis &axis) { return axis.splitsBatch; });
  if (plan.getEvaluatesRows() && !isSplit)
    axes.push_back(getRowAxis(plan.getContext(), plan.getBatch()));
  return ShardingAxes(axes);
}

bool ShardingAxes::hasLocal() const {
  return llvm::any_of(axes,
                      [](const ShardingAxis &axis) { return axis.isLocal; });
}

std::optional<unsigned> ShardingAxes::find(StringAttr name) const {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return i;
  return std::nullopt;
}

AxisSet ShardingAxes::getBatchAxes() const {
  AxisSet set = 0;
  for (auto [i, axis] : llvm::enumerate(axes))
    set |= AxisSet(axis.splitsBatch) << i;
  return set;
}

AxisSet ShardingAxes::getRankAxes() const {
  AxisSet set = 0;
  for (auto [i, axis] : llvm::enumerate(axes))
    set |= AxisSet(!axis.isLocal && axis.name != kMicrobatchAxis) << i;
  return set;
}

int64_t ShardingAxes::countParts(AxisSet set) const {
  int64_t parts = 1;
  for (auto [i, axis] : llvm::enumerate(axes))
    if (contains(set, i) && !axis.isLocal)
      parts *= axis.parts;
  return parts;
}

SmallVector<StringAttr> ShardingAxes::getNames(AxisSet set) const {
  SmallVector<StringAttr> names;
  for (auto [i, axis] : llvm::enumerate(axes))
    if (contains(set, i))
      names.push_back(axis.name);
  return names;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

AxisSet Sharding::getCutAxes() const {
  AxisSet set = 0;
  for (const Cuts &cuts : dims)
    for (Cut cut : cuts)
      set |= onlyAxis(cut.axis);
  return set;
}

std::optional<std::pair<unsigned, Cut>> Sharding::findCut(unsigned axis) const {
  for (auto [dim, cuts] : llvm::enumerate(dims))
    for (Cut cut : cuts)
      if (cut.axis == axis)
        return std::pair(unsigned(dim), cut);
  return std::nullopt;
}

Sharding Sharding::onlyCuts(AxisSet axes) const {
  Sharding some(dims.size());
  for (auto [to, from] : llvm::zip(some.dims, dims))
    llvm::copy_if(from, std::back_inserter(to),
                  [&](Cut cut) { return contains(axes, cut.axis); });
  return some;
}

SmallVector<unsigned> pp::findPartialSums(ArrayRef<Sharding> shardings,
                                          unsigned axis) {
  SmallVector<unsigned> partial;
  for (auto [i, sharding] : llvm::enumerate(shardings))
    if (contains(sharding.sums, axis))
      partial.push_back(i);
  return partial;
}

/// Returns where a cut stands in the order of periods.
static Cut *findPlace(Cuts &cuts, Cut cut) {
  return llvm::find_if(cuts,
                       [&](Cut other) { return other.period < cut.period; });
}

bool pp::addCut(Cuts &cuts, Cut cut, int64_t extent, const ShardingAxes &axes) {
  auto strideOf = [&](Cut of) { return of.period / axes[of.axis].parts; };
  if (extent % cut.period != 0 || cut.period % axes[cut.axis].parts != 0)
    return false;
  auto *place = findPlace(cuts, cut);
  if (place != cuts.begin() && strideOf(*std::prev(place)) % cut.period != 0)
    return false;
  if (place != cuts.end() && strideOf(cut) % place->period != 0)
    return false;
  cuts.insert(place, cut);
  return true;
}

void pp::mergeCuts(Cuts &cuts, ArrayRef<Cut> others) {
  for (Cut cut : others)
    cuts.insert(findPlace(cuts, cut), cut);
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

std::optional<LoopCut> pp::projectToLoop(const IterationSpace &space,
                                         ArrayRef<unsigned> dimLoops,
                                         int64_t parts, int64_t period) {
  int64_t minor = 1;
  for (unsigned loop : dimLoops)
    minor *= space.loops[loop].extent;
  for (unsigned loop : dimLoops) {
    int64_t extent = space.loops[loop].extent;
    minor /= extent;
    // The digit [period / parts, period) is one of this loop's.
    if (period % minor == 0 && (period / parts) % minor == 0 &&
        extent % (period / minor) == 0)
      return LoopCut{loop, period / minor};
  }
  return std::nullopt;
}

std::optional<SmallVector<Cuts>> pp::projectToLoops(const IterationSpace &space,
                                                    const TensorLoops &tensor,
                                                    const Sharding &sharding,
                                                    const ShardingAxes &axes) {
  SmallVector<Cuts> loops(space.loops.size());
  for (auto [dimLoops, cuts] : llvm::zip(tensor, sharding.dims))
    for (Cut cut : cuts) {
      std::optional<LoopCut> found =
          projectToLoop(space, dimLoops, axes[cut.axis].parts, cut.period);
      if (!found || !addCut(loops[found->loop], {cut.axis, found->period},
                            space.loops[found->loop].extent, axes))
        return std::nullopt;
    }
  return loops;
}

Sharding pp::projectToTensor(const IterationSpace &space,
                             const TensorLoops &tensor, ArrayRef<Cuts> loops) {
  Sharding sharding(tensor.size());
  for (auto [cuts, dimLoops] : llvm::zip(sharding.dims, tensor))
    cuts = projectToDim<Cuts>(space, dimLoops, loops);
  return sharding;
}

bool pp::runsOver(const TensorLoops &tensor, unsigned loop) {
  return llvm::any_of(tensor, [&](const DimLoops &loops) {
    return llvm::is_contained(loops, loop);
  });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

FailureOr<Sharding>
pp::readSharding(const ShardingAxes &axes, ShardingAttr attr,
                 ArrayRef<int64_t> shape,
                 function_ref<InFlightDiagnostic()> emitError) {
  if (attr.getRank() != static_cast<int64_t>(shape.size()))
    return emitError() << "has a sharding of " << attr.getRank()
                       << " dimensions, but " << shape.size() << " of its own",
           failure();
  Sharding sharding(shape.size());
  // Parts that the axes before have cut the dimension into.
  SmallVector<int64_t> before(shape.size(), 1);
  for (const DimCut &cut : attr.getCuts()) {
    std::optional<unsigned> axis = axes.find(cut.axis);
    if (!axis)
      continue;
    int64_t size = shape[cut.dim], outer = cut.outer * before[cut.dim];
    int64_t parts = axes[*axis].parts;
    if (size % outer != 0 ||
        !addCut(sharding.dims[cut.dim], {*axis, size / outer}, size, axes)) {
      InFlightDiagnostic diag = emitError();
      diag << "has dimension " << cut.dim << " of " << size
           << " elements, which " << cut.axis.getValue() << "=" << parts
           << " does not divide";
      if (outer != 1)
        diag << " in each of " << outer << " parts";
      return diag << "; choose a size that it divides, or cut another "
                     "dimension",
             failure();
    }
    before[cut.dim] *= parts;
  }
  auto readSet = [&](ArrayRef<StringAttr> names) {
    AxisSet set = 0;
    for (StringAttr name : names)
      if (std::optional<unsigned> axis = axes.find(name))
        set |= onlyAxis(*axis);
    return set;
  };
  sharding.sums = readSet(attr.getSums());
  sharding.maxima = readSet(attr.getMaxima());
  return sharding;
}

ShardingAttr pp::writeSharding(MLIRContext *context, const ShardingAxes &axes,
                               const Sharding &sharding,
                               ArrayRef<int64_t> shape) {
  SmallVector<DimCut> cuts;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t before = 1;
    for (Cut cut : sharding.dims[dim]) {
      cuts.push_back({static_cast<int64_t>(dim), size / cut.period / before,
                      axes[cut.axis].name});
      before *= axes[cut.axis].parts;
    }
  }
  return ShardingAttr::get(context, shape.size(), cuts,
                           axes.getNames(sharding.sums),
                           axes.getNames(sharding.maxima));
}

std::string pp::spellSharding(ShardingAttr attr) {
  std::string spelled;
  llvm::raw_string_ostream(spelled) << attr;
  StringRef cuts(spelled);
  cuts.consume_front("#pp.sharding<");
  cuts.consume_back(">");
  return cuts.str();
}

SmallVector<int64_t> pp::getLocalShape(const ShardingAxes &axes,
                                       const Sharding &sharding,
                                       ArrayRef<int64_t> shape) {
  SmallVector<int64_t> local(shape);
  for (auto [size, cuts] : llvm::zip(local, sharding.dims))
    for (Cut cut : cuts)
      size /= axes[cut.axis].parts;
  return local;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

double pp::countReshardBytes(const ShardingAxes &axes, const Sharding &from,
                             const Sharding &to, double bytes) {
  double sent = 0;
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    auto cutBefore = from.findCut(axis), cutAfter = to.findCut(axis);
    bool wasPartial = contains(from.getPartial(), axis);
    bool isPartial = contains(to.getPartial(), axis);
    if (cutBefore == cutAfter && wasPartial == isPartial)
      continue;
    AxisSet others = from.getCutAxes() & ~onlyAxis(axis);
    double parts = static_cast<double>(axes[axis].parts);
    double size = bytes / static_cast<double>(axes.countParts(others));
    double share = (parts - 1) / parts * size;
    if (wasPartial)
      sent += cutAfter ? share : 2 * share;
    else if (cutBefore)
      sent += cutAfter ? share / parts : share;
  }
  return sent;
}
