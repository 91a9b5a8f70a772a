//===- IndexSources.h - Where the values that index come from -------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H
#define PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H

#include "ppopt/Dialect/PP/ElementBoxes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// On an op that indexes by what is computed from inputs: its task checks that
/// (docs/faults.md).
inline constexpr llvm::StringLiteral kCheckIdsAttr = "pp.check_ids";

/// The elements that `value` consists of, unchanged, in what views, casts to
/// wider integers, regions and copies take them from. Ends at whatever computes
/// them.
SmallVector<ElementBox> findIndexSources(Value value);

/// "pp.embedding at model.mlir:3:8".
std::string describeSource(Operation *op);

/// Finds out for every op of the entry that indexes where its ids come from.
/// Those of inputs are given to `checkInput`, which says whether the runtime
/// will check them there; constants and positions are checked here, with an
/// error. An op of which other ids are left is marked with kCheckIdsAttr.
LogicalResult markComputedIds(
    func::FuncOp entry,
    llvm::function_ref<bool(Operation *op, BlockArgument input,
                            const ElementBox &box, IndexRange range)>
        checkInput);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H
