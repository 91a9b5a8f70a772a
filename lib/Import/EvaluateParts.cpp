//===- EvaluateParts.cpp - Parts and diagonals of constants ---------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static Results slice(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.slice(self.getShape());
  if (call.failed())
    return {};
  return {sliceDim(self, range.dim, range.start, range.size, range.step)};
}

static Results select(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.select(self.getShape());
  if (call.failed())
    return {};
  return {removeDim(self, range.dim, range.start)};
}

/// Whether a range is inside of a dimension; an error otherwise.
static bool checkRange(OpCall &call, int64_t start, int64_t length,
                       int64_t size) {
  if (start < 0 || length < 0 || start > size || length > size - start)
    call.fail("takes " + Twine(length) + " elements from " + Twine(start) +
              " on of " + Twine(size));
  return !call.failed();
}

static Results narrow(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank());
  if (self.getRank() == 0)
    call.fail("narrows a tensor of rank 0");
  int64_t start = call.integer("start"), length = call.integer("length");
  if (call.failed())
    return {};
  int64_t size = self.getShape()[dim];
  if (start < 0)
    start += size;
  if (!checkRange(call, start, length, size))
    return {};
  return {sliceDim(self, dim, start, length)};
}

/// Cuts a dimension into parts of these sizes, which fill it.
static Results cut(OpCall &call, ArrayRef<int64_t> sizes) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), 0), start = 0;
  Results parts;
  for (int64_t size : sizes) {
    if (!checkRange(call, start, size, self.getShape()[dim]))
      return {};
    parts.push_back(sliceDim(self, dim, start, size));
    start += size;
  }
  if (start != self.getShape()[dim])
    call.fail("splits " + Twine(self.getShape()[dim]) +
              " elements into parts of " + spellShape(sizes));
  return parts;
}

/// Cuts a dimension into parts of one size; the last may be smaller.
static Results cutEvenly(OpCall &call, int64_t part) {
  const HostTensor &self = constant(call, "self");
  int64_t size = self.getShape()[call.dim("dim", self.getRank(), 0)];
  // The archive's results are the only bound that a hostile size has.
  if (part < 0 || (part == 0 && size > 0) ||
      (part > 0 && (size - 1) / part >= call.getResults()))
    call.fail("splits " + Twine(size) + " elements into " +
              Twine(call.getResults()) + " parts of " + Twine(part));
  if (call.failed())
    return {};
  Shape sizes;
  for (int64_t start = 0; start < size; start += sizes.back())
    sizes.push_back(std::min(part, size - start));
  if (size == 0)
    sizes.push_back(0);
  return cut(call, sizes);
}

static bool checkSplits(OpCall &call) {
  if (constant(call, "self").getRank() == 0)
    call.fail("splits a tensor of rank 0");
  return !call.failed();
}

static Results split(OpCall &call) {
  if (!checkSplits(call))
    return {};
  return cutEvenly(call, call.integer("split_size"));
}

static Results splitBySizes(OpCall &call) {
  if (!checkSplits(call))
    return {};
  return cut(call, call.integers(call.has("split_sizes") ? "split_sizes"
                                                         : "split_size"));
}

static Results chunk(OpCall &call) {
  if (!checkSplits(call))
    return {};
  const HostTensor &self = constant(call, "self");
  int64_t size = self.getShape()[call.dim("dim", self.getRank(), 0)];
  int64_t chunks = call.integer("chunks");
  if (chunks < 1)
    call.fail("splits into " + Twine(chunks) + " chunks");
  if (call.failed())
    return {};
  // An empty dimension has as many empty chunks as were asked for.
  if (size == 0)
    return cut(call, Shape(call.getResults(), 0));
  return cutEvenly(call, llvm::divideCeil(size, chunks));
}

/// Of parts whose sizes differ by one, the larger ones are first; or parts end
/// at indices.
static Results splitAt(OpCall &call, int64_t dim, StringRef name) {
  const HostTensor &self = constant(call, "self");
  if (dim >= self.getRank())
    call.fail("splits the dimension " + Twine(dim) + " of " +
              spellShape(self.getShape()));
  if (call.failed())
    return {};
  int64_t size = self.getShape()[dim];
  Results parts;
  if (name == "indices") {
    Shape ends = call.integers(name);
    ends.push_back(size);
    int64_t start = 0;
    for (int64_t end : ends) {
      end = std::clamp<int64_t>(end < 0 ? end + size : end, 0, size);
      parts.push_back(
          sliceDim(self, dim, start, std::max<int64_t>(end - start, 0)));
      start = end;
    }
    return parts;
  }
  int64_t count = call.integer(name);
  if (count < 1 || count != call.getResults())
    call.fail("splits into " + Twine(count) +
              " parts, of which the archive "
              "names " +
              Twine(call.getResults()));
  for (int64_t i = 0, start = 0; i < count && !call.failed(); ++i) {
    int64_t part = size / count + (i < size % count);
    parts.push_back(sliceDim(self, dim, start, part));
    start += part;
  }
  return parts;
}

