//===- ShardingTable.cpp - The shardings of an entry ----------------------===//

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

/// Whether the op is one that the table has an entry for.
static bool hasReads(Operation *op) {
  return isa<IterationSpaceOpInterface, AddGradOp, YieldOp, func::ReturnOp>(op);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getExtents(const IterationSpace &space) {
  return llvm::map_to_vector(space.loops,
                             [](const Loop &loop) { return loop.extent; });
}

void ShardingTable::write(Operation *op) const {
  if (axes.empty())
    return;
  MLIRContext *context = op->getContext();
  auto attrOf = [&](const Sharding &sharding, ArrayRef<int64_t> shape) {
    return writeSharding(context, axes, sharding, shape);
  };
  SmallVector<Attribute> results;
  for (Value result : op->getResults())
    results.push_back(attrOf(of(result), getShape(result)));
  if (!results.empty())
    op->setAttr(kShardingsAttr, ArrayAttr::get(context, results));
  auto found = ops.find(op);
  if (found == ops.end())
    return;
  auto &[loops, reads] = found->second;
  if (auto space = dyn_cast<IterationSpaceOpInterface>(op)) {
    Sharding cuts;
    cuts.dims.assign(loops.begin(), loops.end());
    op->removeAttr(kLoopsAttr);
    if (cuts.getCutAxes())
      op->setAttr(kLoopsAttr,
                  attrOf(cuts, getExtents(space.getIterationSpace())));
  }
  SmallVector<Attribute> attrs;
  bool isRead = false;
  for (auto [operand, read] : llvm::zip(op->getOperands(), reads)) {
    isRead |= read != of(operand);
    attrs.push_back(attrOf(read, getShape(operand)));
  }
  op->removeAttr(kReadsAttr);
  if (isRead || isa<AddGradOp, func::ReturnOp>(op))
    op->setAttr(kReadsAttr, ArrayAttr::get(context, attrs));
}

void ShardingTable::write(func::FuncOp entry) const {
  if (axes.empty())
    return;
  for (BlockArgument argument : entry.getArguments())
    entry.setArgAttr(argument.getArgNumber(), kShardingAttr,
                     writeSharding(entry.getContext(), axes, of(argument),
                                   getShape(argument)));
  entry.getBody().walk([&](Operation *op) { write(op); });
}

void pp::eraseShardings(Region &region) {
  region.walk([&](Operation *op) {
    for (StringRef name : {kLoopsAttr, kShardingsAttr, kReadsAttr})
      op->removeAttr(name);
  });
}

static ShardingAttr unlessWhole(Attribute attr) {
  auto sharding = dyn_cast_or_null<ShardingAttr>(attr);
  return sharding && !sharding.isWhole() ? sharding : ShardingAttr();
}

ShardingAttr pp::getShardingAttr(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto entry =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return entry ? unlessWhole(
                       entry.getArgAttr(argument.getArgNumber(), kShardingAttr))
                 : ShardingAttr();
  }
  auto result = cast<OpResult>(value);
  auto attrs = result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
  return attrs ? unlessWhole(attrs[result.getResultNumber()]) : ShardingAttr();
}

ShardingAttr pp::getReadAttr(Operation *op, unsigned operand) {
  auto attrs = op->getAttrOfType<ArrayAttr>(kReadsAttr);
  return attrs ? unlessWhole(attrs[operand])
               : getShardingAttr(op->getOperand(operand));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static FailureOr<Sharding> readOne(const ShardingAxes &axes, Attribute attr,
                                   ArrayRef<int64_t> shape, Operation *op,
                                   const Twine &what) {
  auto sharding = dyn_cast_or_null<ShardingAttr>(attr);
  auto refuse = [&] { return op->emitOpError() << what << " "; };
  if (!sharding)
    return refuse() << "has no sharding; run --pp-propagate-shardings first",
           failure();
  return readSharding(axes, sharding, shape, refuse);
}

LogicalResult ShardingTable::readResults(Operation *op) {
  auto attrs = op->getAttrOfType<ArrayAttr>(kShardingsAttr);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Attribute attr = attrs && i < attrs.size() ? attrs[i] : Attribute();
    FailureOr<Sharding> sharding =
        readOne(axes, attr, getShape(result), op, "result " + Twine(i));
    if (failed(sharding))
      return failure();
    values[result] = std::move(*sharding);
  }
  return success();
}

LogicalResult ShardingTable::read(Operation *op) {
  if (hasReads(op)) {
    OpSharding &sharding = ops[op];
    if (auto interface = dyn_cast<IterationSpaceOpInterface>(op)) {
      SmallVector<int64_t> extents = getExtents(interface.getIterationSpace());
      sharding.loops.resize(extents.size());
      if (Attribute attr = op->getAttr(kLoopsAttr)) {
        FailureOr<Sharding> loops =
            readOne(axes, attr, extents, op, "loop nest");
        if (failed(loops))
          return failure();
        sharding.loops.assign(loops->dims.begin(), loops->dims.end());
      }
    }
    auto attrs = op->getAttrOfType<ArrayAttr>(kReadsAttr);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!attrs || i >= attrs.size()) {
        sharding.reads.push_back(of(operand));
        continue;
      }
      FailureOr<Sharding> read =
          readOne(axes, attrs[i], getShape(operand), op, "operand " + Twine(i));
      if (failed(read))
        return failure();
      sharding.reads.push_back(std::move(*read));
    }
  }
  return success();
}

FailureOr<ShardingTable> ShardingTable::read(func::FuncOp entry,
                                             const ShardingAxes &axes) {
  ShardingTable table(axes);
  if (axes.empty())
    return table;
  for (BlockArgument argument : entry.getArguments()) {
    FailureOr<Sharding> sharding =
        readOne(axes, entry.getArgAttr(argument.getArgNumber(), kShardingAttr),
                getShape(argument), entry,
                "argument " + Twine(argument.getArgNumber()));
    if (failed(sharding))
      return failure();
    table.values[argument] = std::move(*sharding);
  }
  WalkResult result =
      entry.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        return WalkResult(success(succeeded(table.readResults(op)) &&
                                  succeeded(table.read(op))));
      });
  if (result.wasInterrupted())
    return failure();
  return table;
}
