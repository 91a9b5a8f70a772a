//===- ColumnReductions.cpp - Reductions of the rows of a kernel ----------===//

#include "ppopt/Codegen/ColumnReductions.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

ColumnReductions::ColumnReductions(KernelOp kernel)
    : reductions(kernel.getBody().front().getOps<ReduceOp>()),
      sizes(kernel.getFormAttr().getSizes()) {
  ReduceOp first = reductions.front();
  for (auto [i, dim] : llvm::enumerate(getNonUnitDims(getShape(first.getX()))))
    (llvm::is_contained(first.getDims(), static_cast<int64_t>(dim)) ? reduced
                                                                    : kept)
        .push_back(i);
}

SmallVector<int64_t> ColumnReductions::sizesOf(ArrayRef<unsigned> dims) const {
  return llvm::map_to_vector(dims, [&](unsigned dim) { return sizes[dim]; });
}

SmallVector<Value> ColumnReductions::getIndex(ElementPuller &puller,
                                              Value outer) const {
  SmallVector<Value> index(sizes.size());
  ArrayRef<unsigned> dims = ArrayRef(kept).drop_back();
  for (auto [dim, at] :
       llvm::zip(dims, puller.delinearize(outer, sizesOf(dims))))
    index[dim] = at;
  return index;
}

Position ColumnReductions::getPosition(ElementPuller &puller,
                                       ArrayRef<Value> index) const {
  Position position;
  position.space = getSpace(sizes);
  position.sizes.assign(sizes.begin(), sizes.end());
  position.index.assign(index.begin(), index.end());
  position.row = puller.constant(0);
  int64_t stride = 1;
  for (size_t i = sizes.size() - 1; i-- > 0; stride *= sizes[i])
    position.row = puller.add(position.row, puller.mul(index[i], stride));
  position.rowStart = puller.mul(position.row, position.space.columns);
  return position;
}

Position ColumnReductions::getKept(ElementPuller &puller, Value outer,
                                   ArrayRef<Value> index) const {
  Position position;
  for (unsigned dim : kept) {
    position.sizes.push_back(sizes[dim]);
    position.index.push_back(index[dim]);
  }
  position.space = getSpace(position.sizes);
  position.row = outer;
  position.rowStart = puller.mul(outer, sizes.back());
  return position;
}
