//===- ElementBoxes.h - Which elements a view takes from where ------------===//

#ifndef PPOPT_DIALECT_PP_ELEMENTBOXES_H
#define PPOPT_DIALECT_PP_ELEMENTBOXES_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// A box of elements of a value: [begin, end) in each dimension.
struct ElementBox {
  Value value;
  SmallVector<int64_t> begin, end;
};

/// What the op that makes the box's value takes its elements from, unchanged.
/// Nothing if it is no view and no cast to a wider integer, or where no boxes
/// of the operands are these elements.
std::optional<SmallVector<ElementBox>> seeThrough(const ElementBox &box);

/// An element of a constant, or of positions, that is out of range. Nothing
/// where there is none; failure where the elements are not known.
FailureOr<std::optional<int64_t>> findBadId(const ElementBox &box,
                                            IndexRange range);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_ELEMENTBOXES_H
