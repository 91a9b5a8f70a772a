//===- LowerModelReshards.cpp - Reshards that become collectives ----------===//
//
// Before: local shapes, and reshards over axes of the model. After: none, but
// collectives of flat chunks among views (docs/sharding.md has the table).
//
//   %1 = pp.reshard %0 from <[{}, {}], sum = {tp}> to <[{}, {}]> of [8, 4] …
//   %1 = pp.all_reduce %0 over <["tp"]> "matmul at m.mlir:7:8"         // after
//
//   %2 = pp.reshard %0 from <[{tp}, {}]> to <[{}, {}]> of [8, 4] …
//   %flat = pp.reshape %0 : tensor<4x4xf32> to tensor<16xf32>          // after
//   %all = pp.all_gather %flat over <["tp"]> "matmul at m.mlir:7:8" …
//   %2 = pp.reshape %all : tensor<32xf32> to tensor<8x4xf32>
//
//===----------------------------------------------------------------------===//

#include "ReshardSteps.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERMODELRESHARDS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Sizes of an axis that an error proposes.
static constexpr int64_t kMostParts = 64;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns the op that makes the value of which `x` is a part, sent by each
/// rank and now gathered; null if `x` is none (pp-cut-transfers).
static Operation *findCutToSend(Value x) {
  auto throughViews = [](Value value) {
    for (Operation *op = value.getDefiningOp();
         op && op->getNumOperands() > 0 && isFree(op);
         op = value.getDefiningOp())
      value = op->getOperand(0);
    return value;
  };
  if (!x.getDefiningOp<CopyOp>())
    return nullptr;
  x = throughViews(throughCopies(x));
  bool isPart = false;
  while (auto part = x.getDefiningOp<OwnPartOp>()) {
    isPart = true;
    x = throughViews(part.getX());
  }
  return isPart ? x.getDefiningOp() : nullptr;
}

namespace {

/// Builds the steps of one reshard.
class StepBuilder {
public:
  StepBuilder(ReshardOp op, const ShardingAxes &axes, func::FuncOp entry,
              bool sumsInF32)
      : axes(axes), entry(entry), sumsInF32(sumsInF32), builder(op),
        loc(op.getLoc()) {
    Operation *maker = findCutToSend(op.getX());
    if (!maker)
      maker = throughCopies(op.getX()).getDefiningOp();
    what = maker ? describeSource(maker) : "input at " + spellSource(loc);
  }

  Value build(const ReshardStep &step, Value x);

  bool hasWidened = false; ///< whether a bf16 value is summed in f32

private:
  using Shape = SmallVector<int64_t>;

  Value buildInType(const ReshardStep &step, Value x);
  Value convert(Value x, Type element);

  Value reshape(Value x, ArrayRef<int64_t> shape);
  Value flatten(Value x) { return reshape(x, {getElementCount(x)}); }
  Value move(Value x, unsigned from, unsigned to);
  Value pack(Value x, CutDim cut);
  Value unpack(Value flat, Shape shape, CutDim cut);
  Value slice(Value x, const ReshardStep &step);
  Value copyIfShared(Value x);
  template <typename OpT>
  Value communicate(Value x, int64_t elements, AxisSet over);
  static int64_t getElementCount(Value x) {
    return computeProduct(getShape(x));
  }

  const ShardingAxes &axes;
  func::FuncOp entry;
  bool sumsInF32;
  OpBuilder builder;
  Location loc;
  std::string what;
};

} // namespace

/// Returns the dimension that an axis cuts, in a shape in which split() sees
/// it.
static unsigned getCutDim(CutDim cut) { return cut.dim + (cut.outer > 1); }

/// Returns a shape whose dimension is seen as [outer, parts, inner].
static SmallVector<int64_t> split(ArrayRef<int64_t> shape, CutDim cut) {
  SmallVector<int64_t> seen(shape.take_front(cut.dim));
  if (cut.outer > 1)
    seen.push_back(cut.outer);
  llvm::append_values(seen, cut.parts, cut.inner);
  llvm::append_range(seen, shape.drop_front(cut.dim + 1));
  return seen;
}

/// Replaces a reshape of this builder that nobody else reads.
Value StepBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  auto before = x.getDefiningOp<ReshapeOp>();
  if (before && before->use_empty()) {
    x = before.getX();
    before->erase();
  }
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, type.clone(shape), x);
}

/// Moves a dimension among the others. A reshape, if it passes none of more
/// than one element.
Value StepBuilder::move(Value x, unsigned from, unsigned to) {
  SmallVector<int64_t> perm, shape;
  for (unsigned dim = 0, e = getShape(x).size(); dim < e; ++dim)
    if (dim != from)
      perm.push_back(dim);
  perm.insert(perm.begin() + to, from);
  for (int64_t dim : perm)
    shape.push_back(getShape(x)[dim]);
  ArrayRef<int64_t> passed = getShape(x).slice(
      std::min(from, to) + (from < to), from < to ? to - from : from - to);
  if (computeProduct(passed) == 1)
    return reshape(x, shape);
  return TransposeOp::create(builder, loc, x, perm);
}

