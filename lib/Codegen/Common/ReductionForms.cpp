//===- ReductionForms.cpp - Normalizes reductions and accumulations -------===//

#include "ReductionForms.h"
#include "PlaceSums.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "ppopt/Analysis/Thresholds.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a flat sum of this many elements is split into partial sums.
static bool isLongSum(Operation *op, int64_t elements) {
  return elements >= getThreshold(op, Threshold::LongSum) &&
         elements > getThreshold(op, Threshold::PartialSums);
}

static Value reshape(OpBuilder &builder, Location loc, Value x,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, type.clone(shape), x);
}

static Value reduce(OpBuilder &builder, ReduceOp like, Value x,
                    ArrayRef<int64_t> dims) {
  return ReduceOp::create(builder, like.getLoc(), like.getKind(), x, dims,
                          /*keep_dims=*/false);
}

static Value slice(OpBuilder &builder, Location loc, Value x, int64_t from,
                   int64_t count) {
  auto type = cast<RankedTensorType>(x.getType()).clone({count});
  return SliceOp::create(builder, loc, type, x, ArrayRef<int64_t>{from});
}

namespace {

/// Applies a view to a value, before the ops that compute it element by element
/// for this use alone, so that they stay in the kernel that reads the view.
class ViewMover {
public:
  ViewMover(OpBuilder &builder, ArrayRef<int64_t> shape,
            llvm::function_ref<Value(Value)> view)
      : builder(builder), probe(builder.getContext()), shape(shape),
        view(view) {}

  Value apply(Value x) {
    if (Value known = done.lookup(x))
      return known;
    Operation *op = x.getDefiningOp();
    bool isForThisUse =
        op && llvm::all_of(op->getUsers(), [&](Operation *user) {
          return user == *op->user_begin();
        });
    if (!isForThisUse || !isPointwise(op))
      return done[x] = view(x);
    IRMapping map;
    for (Value operand : op->getOperands())
      if (getShape(operand) == getShape(x))
        map.map(operand, apply(operand));
    Operation *copy = builder.clone(*op, map);
    copy->getResult(0).setType(
        cast<RankedTensorType>(x.getType()).clone(shape));
    return done[x] = copy->getResult(0);
  }

private:
  /// Returns whether elements depend only on elements at the same index, and on
  /// scalars, in any shape: attributes that name dimensions are of one shape,
  /// even if no element moves.
  bool isPointwise(Operation *op) {
    auto element = dyn_cast<ElementOpInterface>(op);
    if (!element || op->getNumOperands() == 0)
      return false;
    bool namesDims =
        isView(op) ||
        llvm::any_of(op->getAttrDictionary(), [](NamedAttribute attr) {
          return isa<DenseI64ArrayAttr>(attr.getValue());
        });
    OpReads reads = probe.probeOperands(element);
    return !reads.usesIndex && llvm::all_of(reads.reads, [&](const Read &read) {
      return getNumElements(read.source) == 1 ||
             (!namesDims && read.access == Access::Identity &&
              getShape(read.source) == getShape(op->getResult(0)));
    });
  }

  OpBuilder &builder;
  AccessProbe probe;
  ArrayRef<int64_t> shape;
  llvm::function_ref<Value(Value)> view;
  DenseMap<Value, Value> done;
};

} // namespace

