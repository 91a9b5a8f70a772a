//===- ElementBoxes.h - The source elements of views ----------------------===//

#ifndef PPOPT_DIALECT_PP_ELEMENTBOXES_H
#define PPOPT_DIALECT_PP_ELEMENTBOXES_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Returns the boxes of operands whose elements the box's defining op passes on
/// unchanged. Nothing if the op is neither a view nor a cast of an integer to a
/// wider one, or if no boxes of the operands have exactly these elements.
std::optional<SmallVector<ElementBox>> seeThrough(const ElementBox &box);

/// Returns an element of a constant or an iota that is out of range; nothing if
/// there is none. Fails if the elements are not known.
FailureOr<std::optional<int64_t>> findBadId(const ElementBox &box,
                                            IndexRange range);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_ELEMENTBOXES_H