/// Returns the elements of each rank's part one after the other.
Value StepBuilder::pack(Value x, CutDim cut) {
  x = reshape(x, split(getShape(x), cut));
  return flatten(move(x, getCutDim(cut), 0));
}

/// Assembles a dimension of a value of a shape, which has one part of it, from
/// the parts of all ranks.
Value StepBuilder::unpack(Value flat, Shape shape, CutDim cut) {
  Shape seen = split(shape, cut);
  seen.erase(seen.begin() + getCutDim(cut));
  seen.insert(seen.begin(), cut.parts);
  shape[cut.dim] = cut.outer * cut.parts * cut.inner;
  return reshape(move(reshape(flat, seen), 0, getCutDim(cut)), shape);
}

template <typename OpT>
Value StepBuilder::communicate(Value x, int64_t elements, AxisSet over) {
  auto group = GroupAttr::get(builder.getContext(), axes.getNames(over), {});
  auto type = cast<RankedTensorType>(x.getType());
  if (elements != type.getNumElements())
    type = type.clone({elements});
  return OpT::create(builder, loc, type, x, group, what);
}

Value StepBuilder::slice(Value x, const ReshardStep &step) {
  CutDim cut = *step.cut;
  Shape shape(getShape(x));
  x = reshape(x, split(shape, cut));
  Shape part(getShape(x));
  part[getCutDim(cut)] = 1;
  auto type = cast<RankedTensorType>(x.getType()).clone(part);
  x = OwnPartOp::create(builder, loc, type, x, getOrAddRandomKey(entry),
                        getCutDim(cut), axes[llvm::countr_zero(step.axes)].at);
  shape[cut.dim] = cut.outer * cut.inner;
  return reshape(x, shape);
}

/// A reduce-scatter overwrites what it reads: returns a copy of what others
/// read, too.
Value StepBuilder::copyIfShared(Value x) {
  for (Value base = x; base.use_empty() || base.hasOneUse();
       base = base.getDefiningOp()->getOperand(0)) {
    Operation *op = base.getDefiningOp();
    if (op && !isa<ViewOpInterface>(op))
      return x;
    if (!op)
      break;
  }
  return DetachOp::create(builder, loc, x);
}

Value StepBuilder::convert(Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  return CastOp::create(builder, loc, type.clone(element), x);
}

/// Sums bf16 values in f32 if the plan says so. Truth values are sent as
/// integers, since no collective has their type.
Value StepBuilder::build(const ReshardStep &step, Value x) {
  bool isSum = step.kind == ReshardStep::AllReduce ||
               step.kind == ReshardStep::ReduceScatter;
  Type element = getElementTypeOrSelf(x);
  if (element.isInteger(1) && step.kind != ReshardStep::Slice) {
    Value sent = buildInType(step, convert(x, builder.getI32Type()));
    auto type = RankedTensorType::get({}, builder.getI32Type());
    Value zero = ConstantOp::create(builder, loc, type, 0.0);
    return CompareOp::create(builder, loc, ComparePredicate::Ne, sent, zero);
  }
  if (!sumsInF32 || !isSum || !element.isBF16())
    return buildInType(step, x);
  hasWidened = true;
  return convert(buildInType(step, convert(x, builder.getF32Type())), element);
}