static Results splitSections(OpCall &call) {
  return splitAt(call, call.dim("dim", constant(call, "self").getRank(), 0),
                 "sections");
}
static Results splitIndices(OpCall &call) {
  return splitAt(call, call.dim("dim", constant(call, "self").getRank(), 0),
                 "indices");
}

/// vsplit (0), hsplit (1; of a vector its only dimension) and dsplit (2).
template <int dim> static Results splitAlong(OpCall &call) {
  bool isVector = dim == 1 && constant(call, "self").getRank() == 1;
  return splitAt(call, isVector ? 0 : dim,
                 call.has("indices") ? "indices" : "sections");
}

static Results unbind(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), 0);
  if (!checkSplits(call))
    return {};
  Results parts;
  if (self.getShape()[dim] != call.getResults())
    call.fail("has " + Twine(self.getShape()[dim]) +
              " results, and the archive names " + Twine(call.getResults()));
  for (unsigned i = 0; !call.failed() && i < call.getResults(); ++i)
    parts.push_back(removeDim(self, dim, i));
  return parts;
}

static Results flip(OpCall &call) {
  HostTensor self = constant(call, "self");
  if (!call.integers("dims").empty())
    for (int64_t dim : call.dims("dims", self.getRank()))
      if (int64_t size = self.getShape()[dim])
        self = sliceDim(self, dim, size - 1, size, -1);
  return {self};
}

/// Left to right, or upside down.
template <int dim> static Results flipDim(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  if (self.getRank() <= dim) {
    call.fail("flips a dimension that it lacks");
    return {};
  }
  int64_t size = self.getShape()[dim];
  return {size ? sliceDim(self, dim, size - 1, size, -1) : self};
}

//===----------------------------------------------------------------------===//
// Diagonals
//===----------------------------------------------------------------------===//

