//===- AlongDim.h - A shape as what lies before, along and after a dim ----===//

#ifndef PPOPT_DIALECT_PP_ALONGDIM_H
#define PPOPT_DIALECT_PP_ALONGDIM_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// A tensor as [outer, size, inner], where `size` is that of a dimension. Each
/// of the outer × inner lines along the dimension is one thread's.
struct AlongDim {
  AlongDim(ArrayRef<int64_t> shape, int64_t dim)
      : outerSizes(shape.take_front(dim)),
        innerSizes(shape.drop_front(dim + 1)),
        outer(llvm::product_of(outerSizes)), size(shape[dim]),
        inner(llvm::product_of(innerSizes)) {}

  /// Returns how many tiles of inner columns, or of lines, cover the lines.
  std::optional<int64_t> countTiles(TilesAttr tiles) const;

  SmallVector<int64_t> outerSizes, innerSizes;
  int64_t outer, size, inner;
};

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_ALONGDIM_H
