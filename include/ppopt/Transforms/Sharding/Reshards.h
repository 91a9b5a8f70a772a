//===- Reshards.h - Reshards as steps of passes -----------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_RESHARDS_H
#define PPOPT_TRANSFORMS_SHARDING_RESHARDS_H

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// Returns the cuts of the loops of the op that makes a value if it computes
/// what a sharding with batch axes alone says. Returns nothing if a cut loop is
/// not parallel, or if the value is a parameter, a table, one of several
/// results or at the boundary of a microbatch.
std::optional<SmallVector<Cuts>>
findPartLoops(Value value, const Sharding &rows, const ShardingAxes &axes);

/// Returns whether ranks split the batch, and what they have together at one
/// time is the same rows under every mesh: all rows, or those of a microbatch,
/// whose cut is then the outermost.
bool canRowsMeet(const ShardingAxes &axes);

/// Returns the dimension of the rows that enter or leave a microbatch, if the
/// op is of these and has one.
std::optional<unsigned> getMicrobatchDim(Operation *op);

/// Changes what the loops of an op make of its result where that enters a
/// microbatch, and is no sum over them, or leaves one, and is.
void crossMicrobatches(Operation *op, const ShardingAxes &axes,
                       Sharding &result);

/// Returns whether the prologue can complete a sum of this type over inputs:
/// accumulators are floats.
bool isPrologueSum(Value sum);

/// Decomposes the composites along whose rows an axis cuts. Returns how the
/// propagation cuts the values then, where it had to run to see that none is
/// left.
FailureOr<std::optional<ShardingTable>>
decomposeSharded(func::FuncOp entry, const ShardingAxes &axes);

/// Puts a pp.reshard wherever an operand is not as its op reads it.
void insertReshards(func::FuncOp entry, ShardingTable &table);

/// Makes a pp.reshard of `value` and its entry in the table.
ReshardOp createReshard(OpBuilder &builder, Value value, Sharding to,
                        int64_t bytes, ShardingTable &table);

/// Returns how the operand and the result of a reshard are cut, as it says.
/// Emits an error if that is no sharding of the mesh.
FailureOr<std::pair<Sharding, Sharding>> readSides(ReshardOp op,
                                                   const ShardingAxes &axes);

/// Makes the part of a whole value that each of `count` ranks or microbatches
/// adds: its product with a constant, the second operand.
Value createShare(OpBuilder &builder, Location loc, Value whole, int64_t count);

/// Returns the random key: an argument of the entry, which has it from the
/// first op on that needs it.
Value getOrAddRandomKey(func::FuncOp entry);

/// Replaces the reshards over batch axes. With `evaluatesRows`, what counts
/// once in a sum over the batch counts once in an evaluation of many batches.
void lowerReshards(func::FuncOp entry, ShardingTable &table,
                   bool evaluatesRows);

/// Gives every value its local type. `sizeOf` returns the local size of a
/// dimension.
void setLocalTypes(
    func::FuncOp entry, const ShardingTable &table,
    llvm::function_ref<int64_t(int64_t size, ArrayRef<Cut> cuts)> sizeOf);

/// Gives values the shapes that one coordinate has, and ops what depends on it.
void localizeShapes(func::FuncOp entry, const ShardingTable &table);

/// Replaces the reshards that are left by collectives. Returns whether bf16
/// values are summed in f32, as `sumsInF32` says.
FailureOr<bool> lowerModelReshards(func::FuncOp entry, const ShardingAxes &axes,
                                   bool sumsInF32);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_RESHARDS_H
