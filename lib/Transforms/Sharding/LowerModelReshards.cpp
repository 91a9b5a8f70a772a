//===- LowerModelReshards.cpp - Reshards that become collectives ----------===//
//
// Before: local shapes, and reshards over axes of the model. After: none. A
// partial sum that is read complete is an all-reduce over the ranks along its
// axes; a whole value that is read as a partial sum is divided by their number.
//
//   %1 = pp.reshard %0 from <[{}, {}], sum = {tp}> to <[{}, {}]> of [8, 4] …
//   %1 = pp.all_reduce %0 over <["tp"]> "matmul at m.mlir:7:8"         // after
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERMODELRESHARDS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Sizes of an axis that an error proposes.
constexpr int64_t kMostParts = 64;

/// The two sides of a reshard.
struct Sides {
  Sharding from, to;

  bool cutsAlike() const { return from.dims == to.dims; }
  AxisSet getCompleted() const { return from.sums & ~to.sums; }
  AxisSet getShared() const { return to.sums & ~from.sums; }
};

class ReshardLowering {
public:
  ReshardLowering(func::FuncOp entry, const ShardingAxes &axes)
      : entry(entry), axes(axes) {}

  LogicalResult run();

private:
  FailureOr<Value> lower(ReshardOp op);
  Value reduce(ReshardOp op, AxisSet over);
  LogicalResult refuse(ReshardOp op, const Sides &sides);
  std::string listSizes(Operation *reader, unsigned operand, unsigned dim,
                        Cut cut) const;

  func::FuncOp entry;
  const ShardingAxes &axes;
};

} // namespace

/// Returns what a rank must do with a value: the row of the table of reshards.
static StringRef nameStep(const Sides &sides) {
  AxisSet from = sides.from.getCutAxes(), to = sides.to.getCutAxes();
  if (sides.from.maxima & ~sides.to.maxima)
    return "a maximum over ranks";
  if (sides.from.sums & to)
    return "a reduce-scatter";
  if (from & to)
    return "an all-to-all";
  return from & ~to ? "an all-gather" : "a slice";
}

/// Returns "tp=2, 3 or 6": sizes that cut a dimension of the reader along one
/// loop. Empty if there is none.
std::string ReshardLowering::listSizes(Operation *reader, unsigned operand,
                                       unsigned dim, Cut cut) const {
  auto op = dyn_cast<IterationSpaceOpInterface>(reader);
  if (!op)
    return "";
  IterationSpace space = op.getIterationSpace();
  SmallVector<std::string> sizes;
  for (int64_t parts = 2; parts <= std::min(kMostParts, cut.period); ++parts)
    if (cut.period % parts == 0 &&
        projectToLoop(space, space.operands[operand][dim], parts, cut.period))
      sizes.push_back(std::to_string(parts));
  if (sizes.empty())
    return "";
  std::string last = sizes.pop_back_val();
  return (axes[cut.axis].name.getValue() + "=" +
          (sizes.empty() ? "" : llvm::join(sizes, ", ") + " or ") + last)
      .str();
}

/// Says which value an op reads in another way than it is cut, and which sizes
/// of the axis the op could be cut over.
LogicalResult ReshardLowering::refuse(ReshardOp op, const Sides &sides) {
  if (op->use_empty())
    return op.emitOpError("is read by nobody");
  OpOperand &use = *op->use_begin();
  Operation *reader = use.getOwner();
  InFlightDiagnostic diag =
      isa<CopyOp, BatchSumOp>(reader) // of no model
          ? reader->emitError("what is sent or summed of this is needed")
          : reader->emitOpError("reads operand ") << use.getOperandNumber();
  diag << " as " << op.getTo() << ", but it is " << op.getFrom()
       << ": this needs " << nameStep(sides)
       << ", and tasks have all-reduces only";
  AxisSet changed = sides.from.getCutAxes() & ~sides.to.getCutAxes();
  std::string hint;
  for (auto [dim, cuts] : llvm::enumerate(sides.from.dims))
    for (Cut cut : cuts)
      if (hint.empty() && contains(changed, cut.axis))
        hint = listSizes(reader, use.getOperandNumber(), dim, cut);
  diag << (hint.empty() ? std::string("; annotate parameters (shard) so that "
                                      "their readers are cut alike")
                        : "; " + hint + " would cut it");
  diag.attachNote(op.getLoc()) << "it is made here";
  return failure();
}

/// Adds up what the ranks have.
Value ReshardLowering::reduce(ReshardOp op, AxisSet over) {
  OpBuilder builder(op);
  auto group = GroupAttr::get(op.getContext(), axes.getNames(over), {});
  Operation *maker = op.getX().getDefiningOp();
  return AllReduceOp::create(
      builder, op.getLoc(), op.getX().getType(), op.getX(), group,
      maker ? describeSource(maker) : "input at " + spellSource(op.getLoc()));
}

FailureOr<Value> ReshardLowering::lower(ReshardOp op) {
  auto read = readSides(op, axes);
  if (failed(read))
    return failure();
  Sides sides{read->first, read->second};
  AxisSet completed = sides.getCompleted(), shared = sides.getShared();
  bool isOfSums = sides.cutsAlike() && sides.from.maxima == sides.to.maxima;
  if (!isOfSums || (completed && shared) || !(completed | shared))
    return refuse(op, sides);
  OpBuilder builder(op);
  Value result = completed ? reduce(op, completed)
                           : createShare(builder, op.getLoc(), op.getX(),
                                         axes.countParts(shared));
  result.getDefiningOp()->setAttr(kShardingsAttr, op->getAttr(kShardingsAttr));
  return result;
}

LogicalResult ReshardLowering::run() {
  SmallVector<ReshardOp> reshards;
  entry.walk([&](ReshardOp op) { reshards.push_back(op); });
  for (ReshardOp op : reshards) {
    FailureOr<Value> value = lower(op);
    if (failed(value))
      return failure();
    op.getResult().replaceAllUsesWith(*value);
    op.erase();
  }
  return success();
}

namespace {

struct LowerModelReshards
    : pp::impl::LowerModelReshardsBase<LowerModelReshards> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    ShardingAxes axes = ShardingAxes::of(*plan);
    if (failed(ReshardLowering(*entry, axes).run()))
      signalPassFailure();
  }
};

} // namespace
