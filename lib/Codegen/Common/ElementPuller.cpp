//===- ElementPuller.cpp - Scalar code of a kernel's values ---------------===//

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

ElementPuller::ElementPuller(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers)
    : builder(builder), kernel(kernel), buffers(buffers) {
  zero = constant(0);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value ElementPuller::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, getLoc(), value);
}

Value ElementPuller::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(getLoc(), a, b);
}

Value ElementPuller::mul(Value a, int64_t b) {
  return b == 1 ? a
                : builder.createOrFold<arith::MulIOp>(getLoc(), a, constant(b));
}

SmallVector<Value> ElementPuller::delinearize(Value number,
                                              ArrayRef<int64_t> sizes) {
  SmallVector<Value> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = number;
      break;
    }
    Value size = constant(sizes[i]);
    index[i] = arith::RemUIOp::create(builder, getLoc(), number, size);
    number = arith::DivUIOp::create(builder, getLoc(), number, size);
  }
  return index;
}

void ElementPuller::setPosition(const Position &next, Operation *newSweep) {
  position = next;
  sweep = newSweep;
  indices.clear();
  indices.push_back({position.sizes, position.index});
  ArrayRef<int64_t> rowSizes = ArrayRef(position.sizes).drop_back();
  if (!position.sizes.empty())
    indices.push_back(
        {SmallVector<int64_t>(rowSizes),
         SmallVector<Value>(ArrayRef(position.index).drop_back())});
}

void ElementPuller::movePosition(const Position &next, Operation *newSweep) {
  setPosition(next, newSweep);
  for (auto &[value, entries] : known)
    if (getNumElements(value) == position.space.getNumElements())
      llvm::erase_if(entries, [](const Entry &entry) { return entry.isHere; });
}

/// Returns the current position as an index of a tensor of this shape; nothing
/// if the tensor is neither full nor of row level.
std::optional<SmallVector<Value>>
ElementPuller::getIndex(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes = dropUnitDims(shape);
  auto *it = llvm::find_if(
      indices, [&](const auto &entry) { return entry.first == sizes; });
  if (it == indices.end()) {
    int64_t count = ShapedType::getNumElements(sizes);
    Space space = position.space;
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> index;
    if (count == space.getNumElements() && !sizes.empty() &&
        (sizes.back() == space.columns || space.rows == 1)) {
      if (sizes.back() == space.columns) {
        // The index of a row is one set of values for all readers: known
        // elements are looked up by it.
        SmallVector<int64_t> rowSizes(ArrayRef(sizes).drop_back());
        auto *row = llvm::find_if(indices, [&](const auto &entry) {
          return entry.first == rowSizes;
        });
        if (row != indices.end()) {
          index = row->second;
        } else {
          if (sweep)
            builder.setInsertionPoint(sweep);
          index = delinearize(position.row, rowSizes);
          indices.push_back({rowSizes, index});
        }
        index.push_back(position.column());
      } else if (!isVisible(position.column())) {
        // The tensor has as many elements as the row by chance: code before the
        // sweep reads it elsewhere.
        return std::nullopt;
      } else {
        // A flat range: the code is dead unless an op uses the index.
        index = delinearize(position.column(), sizes);
      }
    } else if (count == space.rows) {
      if (sweep)
        builder.setInsertionPoint(sweep);
      index = delinearize(position.row, sizes);
    } else if (count != 1) {
      return std::nullopt;
    }
    indices.push_back({sizes, index});
    it = std::prev(indices.end());
  }
  SmallVector<Value> index(shape.size(), zero);
  for (auto [i, dim] : llvm::enumerate(getNonUnitDims(shape)))
    index[dim] = it->second[i];
  return index;
}

Value ElementPuller::locate(ArrayRef<int64_t> shape, Pitch pitch,
                            ArrayRef<Value> index) {
  SmallVector<Value> terms;
  for (auto [size, stride, i] :
       llvm::zip(shape, getStrides(shape, pitch), index))
    if (size != 1)
      terms.push_back(mul(i, stride));
  Value at = zero;
  for (Value term : terms)
    at = at == zero ? term : add(at, term);
  return at;
}

