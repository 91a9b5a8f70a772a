//===- KernelForms.cpp - Forms, sweeps and tiles of kernels ---------------===//

#include "ppopt/Dialect/PP/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

#include "ppopt/Dialect/PP/KernelInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// #pp.form, #pp.tiles
//===----------------------------------------------------------------------===//

LogicalResult FormAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               KernelForm kind, ArrayRef<int64_t> sizes) {
  if (sizes.empty() || llvm::any_of(sizes, [](int64_t n) { return n < 1; }))
    return emitError() << "a space has one size or more, each of at least 1";
  return success();
}

LogicalResult ThreadsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t count, int64_t perRow, int64_t each,
                                  int64_t shared) {
  if (count < 1 || perRow < 1 || each < 1 || shared < 0)
    return emitError() << "has a size below 1";
  if (!llvm::isPowerOf2_64(perRow) || count % perRow != 0)
    return emitError() << perRow
                       << " threads per row must be a power of two that "
                          "divides the "
                       << count << " of a block";
  return success();
}

LogicalResult TilesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t count, int64_t size, TileUnit unit,
                                int64_t block) {
  if (count < 1 || size < 1 || block < 0)
    return emitError() << "there is at least one tile, of at least one of its "
                          "unit";
  return success();
}

//===----------------------------------------------------------------------===//
// Sweeps and lanes
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getNumber(Attribute attr) {
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

static IntegerAttr getNumberAttr(Operation *op, int64_t number) {
  return Builder(op->getContext()).getI64IntegerAttr(number);
}

KernelFormOpInterface KernelOp::getFormOp() {
  auto ops = getBody().getOps<KernelFormOpInterface>();
  return ops.empty() ? KernelFormOpInterface() : *ops.begin();
}

bool KernelOp::isFull(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() ==
         getFormAttr().getNumElements();
}

std::optional<int64_t> KernelOp::getSweep(ReduceOp reduction) {
  return getNumber(reduction->getDiscardableAttr(kSweepAttr));
}

std::optional<int64_t> KernelOp::getSweep(unsigned result) {
  return getNumber(getResultAttr(result, kSweepAttr));
}

void KernelOp::setSweep(ReduceOp reduction, int64_t sweep) {
  reduction->setDiscardableAttr(kSweepAttr, getNumberAttr(*this, sweep));
}

void KernelOp::setSweep(unsigned result, int64_t sweep) {
  setResultAttr(result, kSweepAttr, getNumberAttr(*this, sweep));
}

std::optional<int64_t> KernelOp::getLanes(ReduceOp reduction) {
  return getNumber(reduction->getDiscardableAttr(kLanesAttr));
}

void KernelOp::setLanes(ReduceOp reduction, int64_t lanes) {
  reduction->setDiscardableAttr(kLanesAttr, getNumberAttr(*this, lanes));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

/// Checks a kernel's form against its body, and what is decided by the form.
class FormVerifier {
public:
  explicit FormVerifier(KernelOp kernel)
      : kernel(kernel), form(kernel.getFormAttr()),
        tiles(kernel.getTilesAttr()), body(kernel.getBody().front()) {}

  LogicalResult verify() {
    if (!form)
      return tiles ? kernel.emitOpError("has tiles, but no form") : success();
    if (failed(verifyBody()) || failed(verifySweeps()) ||
        failed(verifyColumns()))
      return failure();
    return tiles ? verifyTiles() : success();
  }

private:
  KernelForm getKind() { return form.getKind(); }
  LogicalResult verifyBody();
  LogicalResult verifyReduction(ReduceOp reduction);
  LogicalResult verifySpace(KernelFormOpInterface op);
  LogicalResult verifySweeps();
  LogicalResult verifyColumns();
  Operation *findLater(Value value, int64_t sweep, DenseSet<Value> &seen);
  LogicalResult verifyTiles();
  std::optional<int64_t> countTiles();

  KernelOp kernel;
  FormAttr form;
  TilesAttr tiles;
  Block &body;
};

} // namespace

/// Returns the form of kernels that an op can be part of, unless all can.
static std::optional<KernelForm> getFormOf(Operation &op) {
  if (auto formOp = dyn_cast<KernelFormOpInterface>(op))
    return formOp.getKernelForm();
  auto reduction = dyn_cast<ReduceOp>(op);
  if (!reduction)
    return std::nullopt;
  ArrayRef<int64_t> shape = getShape(reduction.getX());
  const int64_t *last = llvm::find_if(llvm::reverse(shape), [](int64_t size) {
                          return size != 1;
                        }).base();
  int64_t lastDim = last - shape.begin() - 1;
  return llvm::is_contained(reduction.getDims(), lastDim) ? KernelForm::Rows
                                                          : KernelForm::Columns;
}

LogicalResult FormVerifier::verifySpace(KernelFormOpInterface op) {
  SmallVector<int64_t> sizes = op.getKernelSpace();
  if (ArrayRef(sizes) == form.getSizes())
    return success();
  InFlightDiagnostic diag = op.emitOpError("has a space of [")
                            << ArrayRef(sizes) << "], but that of @"
                            << kernel.getSymName() << " is [" << form.getSizes()
                            << "]";
  return diag;
}

LogicalResult FormVerifier::verifyReduction(ReduceOp reduction) {
  if (!kernel.isFull(reduction.getX()))
    return reduction.emitOpError("takes ")
           << reduction.getX().getType() << ", but the space of @"
           << kernel.getSymName() << " has " << form.getNumElements()
           << " elements";
  if (getKind() != KernelForm::Rows)
    return success();
  int64_t reduced = 1;
  for (int64_t dim : reduction.getDims())
    reduced *= getShape(reduction.getX())[dim];
  if (reduced != form.getColumns())
    return reduction.emitOpError("reduces ")
           << reduced << " elements, but the rows of @" << kernel.getSymName()
           << " have " << form.getColumns();
  return success();
}

LogicalResult FormVerifier::verifyBody() {
  unsigned ofForm = 0;
  for (Operation &op : body) {
    std::optional<KernelForm> kind = getFormOf(op);
    if (!kind)
      continue;
    if (*kind != getKind())
      return op.emitOpError("is of kernels of form ")
             << stringifyKernelForm(*kind) << ", but @" << kernel.getSymName()
             << " is of form " << stringifyKernelForm(getKind());
    ++ofForm;
    if (auto reduction = dyn_cast<ReduceOp>(op)) {
      if (failed(verifyReduction(reduction)))
        return failure();
    } else if (failed(verifySpace(cast<KernelFormOpInterface>(op)))) {
      return failure();
    }
  }
  bool takesMore =
      getKind() == KernelForm::Rows || getKind() == KernelForm::Columns;
  if (getKind() != KernelForm::Rows &&
      (ofForm == 0 || (ofForm > 1 && !takesMore)))
    return kernel.emitOpError("is of form ")
           << stringifyKernelForm(getKind()) << ", but has " << ofForm
           << " ops of that form";
  return success();
}

/// Returns a reduction of sweep `sweep` or later that `value` is computed from.
Operation *FormVerifier::findLater(Value value, int64_t sweep,
                                   DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return nullptr;
  if (auto reduction = dyn_cast<ReduceOp>(op))
    return kernel.getSweep(reduction).value_or(0) >= sweep ? op : nullptr;
  for (Value operand : op->getOperands())
    if (Operation *later = findLater(operand, sweep, seen))
      return later;
  return nullptr;
}

LogicalResult FormVerifier::verifySweeps() {
  if (getKind() != KernelForm::Rows)
    return success();
  for (auto reduction : body.getOps<ReduceOp>()) {
    std::optional<int64_t> sweep = kernel.getSweep(reduction);
    if (!sweep || *sweep < 0)
      return reduction.emitOpError("has no sweep");
    std::optional<int64_t> lanes = kernel.getLanes(reduction);
    if (lanes && (*lanes < 1 || !llvm::isPowerOf2_64(*lanes)))
      return reduction.emitOpError("has ")
             << *lanes << " lanes, which is not a power of two";
  }
  for (auto reduction : body.getOps<ReduceOp>()) {
    DenseSet<Value> seen;
    int64_t sweep = *kernel.getSweep(reduction);
    if (Operation *later = findLater(reduction.getX(), sweep, seen))
      return reduction.emitOpError("is of sweep ")
             << sweep << ", but reads a reduction of sweep "
             << *kernel.getSweep(cast<ReduceOp>(later));
  }
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    std::optional<int64_t> sweep = kernel.getSweep(i);
    if (sweep.has_value() != kernel.isFull(value))
      return kernel.emitOpError("result ")
             << i
             << (sweep
                     ? " has a sweep, but not an element for each of the space"
                     : " has no sweep");
    DenseSet<Value> seen;
    if (Operation *later = sweep ? findLater(value, *sweep, seen) : nullptr)
      return kernel.emitOpError("result ")
             << i << " is of sweep " << *sweep
             << ", but reads a reduction of sweep "
             << *kernel.getSweep(cast<ReduceOp>(later));
  }
  return success();
}