/// Returns the sum of all elements of a flat x as a scalar.
static Value sumFlat(OpBuilder &builder, ReduceOp like, Value x) {
  int64_t count = getNumElements(x);
  if (!isLongSum(like, count) || like.getKind() != ReduceKind::Sum)
    return reduce(builder, like, x, {0});
  Location loc = like.getLoc();
  int64_t partialSums = getThreshold(like, Threshold::PartialSums);
  // Rows begin where vectors of any type do.
  constexpr int64_t aligned = 64;
  int64_t length = count / partialSums;
  if (length > aligned)
    length -= length % aligned;
  int64_t rest = count - length * partialSums;
  SmallVector<int64_t> parts = {partialSums, length};
  Value body = ViewMover(builder, parts, [&](Value source) {
                 if (rest)
                   source = slice(builder, loc, source, 0, count - rest);
                 return reshape(builder, loc, source, parts);
               }).apply(x);
  Value sum = reduce(builder, like, reduce(builder, like, body, {1}), {0});
  if (!rest)
    return sum;
  Value tail = ViewMover(builder, rest, [&](Value source) {
                 return slice(builder, loc, source, count - rest, rest);
               }).apply(x);
  // A sum over one element has no dimension left to iterate over.
  tail = rest == 1 ? reshape(builder, loc, tail, {})
                   : reduce(builder, like, tail, {0});
  return AddOp::create(builder, loc, sum, tail);
}

/// Reduces `x`, which has no dimension of size 1, over `dims`.
static Value reduceNormalized(OpBuilder &builder, ReduceOp like, Value x,
                              SmallVector<int64_t> dims) {
  SmallVector<int64_t> shape(getShape(x));
  int64_t rank = shape.size();
  if (dims.empty())
    return x;
  if (rank == 1)
    return sumFlat(builder, like, x);
  if (dims.back() != rank - 1)
    return reduce(builder, like, x, dims);
  // The trailing reduced dimensions are one row.
  int64_t first = rank, columns = 1;
  while (!dims.empty() && dims.back() == first - 1) {
    columns *= shape[--first];
    dims.pop_back();
  }
  shape.resize(first);
  if (first == 0)
    // All dimensions: first the rows, then their results.
    return reduceNormalized(builder, like,
                            reduceNormalized(builder, like, x, {rank - 1}),
                            llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)));
  shape.push_back(columns);
  x = reshape(builder, like.getLoc(), x, shape);
  return reduceNormalized(builder, like, reduce(builder, like, x, {first}),
                          dims);
}

void pp::normalizeReductions(TaskOp task) {
  for (auto op :
       llvm::make_early_inc_range(task.getBody().front().getOps<ReduceOp>())) {
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = getShape(op.getX());
    SmallVector<int64_t> dims;
    for (auto [position, dim] : llvm::enumerate(getNonUnitDims(shape)))
      if (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        dims.push_back(position);
    bool keepsColumns =
        dims.empty() ||
        dims.back() + 1 != static_cast<int64_t>(dropUnitDims(shape).size());
    bool isLong = dims.size() == dropUnitDims(shape).size() &&
                  isLongSum(op, getNumElements(op.getX()));
    if (isRowReduction(op) && !isLong)
      continue;
    if (keepsColumns && !dims.empty() && dims.size() == op.getDims().size())
      continue;
    Value x = reshape(builder, op.getLoc(), op.getX(), dropUnitDims(shape));
    Value result = reduceNormalized(builder, op, x, dims);
    op.replaceAllUsesWith(
        reshape(builder, op.getLoc(), result, getShape(op.getResult())));
    op.erase();
  }
}

/// Returns the op before reshapes whose only uses these are.
static Operation *getSoleProducer(Value value) {
  while (isReshape(value.getDefiningOp())) {
    if (!value.hasOneUse())
      return nullptr;
    value = value.getDefiningOp()->getOperand(0);
  }
  Operation *def = value.getDefiningOp();
  return def && def->hasOneUse() ? def : nullptr;
}

/// Returns whether adding `value` to elements of this type needs no temporary,
/// or it is a sum with such a part.
static bool accumulatesItself(Value value, Type element, const Target &target) {
  Operation *def = getSoleProducer(value);
  auto isSelf = [&](Value part) {
    return accumulatesItself(part, element, target);
  };
  if (auto sum = dyn_cast_or_null<AddOp>(def))
    return isSelf(sum.getLhs()) || isSelf(sum.getRhs());
  if (isWideningCast(def))
    return isSelf(def->getOperand(0));
  if (auto call = dyn_cast_or_null<LibraryCallOpInterface>(def))
    return canAccumulate(call, element, target);
  return isa_and_nonnull<KernelFormOpInterface>(def) && !usesStrides(*def);
}

/// Returns whether nothing but a sum over ranks reads a value, or views of it.
static bool isOnlySummed(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (!isView(reader))
      return isa<AllReduceOp, ReduceScatterOp>(reader);
    value = reader->getResult(0);
  }
  return false;
}

