//===- ViewFolding.cpp - Views as strides of matmuls ----------------------===//

#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

bool pp::isReshape(Operation *op) {
  auto view = dyn_cast_or_null<ViewOpInterface>(op);
  return view && view.keepsOrder();
}

Value pp::skipReshapes(Value value) {
  while (isReshape(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool pp::usesStrides(Operation &op) {
  auto formOp = dyn_cast<KernelFormOpInterface>(op);
  return formOp && formOp.usesStrides();
}

/// Returns the layout of a value that has dense memory of its own.
static Layout getDenseLayout(Value value) {
  ArrayRef<int64_t> shape = getShape(value);
  return {value, llvm::to_vector(shape), computeStrides(shape), 0};
}

std::optional<int64_t> pp::getContiguousOffset(ViewOpInterface view) {
  std::optional<Layout> layout =
      view.getResultLayout(getDenseLayout(view->getOperand(0)));
  if (!layout)
    return std::nullopt;
  SmallVector<int64_t> dense = computeStrides(layout->sizes);
  for (auto [size, stride, wanted] :
       llvm::zip(layout->sizes, layout->strides, dense))
    if (size != 1 && stride != wanted)
      return std::nullopt;
  return layout->offset;
}

/// Returns whether all dimensions before `dim` are 1.
static bool isLeading(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.take_front(dim),
                      [](int64_t size) { return size == 1; });
}

std::optional<SmallVector<int64_t>> pp::getContiguousOffsets(ConcatOp op) {
  int64_t dim = op.getDim();
  if (!isLeading(getShape(op.getResult()), dim))
    return std::nullopt;
  SmallVector<int64_t> offsets;
  int64_t next = 0;
  for (Value input : op.getInputs()) {
    offsets.push_back(next);
    next += computeProduct(getShape(input));
  }
  return offsets;
}

/// Returns the layout of a value that has memory of its own.
static Layout getLayout(Value value) {
  ArrayRef<int64_t> shape = getShape(value);
  return {value, llvm::to_vector(shape), getStrides(shape, getPitch(value)), 0};
}

std::optional<Layout>
pp::foldViews(Value value, llvm::function_ref<bool(Operation *)> isBase) {
  Operation *op = value.getDefiningOp();
  if (!isView(op) || isBase(op))
    return getLayout(value);
  std::optional<Layout> from = foldViews(op->getOperand(0), isBase);
  if (!from)
    return std::nullopt;
  return cast<ViewOpInterface>(op).getResultLayout(*from);
}

std::optional<Layout>
pp::foldDestination(Value value,
                    llvm::function_ref<bool(Operation *)> isJoined) {
  if (!value.hasOneUse() || !isJoined(*value.user_begin()))
    return getLayout(value);
  Operation *op = *value.user_begin();
  std::optional<Layout> to = foldDestination(op->getResult(0), isJoined);
  if (!to)
    return std::nullopt;
  if (auto view = dyn_cast<ViewOpInterface>(op))
    return view.getOperandLayout(*to);
  auto concat = cast<ConcatOp>(op);
  for (Value input : concat.getInputs()) {
    if (input == value)
      break;
    to->offset +=
        getShape(input)[concat.getDim()] * to->strides[concat.getDim()];
  }
  to->sizes = llvm::to_vector(getShape(value));
  return to;
}

std::optional<FoldedCall>
pp::foldCall(LibraryCallOpInterface op,
             llvm::function_ref<bool(Operation *)> isBase, bool accumulates,
             Value &failed) {
  FoldedCall folded;
  for (Value operand : op->getOperands()) {
    std::optional<Layout> layout = foldViews(operand, isBase);
    if (!layout) {
      failed = operand;
      return std::nullopt;
    }
    folded.operands.push_back(std::move(*layout));
  }
  Value result = op->getResult(0);
  std::optional<::ppopt::MatmulDescriptor> call = op.describeCall(
      folded.operands, getStrides(getShape(result), getPitch(result)),
      accumulates);
  if (!call) {
    // One of them is not contiguous.
    for (Value operand : op->getOperands()) {
      failed = operand;
      Operation *def = operand.getDefiningOp();
      if (isView(def) && !isBase(def))
        break;
    }
    return std::nullopt;
  }
  folded.call = *call;
  return folded;
}

bool pp::canAccumulate(LibraryCallOpInterface op, Type element,
                       const Target &target) {
  return target.checkMatmul(op.describeAccumulation(element)).empty();
}

AccumulateOp pp::getAccumulation(LibraryCallOpInterface op,
                                 const Target &target) {
  Operation *last = op;
  while (last->hasOneUse()) {
    Operation *user = *last->user_begin();
    if (auto accumulate = dyn_cast<AccumulateOp>(user)) {
      bool isFused =
          accumulate.getValue() == last->getResult(0) &&
          canAccumulate(op, getElementTypeOrSelf(accumulate.getResult()),
                        target);
      return isFused ? accumulate : nullptr;
    }
    if (!isReshape(user) && !isWideningCast(user))
      return nullptr;
    last = user;
  }
  return nullptr;
}