/// Rows are added once, to all sums alike.
LogicalResult FormVerifier::verifyColumns() {
  if (getKind() != KernelForm::Columns)
    return success();
  ReduceOp first = *body.getOps<ReduceOp>().begin();
  for (auto reduction : body.getOps<ReduceOp>()) {
    if (getShape(reduction.getX()) != getShape(first.getX()) ||
        reduction.getDims() != first.getDims())
      return reduction.emitOpError("reduces other rows than the first "
                                   "reduction of @")
             << kernel.getSymName() << ", of form columns";
    DenseSet<Value> seen;
    if (findLater(reduction.getX(), /*sweep=*/0, seen))
      return reduction.emitOpError("reads another reduction of @")
             << kernel.getSymName() << ", of form columns";
  }
  return success();
}

/// Returns how many tiles of this size cover the space; nothing if the form has
/// no such tiles.
std::optional<int64_t> FormVerifier::countTiles() {
  if (KernelFormOpInterface op = kernel.getFormOp())
    return op.countTiles(tiles);
  int64_t size = tiles.getSize(), rows = form.getRows();
  int64_t runs = llvm::divideCeil(form.getColumns(), size);
  bool hasReductions = !body.getOps<ReduceOp>().empty();
  bool isFull = llvm::all_of(body.getTerminator()->getOperands(),
                             [&](Value value) { return kernel.isFull(value); });
  switch (tiles.getUnit()) {
  case TileUnit::Rows:
    if (getKind() != KernelForm::Rows)
      return std::nullopt;
    return llvm::divideCeil(rows, size);
  case TileUnit::Elements:
    if (getKind() != KernelForm::Rows || hasReductions || !isFull)
      return std::nullopt;
    return llvm::divideCeil(form.getNumElements(), size);
  case TileUnit::Columns:
    if (getKind() == KernelForm::Rows && !hasReductions && isFull)
      return rows * runs;
    if (getKind() != KernelForm::Columns)
      return std::nullopt;
    for (auto reduction : body.getOps<ReduceOp>())
      return runs *
             (cast<RankedTensorType>(reduction.getType()).getNumElements() /
              form.getColumns());
    return std::nullopt;
  default:
    return std::nullopt; // of other forms
  }
}