void pp::widenSummedMatmuls(TaskOp task, const Target &target) {
  for (auto widening : task.getBody().front().getOps<CastOp>()) {
    auto matmul = widening.getX().getDefiningOp<LibraryCallOpInterface>();
    auto type = cast<RankedTensorType>(widening.getType());
    if (!matmul || !matmul->hasOneUse() || !isWideningCast(widening) ||
        !isOnlySummed(widening) ||
        !canAccumulate(matmul, type.getElementType(), target))
      continue;
    OpBuilder builder(widening->getContext());
    builder.setInsertionPointAfter(widening);
    Location loc = widening.getLoc();
    Value zeros = ZerosOp::create(builder, loc, type);
    auto sum = AccumulateOp::create(builder, loc, zeros, widening);
    widening.getResult().replaceAllUsesExcept(sum, sum);
  }
}

void pp::splitAccumulations(TaskOp task, const Target &target) {
  SmallVector<AccumulateOp> worklist(
      task.getBody().front().getOps<AccumulateOp>());
  while (!worklist.empty()) {
    AccumulateOp op = worklist.pop_back_val();
    // A sum of narrow values is accumulated in the accumulator's type.
    auto widening = op.getValue().getDefiningOp<CastOp>();
    if (!isWideningCast(widening) || !widening->hasOneUse())
      widening = nullptr;
    auto sum =
        (widening ? widening.getX() : op.getValue()).getDefiningOp<AddOp>();
    if (!sum || !sum->hasOneUse() ||
        sum.getLhs().getType() != sum.getRhs().getType())
      continue;
    Type element = getElementTypeOrSelf(op.getResult());
    if (!accumulatesItself(sum.getLhs(), element, target) &&
        !accumulatesItself(sum.getRhs(), element, target))
      continue;
    OpBuilder builder(op);
    // Widened where it is computed: an addition comes after its operands.
    auto widen = [&](Value part) -> Value {
      if (!widening)
        return part;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(part);
      return CastOp::create(builder, sum.getLoc(), widening.getType(), part);
    };
    auto first = AccumulateOp::create(builder, sum.getLoc(),
                                      op.getAccumulator(), widen(sum.getLhs()));
    auto second =
        AccumulateOp::create(builder, op.getLoc(), first, widen(sum.getRhs()));
    op.replaceAllUsesWith(second.getResult());
    op.erase();
    if (widening)
      widening.erase();
    sum.erase();
    worklist.append({first, second});
  }
}

void pp::hoistAccumulations(TaskOp task) {
  // Positions are cached here: a block renumbers its ops after each move. An
  // accumulation's position is that of the op that it follows, and a count.
  Block &body = task.getBody().front();
  DenseMap<Operation *, std::pair<size_t, size_t>> places;
  SmallVector<Operation *> lastAt;
  for (Operation &op : body) {
    places[&op] = {lastAt.size(), 0};
    lastAt.push_back(&op);
  }
  for (auto op : llvm::make_early_inc_range(body.getOps<AccumulateOp>())) {
    std::optional<std::pair<size_t, size_t>> last;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && !findZeros(operand))
        last = std::max(last, std::optional(places.lookup(def)));
    if (!last)
      continue;
    Operation *&previous = lastAt[last->first];
    places[op] = {last->first, places.lookup(previous).second + 1};
    op->moveAfter(previous);
    previous = op;
  }
}

void pp::eraseDeadOps(TaskOp task) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(task.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}