Value ElementPuller::locateHere(ArrayRef<int64_t> shape, Pitch pitch) {
  int64_t count = ShapedType::getNumElements(shape);
  bool isFull = count == position.space.getNumElements();
  if (pitch && isFull && getColumnCount(shape) == position.space.columns)
    return add(mul(position.row, *pitch), position.column());
  if (pitch)
    return locate(shape, pitch, *getIndex(shape));
  if (isFull && position.element)
    return position.element;
  if (isFull)
    return position.rowStart ? add(position.rowStart, position.column())
                             : position.column();
  return count == 1 ? zero : position.row;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value ElementPuller::getResultBuffer(unsigned result) {
  return buffers[kernel.getNumArguments() + result];
}

Value ElementPuller::address(Value buffer, Type element, Value at) {
  Value number =
      arith::IndexCastOp::create(builder, getLoc(), builder.getI64Type(), at);
  return LLVM::GEPOp::create(builder, getLoc(), buffer.getType(), element,
                             buffer, ArrayRef<LLVM::GEPArg>{number},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value ElementPuller::load(Value buffer, Type element, Value at) {
  // An i1 is stored as a byte.
  bool isBool = element.isInteger(1);
  Type inMemory = isBool ? builder.getI8Type() : element;
  Value value = LLVM::LoadOp::create(builder, getLoc(), inMemory,
                                     address(buffer, inMemory, at));
  if (isBool)
    return arith::TruncIOp::create(builder, getLoc(), element, value);
  Type compute = getStatisticsType(element);
  if (compute != element)
    return arith::ExtFOp::create(builder, getLoc(), compute, value);
  return value;
}

void ElementPuller::store(Value element, Value buffer, Type type, Value at) {
  if (type.isInteger(1)) {
    type = builder.getI8Type();
    element = arith::ExtUIOp::create(builder, getLoc(), type, element);
  } else if (element.getType() != type) {
    element = arith::TruncFOp::create(builder, getLoc(), type, element);
  }
  LLVM::StoreOp::create(builder, getLoc(), element, address(buffer, type, at));
}

void ElementPuller::storeOrAdd(Value element, Value at) {
  Value result = kernel.getFormOp()->getResult(0), buffer = getResultBuffer(0);
  Type type = getElementTypeOrSelf(result);
  if (!result.use_empty() && isa<AccumulateOp>(*result.user_begin()))
    element = arith::AddFOp::create(builder, getLoc(), load(buffer, type, at),
                                    element);
  store(element, buffer, type, at);
}

Value ElementPuller::loadAt(unsigned buffer, Value tensor,
                            ArrayRef<Value> index, bool isHere) {
  ArrayRef<int64_t> shape = getShape(tensor);
  Pitch pitch = kernel.getPitch(buffer);
  Value at = isHere ? locateHere(shape, pitch) : locate(shape, pitch, index);
  return load(buffers[buffer], getElementTypeOrSelf(tensor), at);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Returns whether the code emitted next may use `element`: its block is the
/// current one or encloses it.
bool ElementPuller::isVisible(Value element) {
  Block *block = element.getParentBlock();
  for (Block *b = builder.getInsertionBlock(); b;
       b = b->getParentOp() ? b->getParentOp()->getBlock() : nullptr)
    if (b == block)
      return true;
  return false;
}

Value ElementPuller::lookup(Value value, ArrayRef<Value> index, bool isHere) {
  for (const Entry &entry : known[value]) {
    bool isSame =
        isHere == entry.isHere && (isHere || ArrayRef(entry.index) == index);
    if (isSame && isVisible(entry.element))
      return entry.element;
  }
  return Value();
}

void ElementPuller::setElement(Value value, Value element) {
  Value rounded =
      roundToType(value.getLoc(), element, getElementTypeOrSelf(value));
  known[value].push_back({/*isHere=*/true, {}, rounded});
}

void ElementPuller::setStored(Value value, unsigned result) {
  stored[value] = result;
}

Value ElementPuller::pull(Value value) {
  return pullAt(value, *getIndex(getShape(value)));
}

SmallVector<PendingStore>
ElementPuller::pullResults(ArrayRef<unsigned> results) {
  Operation *ret = kernel.getBody().front().getTerminator();
  SmallVector<PendingStore> stores;
  for (unsigned result : results) {
    Value value = ret->getOperand(result);
    Pitch pitch = kernel.getPitch(kernel.getNumArguments() + result);
    stores.push_back({pull(value), getResultBuffer(result),
                      getElementTypeOrSelf(value),
                      locateHere(getShape(value), pitch)});
  }
  return stores;
}

void ElementPuller::store(ArrayRef<PendingStore> stores) {
  for (const PendingStore &each : stores)
    store(each.element, each.buffer, each.type, each.at);
}

void ElementPuller::storeResults() {
  storeResults(llvm::to_vector(llvm::seq<unsigned>(kernel.getNumResults())));
}

Value ElementPuller::pullAt(Value value, ArrayRef<Value> where) {
  // An index of a dimension of size 1 is 0, whichever value says so.
  SmallVector<Value> index(where);
  for (auto [dim, size] : llvm::enumerate(getShape(value)))
    if (size == 1)
      index[dim] = zero;
  std::optional<SmallVector<Value>> here = getIndex(getShape(value));
  bool isHere = here.has_value();
  if (isHere)
    for (unsigned dim : getNonUnitDims(getShape(value)))
      isHere &= (*here)[dim] == index[dim];
  if (isHere)
    index = *here;
  if (Value element = lookup(value, index, isHere))
    return element;

  OpBuilder::InsertionGuard guard(builder);
  int64_t count = getNumElements(value);
  bool isOfRow = isHere && count != position.space.getNumElements();
  if (sweep && isOfRow)
    builder.setInsertionPoint(sweep);
  Value element = emit(value, index, isHere);
  known[value].push_back({isHere, std::move(index), element});
  return element;
}

Value ElementPuller::emit(Value value, ArrayRef<Value> index, bool isHere) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loadAt(argument.getArgNumber(), value, index, isHere);
  if (auto it = stored.find(value); it != stored.end() && isHere)
    return loadAt(kernel.getNumArguments() + it->second, value, index, isHere);
  Operation *op = value.getDefiningOp();
  if (isReshape(op) && isHere)
    // The same element under another shape.
    if (auto source = getIndex(getShape(op->getOperand(0))))
      return pullAt(op->getOperand(0), *source);
  Type type = getElementTypeOrSelf(value);
  SmallVector<Value, 4> rounded;
  Value scalar = cast<ElementOpInterface>(op).emitElement(
      builder, index, [&](unsigned operand, ValueRange at) {
        Value from = op->getOperand(operand);
        Value element = pullAt(from, SmallVector<Value>(at));
        if (getElementTypeOrSelf(from) == type)
          rounded.push_back(element);
        return element;
      });
  // What an op passes on has been rounded, unless the op casts it.
  if (!scalar || llvm::is_contained(rounded, scalar))
    return scalar;
  return roundToType(op->getLoc(), scalar, type);
}

/// Rounds at once, not only on stores: results must not depend on which ops are
/// fused into a kernel.
Value ElementPuller::roundToType(Location loc, Value scalar, Type type) {
  auto compute = dyn_cast<FloatType>(scalar.getType());
  auto stored = dyn_cast<FloatType>(type);
  if (!compute || !stored || stored.getWidth() >= compute.getWidth())
    return scalar;
  Value rounded = arith::TruncFOp::create(builder, loc, stored, scalar);
  return arith::ExtFOp::create(builder, loc, compute, rounded);
}

//===----------------------------------------------------------------------===//
// Reductions, loops
//===----------------------------------------------------------------------===//

Value pp::getInitialValue(OpBuilder &builder, ReduceOp op) {
  Type type = getStatisticsType(getElementTypeOrSelf(op.getX()));
  TypedAttr value = builder.getZeroAttr(type);
  if (op.getKind() == ReduceKind::Max) {
    if (auto floating = dyn_cast<FloatType>(type))
      value = builder.getFloatAttr(
          type,
          APFloat::getInf(floating.getFloatSemantics(), /*Negative=*/true));
    else
      value = builder.getIntegerAttr(
          type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
  }
  return arith::ConstantOp::create(builder, op.getLoc(), value);
}

Value pp::combine(OpBuilder &builder, ReduceOp op, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  Location loc = op.getLoc();
  if (op.getKind() == ReduceKind::Max)
    return isFloat ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                 : arith::AddIOp::create(builder, loc, a, b).getResult();
}

Value pp::combineTree(OpBuilder &builder, ReduceOp op, ArrayRef<Value> values) {
  if (values.size() == 1)
    return values.front();
  size_t half = values.size() / 2;
  return combine(builder, op, combineTree(builder, op, values.take_front(half)),
                 combineTree(builder, op, values.drop_front(half)));
}

void pp::emitLoop(OpBuilder &builder, Location loc, Value begin, Value end,
                  llvm::function_ref<void(scf::ForOp, Value)> body) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, begin, end, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop, loop.getInductionVar());
}
