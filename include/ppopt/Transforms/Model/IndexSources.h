//===- IndexSources.h - Where index values come from ------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H
#define PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H

#include "ppopt/Dialect/PP/ElementBoxes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// Returns the elements that `value` takes unchanged from other values, looking
/// through views, casts to wider integers, regions and copies. Stops at the op
/// that computes them.
SmallVector<ElementBox> findIndexSources(Value value);

/// Returns "pp.embedding at model.mlir:3:8".
std::string describeSource(Operation *op);

/// Finds the source of the ids of every op of the entry that indexes. Passes
/// ids of inputs to `checkInput`, which returns whether the runtime will check
/// them. Checks constants and positions here and emits an error if they are out
/// of range. Marks an op that reads any other ids with kCheckIdsAttr.
LogicalResult markComputedIds(
    func::FuncOp entry,
    llvm::function_ref<bool(Operation *op, BlockArgument input,
                            const ElementBox &box, IndexRange range)>
        checkInput);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_INDEXSOURCES_H
