//===- AxisParts.cpp - Computing parts of ops along one axis --------------===//

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

/// Returns the size of a dimension that runs over `dimLoops`.
static int64_t getSize(const IterationSpace &space,
                       ArrayRef<unsigned> dimLoops) {
  int64_t size = 1;
  for (unsigned loop : dimLoops)
    size *= space.loops[loop].extent;
  return size;
}

std::optional<unsigned>
IterationAxis::findLoop(const IterationSpace &space,
                        ArrayRef<unsigned> dimLoops) const {
  assert(iterations > 1 && "there is nothing to cut");
  int64_t size = getSize(space, dimLoops);
  if (size % iterations != 0)
    return std::nullopt;
  std::optional<LoopCut> cut =
      projectToLoop(space, dimLoops, iterations, /*period=*/size);
  return cut ? std::optional(cut->loop) : std::nullopt;
}

FailureOr<AxisDim> CutOp::findDim(const TensorLoops &tensor) const {
  constexpr unsigned axis = 0; // the only one
  SmallVector<Cuts> loops(space.loops.size());
  loops[loop] = {{axis, /*period=*/space.loops[loop].extent}};
  auto found = projectToTensor(space, tensor, loops).findCut(axis);
  if (!found)
    return AxisDim();
  auto [dim, cut] = *found;
  if (cut.period != getSize(space, tensor[dim]))
    return failure();
  return AxisDim(dim);
}

int64_t IterationAxis::getUnit(Value value, unsigned dim) const {
  return getShape(value)[dim] / iterations;
}

RankedTensorType IterationAxis::getPartType(Value value, AxisDim dim,
                                            int64_t count) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (!dim)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = count * getUnit(value, *dim);
  return type.clone(shape);
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

bool pp::isTable(Operation *op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  return constant && !isa<SplatElementsAttr>(constant.getValue());
}

Localization IterationAxis::localize(const CutOp &cut, StringAttr name,
                                     int64_t at) const {
  Localization localization(cut.op);
  localization.loops[cut.loop].push_back(
      {name, at, /*parts=*/iterations,
       /*period=*/cut.space.loops[cut.loop].extent});
  return localization;
}

bool IterationAxis::dependsOnPosition(const CutOp &cut) const {
  auto getAttrs = [&](const Localization &localization) {
    Operation *copy = cut.op->clone();
    cast<IterationSpaceOpInterface>(copy).localize(localization);
    DictionaryAttr attrs = copy->getAttrDictionary();
    copy->destroy();
    return attrs;
  };
  auto name = StringAttr::get(cut.op->getContext(), "part");
  return getAttrs(Localization(cut.op)) !=
         getAttrs(localize(cut, name, indexOf(KeyElement::Microbatch)));
}

std::optional<CutOp> IterationAxis::findComputation(Value value,
                                                    unsigned dim) const {
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1 || isa<ParamOp>(op) || isTable(op))
    return std::nullopt;
  IterationSpace space = op.getIterationSpace();
  std::optional<unsigned> loop = findLoop(space, space.results[0][dim]);
  if (!loop || space.loops[*loop].kind != LoopKind::Parallel)
    return std::nullopt;
  return CutOp{op, std::move(space), *loop};
}

LogicalResult IterationAxis::verifyPart(const CutOp &cut, Operation *part,
                                        int64_t count) const {
  auto refuse = [&] {
    return part->emitOpError("is not what it computes for ")
           << count << " of its rows: ";
  };
  bool isParallel = cut.getKind() == LoopKind::Parallel;
  if (!isParallel && cut.getKind() != LoopKind::Sum)
    return refuse() << "each result needs all of them";
  auto check = [&](Value was, Value is, const TensorLoops &loops,
                   bool isResult) -> LogicalResult {
    FailureOr<AxisDim> dim = cut.findDim(loops);
    if (failed(dim))
      return refuse() << "they are scattered in " << was.getType();
    if (isResult && dim->has_value() != isParallel)
      return refuse() << "results are "
                      << (isParallel ? "the same for each"
                                     : "rows and sums over them");
    if (is.getType() != getPartType(was, *dim, count))
      return refuse() << is.getType() << " stands for these rows of "
                      << was.getType();
    return success();
  };
  for (auto [was, is, loops] : llvm::zip(
           cut.op->getOperands(), part->getOperands(), cut.space.operands))
    if (failed(check(was, is, loops, /*isResult=*/false)))
      return failure();
  for (auto [was, is, loops] :
       llvm::zip(cut.op->getResults(), part->getResults(), cut.space.results))
    if (failed(check(was, is, loops, /*isResult=*/true)))
      return failure();
  return verify(part);
}

/// Gives the tile of a result (of a mask of rows, of iota) the size of a part
/// along a dimension that no axis of the mesh cuts. Tiles of tables stay.
static void resizeTile(Operation *part, RankedTensorType was, int64_t dim,
                       int64_t size) {
  auto tile = part->getAttrOfType<TileAttr>("tile");
  if (!tile || tile.getShape().size() != size_t(was.getRank()) ||
      !tile.getCuts(dim).empty())
    return;
  SmallVector<int64_t> shape(tile.getShape());
  for (auto [number, whole] : llvm::enumerate(shape)) {
    int64_t local = whole;
    for (TileCutAttr cut : tile.getCuts())
      if (cut.getDim() == int64_t(number))
        local /= cut.getParts();
    if (local != was.getDimSize(number))
      return;
  }
  shape[dim] = size;
  part->setAttr("tile",
                TileAttr::get(part->getContext(), tile.getCuts(), shape));
}

FailureOr<Operation *> IterationAxis::clonePart(OpBuilder &builder,
                                                const CutOp &cut,
                                                ValueRange operands,
                                                int64_t count) const {
  Operation *part = builder.clone(*cut.op);
  part->setOperands(operands);
  for (auto [was, is, loops] :
       llvm::zip(cut.op->getResults(), part->getResults(), cut.space.results)) {
    FailureOr<AxisDim> dim = cut.findDim(loops);
    if (failed(dim))
      continue;
    is.setType(getPartType(was, *dim, count));
    if (*dim)
      resizeTile(part, cast<RankedTensorType>(was.getType()), **dim,
                 getShape(is)[**dim]);
  }
  if (auto constant = dyn_cast<ConstantOp>(part))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(constant.getType()));
  if (failed(verifyPart(cut, part, count)))
    return part->erase(), failure();
  return part;
}