LogicalResult FormVerifier::verifyTiles() {
  std::optional<int64_t> wanted = countTiles();
  if (!wanted)
    return kernel.emitOpError("can't be computed in tiles of ")
           << stringifyTileUnit(tiles.getUnit());
  if (tiles.getCount() != *wanted)
    return kernel.emitOpError("has ")
           << tiles.getCount() << " tiles, but " << *wanted << " of "
           << tiles.getSize() << " " << stringifyTileUnit(tiles.getUnit())
           << " cover its space";
  return success();
}

LogicalResult KernelOp::verifyForm() { return FormVerifier(*this).verify(); }

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// Returns whether computing `value` in a sweep reads the argument: directly,
/// and not what earlier sweeps have reduced or written.
static bool readsInSweep(KernelOp kernel, Value value, int64_t sweep,
                         Value argument, DenseSet<Value> &seen) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || isa<ReduceOp>(op) || !seen.insert(value).second)
    return false;
  for (OpOperand &use :
       kernel.getBody().front().getTerminator()->getOpOperands())
    if (use.get() == value)
      if (auto written = kernel.getSweep(use.getOperandNumber());
          written && *written < sweep)
        return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return readsInSweep(kernel, operand, sweep, argument, seen);
  });
}

LogicalResult pp::verifyInplace(LaunchOp launch, KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<std::pair<Value, int64_t>> computed;
  for (auto reduction : body.getOps<ReduceOp>())
    if (auto sweep = kernel.getSweep(reduction))
      computed.push_back({reduction.getX(), *sweep});
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (auto sweep = kernel.getSweep(i))
      computed.push_back({value, *sweep});
  for (auto [i, input] : llvm::enumerate(launch.getInplace())) {
    std::optional<int64_t> written = kernel.getSweep(i);
    if (input < 0 || !written)
      continue;
    for (auto [value, sweep] : computed) {
      DenseSet<Value> seen;
      if (sweep > *written &&
          readsInSweep(kernel, value, sweep, body.getArgument(input), seen))
        return launch.emitOpError("overwrites argument ")
               << input << " in sweep " << *written << " of @"
               << kernel.getSymName() << ", but sweep " << sweep << " reads it";
    }
  }
  return success();
}
