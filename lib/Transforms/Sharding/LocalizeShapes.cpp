//===- LocalizeShapes.cpp - Gives values the shapes that a rank has -------===//
//
// Before: global shapes, shardings, reshards. After: the shapes of one
// coordinate. Ops that depend on the global index have the position of their
// tile, and offsets are local.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOCALIZESHAPES
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {

/// For each input, the ranges of the ids in its parts.
using InputRanges = DenseMap<BlockArgument, llvm::SetVector<Attribute>>;

} // namespace

/// Adds the range of a part if the runtime can check it: one that includes all
/// rows of the batch.
static bool addRange(InputRanges &ranges, Operation *op, BlockArgument input,
                     const ElementBox &box, IndexRange range) {
  ArrayRef<int64_t> shape = getShape(input);
  if (shape.empty() || box.begin[0] != 0 || box.end[0] != shape[0])
    return false;
  Builder builder(op->getContext());
  auto rest = [&](ArrayRef<int64_t> index) {
    return builder.getDenseI64ArrayAttr(index.drop_front());
  };
  ranges[input].insert(IdRangeAttr::get(op->getContext(), rest(box.begin),
                                        rest(box.end), range.end,
                                        range.ignoreIndex, describeSource(op)));
  return true;
}

/// Declares the inputs with their global shapes, before the shapes become
/// local. A program that predicts has those that its outputs need.
static LogicalResult declareInputs(func::FuncOp entry) {
  InputRanges ranges;
  auto add = [&](Operation *op, BlockArgument input, const ElementBox &box,
                 IndexRange range) {
    return addRange(ranges, op, input, box, range);
  };
  if (failed(markComputedIds(entry, add)))
    return failure();
  if (hasOutputs(entry) &&
      llvm::all_of(entry.getArguments(),
                   [](BlockArgument argument) { return argument.use_empty(); }))
    return entry.emitError("its outputs depend on no input, so that there are "
                           "no rows to predict");
  OpBuilder builder(entry);
  for (BlockArgument argument : entry.getArguments()) {
    if (argument.use_empty() && hasOutputs(entry))
      continue;
    unsigned i = argument.getArgNumber();
    auto shift = entry.getArgAttrOfType<IntegerAttr>(i, kShiftAttr);
    auto decl = InputDeclOp::create(
        builder, argument.getLoc(),
        entry.getArgAttrOfType<StringAttr>(i, kInputAttr),
        TypeAttr::get(argument.getType()),
        builder.getI64IntegerAttr(shift ? shift.getInt() : 0),
        builder.getArrayAttr(ranges[argument].getArrayRef()));
    if (ShardingAttr sharding = getShardingAttr(argument))
      decl->setAttr(kShardingAttr, sharding);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void pp::setLocalTypes(
    func::FuncOp entry, const ShardingTable &table,
    llvm::function_ref<int64_t(int64_t, ArrayRef<Cut>)> sizeOf) {
  auto localize = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [size, cuts] : llvm::zip(shape, table.of(value).dims))
      size = sizeOf(size, cuts);
    value.setType(type.clone(shape));
  };
  for (BlockArgument argument : entry.getArguments())
    localize(argument);
  entry.getBody().walk([&](Operation *op) {
    for (Value result : op->getResults())
      localize(result);
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        constant.setValueAttr(splat.resizeSplat(constant.getType()));
  });
  entry.setFunctionType(FunctionType::get(
      entry.getContext(), entry.getBody().getArgumentTypes(),
      entry.getBody().front().getTerminator()->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {

/// Tells the ops of an entry how they are cut, and gives them the random key.
class OpLocalizer {
public:
  OpLocalizer(func::FuncOp entry, const ShardingTable &table)
      : entry(entry), table(table) {}

  void run();

private:
  void localize();
  Localization getLocalization(Operation *op) const;

  func::FuncOp entry;
  const ShardingTable &table;
};

} // namespace

Localization OpLocalizer::getLocalization(Operation *op) const {
  Localization local(op);
  for (auto [to, from] : llvm::zip(local.loops, table.of(op).loops))
    for (Cut cut : from) {
      const ShardingAxis &axis = table.axes[cut.axis];
      if (axis.isLocal)
        continue;
      to.push_back({axis.name, axis.at, axis.parts, cut.period});
    }
  return local;
}

Value pp::getOrAddRandomKey(func::FuncOp entry) {
  Builder builder(entry.getContext());
  auto role = RoleAttr::get(entry.getContext(), RoleKind::StepState, "key");
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttr(argument.getArgNumber(), kRoleAttr) == role)
      return argument;
  (void)entry.insertArgument(
      entry.getNumArguments(), getKeyType(entry.getContext()),
      builder.getDictionaryAttr(builder.getNamedAttr(kRoleAttr, role)),
      entry.getLoc());
  return entry.getArguments().back();
}

void OpLocalizer::localize() {
  SmallVector<std::pair<IterationSpaceOpInterface, Localization>, 0> ops;
  entry.getBody().walk<WalkOrder::PreOrder>([&](IterationSpaceOpInterface op) {
    ops.emplace_back(op, getLocalization(op));
  });
  setLocalTypes(entry, table, [&](int64_t size, ArrayRef<Cut> cuts) {
    for (Cut cut : cuts)
      if (!table.axes[cut.axis].isLocal)
        size /= table.axes[cut.axis].parts;
    return size;
  });
  for (auto &[op, local] : ops)
    op.localize(local);
}

void OpLocalizer::run() {
  if (!table.axes.empty())
    localize();
  // A rank has one microbatch at a time.
  entry.getBody().walk([&](Operation *op) {
    if (!isa<EnterMicrobatchOp, LeaveMicrobatchOp>(op))
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  });
  entry.getBody().walk([&](IterationSpaceOpInterface op) {
    if (op.needsRandomKey())
      op->insertOperands(op->getNumOperands(), getOrAddRandomKey(entry));
  });
}

void pp::localizeShapes(func::FuncOp entry, const ShardingTable &table) {
  OpLocalizer(entry, table).run();
}

/// Removes the axis of rows from all shardings in the entry: from here on only
/// what ranks and microbatches have matters.
static void forgetRows(func::FuncOp entry, const ShardingAxes &axes) {
  if (axes.size() == 1) {
    for (BlockArgument argument : entry.getArguments())
      entry.removeArgAttr(argument.getArgNumber(), kShardingAttr);
    return eraseShardings(entry.getBody());
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](ShardingAttr sharding) { return sharding.without(kRowAxis); });
  replacer.recursivelyReplaceElementsIn(entry);
}

namespace {

struct LocalizeShapes : pp::impl::LocalizeShapesBase<LocalizeShapes> {
  void runOnOperation() override {
    FailureOr<ShardedEntry> sharded = readShardedEntry(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    if (sharded->table.axes.hasLocal())
      forgetRows(sharded->entry, sharded->table.axes);
    if (failed(declareInputs(sharded->entry)))
      return signalPassFailure();
    localizeShapes(sharded->entry, sharded->table);
  }
};

} // namespace
