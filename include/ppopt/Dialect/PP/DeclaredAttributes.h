//===- DeclaredAttributes.h - What attributes an op may have --------------===//
//
// An op declares its own attributes in ODS. Other attributes of ops, arguments
// and results have names with the dialect's prefix and are declared here. Any
// other is an error: a misspelled one would be ignored.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_DECLAREDATTRIBUTES_H
#define PPOPT_DIALECT_PP_DECLAREDATTRIBUTES_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::pp {

//===----------------------------------------------------------------------===//
// Of models
//===----------------------------------------------------------------------===//

/// The name of a model input: an attribute of an entry argument.
inline constexpr llvm::StringLiteral kInputAttr = "pp.input";
/// The number of tokens by which an input starts after the first token of the
/// window.
inline constexpr llvm::StringLiteral kShiftAttr = "pp.shift";
/// The names of results of an entry after its loss: a metric, and what a metric
/// of the same name is divided by.
inline constexpr llvm::StringLiteral kMetricAttr = "pp.metric";
inline constexpr llvm::StringLiteral kMetricCountAttr = "pp.metric_count";
/// The name of a result of an entry that has the batch's rows.
inline constexpr llvm::StringLiteral kOutputAttr = "pp.output";
/// The name of a result of an entry that is what training proposes for a state:
/// compiled from pp.propose.
inline constexpr llvm::StringLiteral kProposalAttr = "pp.proposal";
/// How the author of a model wants an input to be cut.
inline constexpr llvm::StringLiteral kShardAttr = "pp.shard";
/// More names of a parameter in files.
inline constexpr llvm::StringLiteral kAliasesAttr = "pp.aliases";
/// The module attribute that sets thresholds: {kernel-ops = 1 : i64}.
inline constexpr llvm::StringLiteral kThresholdsAttr = "pp.thresholds";
/// The attribute of a module whose device is not the built-in one: the fields
/// of the device's document.
inline constexpr llvm::StringLiteral kDeviceAttr = "pp.device";

//===----------------------------------------------------------------------===//
// Of the compiler
//===----------------------------------------------------------------------===//

/// Where shardings stand in the IR.
inline constexpr llvm::StringLiteral kShardingAttr = "pp.sharding";
inline constexpr llvm::StringLiteral kLoopsAttr = "pp.loops";
inline constexpr llvm::StringLiteral kShardingsAttr = "pp.shardings";
inline constexpr llvm::StringLiteral kReadsAttr = "pp.reads";

/// On an op that indexes by values computed from inputs: its task checks them
/// (docs/faults.md).
inline constexpr llvm::StringLiteral kCheckIdsAttr = "pp.check_ids";

/// The role of an argument or a result of a task, and of the entry that
/// pp-make-generator leaves: the role that it will have in the task.
inline constexpr llvm::StringLiteral kRoleAttr = "pp.role";
/// On inputs of that entry: the values are in [0, range).
inline constexpr llvm::StringLiteral kRangeAttr = "pp.range";
/// On an argument of a prologue that counts targets: a zero skips the step.
inline constexpr llvm::StringLiteral kCountAttr = "pp.count";
/// On an argument of role `check`: the range that its ids must be in.
inline constexpr llvm::StringLiteral kIdRangeAttr = "pp.id_range";
/// On a task: the FLOPs of the forward's matmuls that it computes again.
inline constexpr llvm::StringLiteral kRecomputedAttr = "pp.recomputed_flops";

/// On a reduction or a result of a kernel: its sweep.
inline constexpr llvm::StringLiteral kSweepAttr = "pp.sweep";
/// On a reduction of a kernel: the partial sums of a row.
inline constexpr llvm::StringLiteral kLanesAttr = "pp.lanes";
/// The pitch of a kernel's argument or result; of all results of an op of a
/// task.
inline constexpr llvm::StringLiteral kPitchAttr = "pp.pitch";
/// On a region: it reuses the memory of other regions while they hold nothing.
inline constexpr llvm::StringLiteral kOverlaidAttr = "pp.overlaid";
/// On a nested module of kernels: f32 functions are to be accurate.
inline constexpr llvm::StringLiteral kAccurateAttr = "pp.accurate_math";

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

/// What an attribute is on: an op, or the argument or result of a function with
/// that number.
struct AttributeHolder {
  enum Kind { Operation, Argument, Result } kind;
  mlir::Operation *op;
  unsigned number = 0;
};

/// Emits an error if the attribute, whose name has the dialect's prefix, is not
/// declared for the holder with this kind of value.
LogicalResult verifyDeclared(AttributeHolder holder, NamedAttribute attr);

/// Emits an error if the op has an attribute without prefix that its ODS
/// definition does not declare.
LogicalResult verifyDeclared(Operation *op);

/// Emits an error if the holder has an attribute that nobody declares or, as
/// the compiler's own, not for models. Attributes of other dialects are left
/// alone.
LogicalResult verifyModelAttributes(AttributeHolder holder,
                                    ArrayRef<NamedAttribute> attrs);

/// The trait of ops without attributes but those of their ODS definition.
template <typename ConcreteOp>
class DeclaredAttributes
    : public OpTrait::TraitBase<ConcreteOp, DeclaredAttributes> {
public:
  static LogicalResult verifyTrait(Operation *op) { return verifyDeclared(op); }
};

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_DECLAREDATTRIBUTES_H