/// A view of the diagonal that is `offset` columns right of the main one.
static HostTensor viewDiagonal(const HostTensor &self, int64_t offset,
                               int64_t rows, int64_t columns) {
  Shape shape(self.getShape()), strides(self.getStrides());
  int64_t height = shape[rows], width = shape[columns];
  offset = std::clamp(offset, -height, width);
  int64_t size = offset < 0 ? std::min(height + offset, width)
                            : std::min(height, width - offset);
  int64_t step = strides[rows] + strides[columns];
  int64_t start =
      offset < 0 ? -offset * strides[rows] : offset * strides[columns];
  for (int64_t dim : {std::max(rows, columns), std::min(rows, columns)}) {
    shape.erase(shape.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
  shape.push_back(size);
  strides.push_back(step);
  return size ? self.view(shape, strides, start)
              : HostTensor(self.getType(), shape);
}

/// The same for the call's arguments; an error of the call if there is none.
static HostTensor viewDiagonal(OpCall &call, const HostTensor &self,
                               int64_t first, int64_t second) {
  int64_t rank = self.getRank(), offset = call.integer("offset", 0);
  int64_t rows = call.dim("dim1", rank, first),
          columns = call.dim("dim2", rank, second);
  if (rank < 2 || rows == columns)
    call.fail("takes the diagonal of one dimension");
  return call.failed() ? self : viewDiagonal(self, offset, rows, columns);
}

static Results diagonal(OpCall &call) {
  return {viewDiagonal(call, constant(call, "self"), 0, 1)};
}

/// Writes through a view of a tensor that nothing else has.
static void writeTo(HostTensor view, ElementAt elementAt) {
  HostTensor::forEachIndex(view.getShape(), [&](ArrayRef<int64_t> index) {
    view.set(index, elementAt(index));
  });
}

static Results diagonalScatter(OpCall &call) {
  Results results = copyElements(call, constant(call, "self"));
  if (call.failed())
    return {};
  HostTensor diagonal = viewDiagonal(call, results.front(), 0, 1);
  HostTensor source = constant(call, "src").cast(diagonal.getType());
  if (source.getShape() != diagonal.getShape())
    call.fail("puts " + spellShape(source.getShape()) + " on a diagonal of " +
              spellShape(diagonal.getShape()));
  if (!call.failed())
    writeTo(diagonal,
            [&](ArrayRef<int64_t> index) { return source.get(index); });
  return results;
}

/// New matrices with the last dimension of a tensor on a diagonal.
static Results embedDiagonal(OpCall &call, const HostTensor &self,
                             int64_t offset, int64_t rows, int64_t columns) {
  Shape shape(self.getShape());
  if (call.failed() || !fits(call, {std::abs(std::max(offset, -offset))}, {}))
    return {};
  int64_t size = shape.pop_back_val() + std::abs(offset);
  shape.insert(shape.begin() + std::min(rows, columns), size);
  shape.insert(shape.begin() + std::max(rows, columns), size);
  if (!fits(call, shape, shape))
    return {};
  HostTensor matrix(self.getType(), shape);
  writeTo(viewDiagonal(matrix, offset, rows, columns),
          [&](ArrayRef<int64_t> index) { return self.get(index); });
  return {matrix};
}

static Results diagEmbed(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t rank = self.getRank() + 1;
  int64_t rows = call.dim("dim1", rank, -2),
          columns = call.dim("dim2", rank, -1);
  if (rank < 2 || rows == columns)
    call.fail("makes a diagonal of a number, or in one dimension");
  return embedDiagonal(call, self, call.integer("offset", 0), rows, columns);
}

/// The diagonal of a matrix, or a matrix with a vector on its diagonal.
static Results diag(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t offset = call.integer("diagonal", 0);
  if (self.getRank() != 1 && self.getRank() != 2)
    call.fail("takes the diagonal of " + Twine(self.getRank()) + " dimensions");
  if (call.failed())
    return {};
  if (self.getRank() == 1)
    return embedDiagonal(call, self, offset, 0, 1);
  return copyElements(call, viewDiagonal(self, offset, 0, 1));
}

/// The elements at the same index in all dimensions. With `wrap`, those of a
/// matrix that is tall go on after a row.
static Results fillDiagonal(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Scalar value = number(call, "fill_value", self.getType());
  bool wraps = call.flag("wrap", false);
  ArrayRef<int64_t> shape = self.getShape();
  if (shape.size() < 2 || (shape.size() > 2 && !llvm::all_equal(shape)))
    call.fail("fills the diagonal of " + spellShape(shape));
  Results results;
  if (!call.failed())
    results = copyElements(call, self);
  if (call.failed())
    return {};
  int64_t step = 0, size = *std::min_element(shape.begin(), shape.end());
  for (int64_t stride : results.front().getStrides())
    step += stride;
  if (wraps && size > 0 && shape.size() == 2)
    size = llvm::divideCeil(self.getElements(), step);
  if (size > 0)
    writeTo(results.front().view({size}, {step}),
            [&](ArrayRef<int64_t>) { return value; });
  return results;
}

static Results trace(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  if (self.getRank() != 2) {
    call.fail("takes the trace of a tensor that is no matrix");
    return {};
  }
  HostTensor diagonal = viewDiagonal(self.cast(call.result().type), 0, 0, 1);
  double real = 0;
  uint64_t integer = 0;
  if (!affords(call, diagonal.getShape()))
    return {};
  HostTensor::forEachIndex(diagonal.getShape(), [&](ArrayRef<int64_t> index) {
    real += diagonal.get(index).real;
    integer += diagonal.get(index).integer;
  });
  return {HostTensor::splat(diagonal.getType(), {}, {real, int64_t(integer)})};
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static Results unfold(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dimension", self.getRank());
  int64_t window = call.integer("size"), step = call.integer("step");
  if (self.getRank() == 0)
    call.fail("unfolds a tensor of rank 0");
  if (call.failed())
    return {};
  Shape shape(self.getShape()), strides(self.getStrides());
  if (window < 0 || window > shape[dim] || step < 1)
    call.fail("unfolds " + Twine(shape[dim]) + " elements into windows of " +
              Twine(window) + " in steps of " + Twine(step));
  if (call.failed())
    return {};
  int64_t stride = strides[dim];
  shape[dim] = (shape[dim] - window) / step + 1;
  if (shape[dim] > 1)
    strides[dim] *= step;
  shape.push_back(window);
  strides.push_back(stride);
  HostTensor result = self.view(shape, strides);
  // Windows overlap, and copies of the view would not.
  if (!fits(call, shape, distinctShape(shape, sameAlong(result))))
    return {};
  return {result};
}

ArrayRef<EvaluatedOp> pt2::getPartOps() {
  static const EvaluatedOp ops[] = {
      {"aten.slice.Tensor", checked<slice>},
      {"aten.select.int", checked<select>},
      {"aten.narrow.default", checked<narrow>},
      {"aten.split.Tensor", checked<split>},
      {"aten.split.sizes", checked<splitBySizes>},
      {"aten.split.default", checked<splitBySizes>},
      {"aten.split_with_sizes.default", checked<splitBySizes>},
      {"aten.chunk.default", checked<chunk>},
      {"aten.tensor_split.sections", checked<splitSections>},
      {"aten.tensor_split.indices", checked<splitIndices>},
      {"aten.vsplit.int", checked<splitAlong<0>>},
      {"aten.vsplit.array", checked<splitAlong<0>>},
      {"aten.hsplit.int", checked<splitAlong<1>>},
      {"aten.hsplit.array", checked<splitAlong<1>>},
      {"aten.dsplit.int", checked<splitAlong<2>>},
      {"aten.dsplit.array", checked<splitAlong<2>>},
      {"aten.unbind.int", checked<unbind>},
      {"aten.flip.default", checked<flip>},
      {"aten.flipud.default", checked<flipDim<0>>},
      {"aten.fliplr.default", checked<flipDim<1>>},
      {"aten.diagonal.default", checked<diagonal>},
      {"aten.diagonal_scatter.default", checked<diagonalScatter>},
      {"aten.diag_embed.default", checked<diagEmbed>},
      {"aten.diag.default", checked<diag>},
      {"aten.fill_diagonal.default", checked<fillDiagonal>},
      {"aten.trace.default", checked<trace>},
      {"aten.unfold.default", checked<unfold>},
  };
  return ops;
}
