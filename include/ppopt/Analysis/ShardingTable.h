//===- ShardingTable.h - The shardings of an entry --------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_SHARDINGTABLE_H
#define PPOPT_ANALYSIS_SHARDINGTABLE_H

#include "ppopt/Analysis/Shardings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// How an op is cut.
struct OpSharding {
  /// The cuts of each loop; empty for ops without an iteration space.
  SmallVector<Cuts> loops;
  /// What the op reads each operand as.
  SmallVector<Sharding> reads;
};

/// For every value of an entry how it is cut, and for every op how it cuts its
/// loops and what it reads: what the attributes of docs/sharding.md say.
/// Without axes nothing is cut, no attribute is written, and the table is
/// empty.
class ShardingTable {
public:
  explicit ShardingTable(const ShardingAxes &axes) : axes(axes) {}

  /// Reads the attributes of an entry on global shapes. Emits an error where
  /// one is missing or does not fit its op.
  static FailureOr<ShardingTable> read(func::FuncOp entry,
                                       const ShardingAxes &axes);
  void write(func::FuncOp entry) const;
  /// Writes the attributes of one op.
  void write(Operation *op) const;

  const Sharding &of(Value value) const { return values.find(value)->second; }
  const OpSharding &of(Operation *op) const { return ops.find(op)->second; }

  ShardingAxes axes;
  DenseMap<Value, Sharding> values;
  DenseMap<Operation *, OpSharding> ops;

private:
  LogicalResult read(Operation *op);
  LogicalResult readResults(Operation *op);
};

/// Removes the attributes of the ops in a region.
void eraseShardings(Region &region);

/// What a value is annotated with, or what an op reads an operand as; null if
/// it is the same for all coordinates. Shapes may be local already.
ShardingAttr getShardingAttr(Value value);
ShardingAttr getReadAttr(Operation *op, unsigned operand);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_SHARDINGTABLE_H