Value StepBuilder::buildInType(const ReshardStep &step, Value x) {
  Shape shape(getShape(x)); // a view erases the reshape that made x
  int64_t elements = getElementCount(x);
  switch (step.kind) {
  case ReshardStep::Slice:
    return slice(x, step);
  case ReshardStep::ReduceScatter: {
    CutDim cut = *step.cut;
    shape[cut.dim] = cut.outer * cut.inner;
    Value packed = pack(copyIfShared(x), cut);
    return reshape(
        communicate<ReduceScatterOp>(packed, computeProduct(shape), step.axes),
        shape);
  }
  case ReshardStep::AllToAll: {
    CutDim cut = *step.cut;
    shape[cut.dim] = cut.outer * cut.inner;
    Value exchanged =
        communicate<AllToAllOp>(pack(x, cut), elements, step.axes);
    return unpack(exchanged, shape, *step.assembled);
  }
  case ReshardStep::AllReduce:
    return communicate<AllReduceOp>(x, elements, step.axes);
  case ReshardStep::AllReduceMax:
    return communicate<AllReduceMaxOp>(x, elements, step.axes);
  case ReshardStep::AllGather:
    return unpack(communicate<AllGatherOp>(
                      flatten(x), elements * step.assembled->parts, step.axes),
                  shape, *step.assembled);
  case ReshardStep::Share:
    return createShare(builder, loc, x, axes.countParts(step.axes));
  }
  llvm_unreachable("unknown kind of step");
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// Returns "tp=2, 3 or 6": sizes that cut a dimension of the reader along one
/// loop. Empty if there is none.
static std::string listSizes(IterationSpaceOpInterface reader, unsigned operand,
                             unsigned dim, Cut cut, StringRef axis) {
  IterationSpace space = reader.getIterationSpace();
  SmallVector<std::string> sizes;
  for (int64_t parts = 2; parts <= std::min(kMostParts, cut.period); ++parts)
    if (cut.period % parts == 0 &&
        projectToLoop(space, space.operands[operand][dim], parts, cut.period))
      sizes.push_back(std::to_string(parts));
  if (sizes.empty())
    return "";
  std::string last = sizes.pop_back_val();
  return (axis + "=" + (sizes.empty() ? "" : llvm::join(sizes, ", ") + " or ") +
          last)
      .str();
}

/// Says which value an op reads in another way than it is cut, and why this is
/// no collective.
static LogicalResult refuse(ReshardOp op, OpOperand &use, const Twine &why) {
  Operation *reader = use.getOwner();
  InFlightDiagnostic diag =
      isa<CopyOp, BatchSumOp>(reader) // of no model
          ? reader->emitError("what is sent or summed of this is needed")
          : reader->emitOpError("reads operand ") << use.getOperandNumber();
  diag << " as " << op.getTo() << ", but it is " << op.getFrom() << ": " << why;
  diag.attachNote(op.getLoc()) << "it is made here";
  return failure();
}

/// Checks that no value is gathered because the axis has a size that does not
/// divide the loops of a reader: six heads over four ranks. Rows that meet are
/// gathered whatever their number, and so is what was cut to be sent.
static LogicalResult checkSizes(ReshardOp op, const Sharding &from,
                                const Sharding &to, const ShardingAxes &axes) {
  if (findCutToSend(op.getX()))
    return success();
  AxisSet gathered = from.getCutAxes() & ~(to.getAxes() | axes.getBatchAxes());
  for (OpOperand &use : op->getUses()) {
    auto reader = dyn_cast<IterationSpaceOpInterface>(use.getOwner());
    if (!reader || isa<CopyOp, BatchSumOp>(*reader))
      continue;
    IterationSpace space = reader.getIterationSpace();
    for (auto [dim, cuts] : llvm::enumerate(from.dims))
      for (Cut cut : cuts) {
        const ShardingAxis &axis = axes[cut.axis];
        unsigned operand = use.getOperandNumber();
        if (!contains(gathered, cut.axis) ||
            projectToLoop(space, space.operands[operand][dim], axis.parts,
                          cut.period))
          continue;
        std::string sizes =
            listSizes(reader, operand, dim, cut, axis.name.getValue());
        if (!sizes.empty())
          return refuse(op, use,
                        axis.name.getValue() + "=" + Twine(axis.parts) +
                            " does not divide what it does along dimension " +
                            Twine(dim) + "; " + sizes + " would cut it");
      }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Sets `hasWidened` where a bf16 value is summed in f32.
static LogicalResult lower(ReshardOp op, const ShardingAxes &axes,
                           func::FuncOp entry, bool sumsInF32,
                           bool &hasWidened) {
  auto sides = readSides(op, axes);
  if (failed(sides))
    return failure();
  if (op->use_empty()) { // its reader has a sum of the prologue instead
    op.erase();
    return success();
  }
  auto &[from, to] = *sides;
  ReshardSteps found =
      findReshardSteps(axes, from, to, op.getShape(),
                       getElementBytes(getElementTypeOrSelf(op.getType())));
  if (!found.refusal.empty())
    return refuse(op, *op->use_begin(),
                  found.refusal + "; annotate parameters (shard) so that their "
                                  "readers are cut alike");
  if (failed(checkSizes(op, from, to, axes)))
    return failure();
  StepBuilder builder(op, axes, entry, sumsInF32);
  Value value = op.getX();
  for (const ReshardStep &step : found.steps)
    value = builder.build(step, value);
  hasWidened |= builder.hasWidened;
  if (value != op.getX())
    value.getDefiningOp()->setAttr(kShardingsAttr, op->getAttr(kShardingsAttr));
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

FailureOr<bool> pp::lowerModelReshards(func::FuncOp entry,
                                       const ShardingAxes &axes,
                                       bool sumsInF32) {
  SmallVector<ReshardOp> reshards;
  entry.walk([&](ReshardOp op) { reshards.push_back(op); });
  bool hasWidened = false;
  for (ReshardOp op : reshards)
    if (failed(lower(op, axes, entry, sumsInF32, hasWidened)))
      return failure();
  return hasWidened;
}

namespace {

struct LowerModelReshards
    : pp::impl::LowerModelReshardsBase<LowerModelReshards> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    bool sumsInF32 = plan->getReshardDtype() == ReshardDtype::f32;
    FailureOr<bool> hasWidened =
        lowerModelReshards(*entry, ShardingAxes::of(*plan), sumsInF32);
    if (failed(hasWidened))
      return signalPassFailure();
    if (!sumsInF32 || *hasWidened)
      return;
    plan->emitError("--reshard-dtype f32: no bf16 value is summed over an axis "
                    "of the model; leave it out");
    signalPassFailure();
  }
};

} // namespace
