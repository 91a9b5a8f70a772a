//===- panel_matmul.cpp - Matmuls with packed panels of B -----------------===//
//
// C is split into panels of 64 columns, which are shared among the threads. If
// there are too few panels, rows are split too. A thread packs a panel of B
// into its part of the workspace, one block of the depth at a time. The panel
// stays in the cache while all rows of A are multiplied with it. The summation
// order of a kernel may depend on the rows and columns that it is generated
// for. Which kernel computes an element depends on the matmul alone, because
// parts of rows are whole blocks. So the bits do not depend on the number of
// threads.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/panel_matmul.h"

#include "device/cpu/ceil_div.h"
#include "device/cpu/matmul_kernel.h"
#include "device/cpu/read_ahead.h"
#include "device/cpu/target_clones.h"
#include "device/cpu/team.h"
#include "device/progress_hook.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <type_traits>

namespace ppopt {

namespace {

constexpr int64_t panelColumns = 64, blockRows = 64;
/// In f32, a block of rows of A of this depth is 128 KiB. A group has at least
/// this many packed panels, and as many as fit into the bytes: A is read once
/// per group.
constexpr int64_t mostDepth = 512, fewestPanels = 3, packedBytes = 768 << 10;
/// Deeper matmuls sum parts of the depth, each starting at zero. A large term
/// is then followed by the additions of its own part and one per later part,
/// not by those of the whole remaining depth. Matmuls that accumulate into C do
/// the same, because many may follow one another, unless they are so shallow
/// that the extra pass over C would be noticeable.
constexpr int64_t deepMatmul = 2 * mostDepth, deepAddition = 128;
/// With fewer rows, packing B costs more than it saves.
constexpr int64_t fewestRows = 32;

template <typename Element>
MatmulKernel<Element> makeKernel(const MatmulKernelShape &shape) {
  if constexpr (std::is_same_v<Element, double>)
    return makeMatmulKernelF64(shape);
  else
    return makeMatmulKernelF32(shape);
}

/// Elements that are transposed at a time, in each direction.
template <typename Element> constexpr int64_t side = 32 / sizeof(Element);

template <typename Element> using Row [[gnu::vector_size(32)]] = Element;

[[gnu::always_inline]] inline void transpose(Row<double> (&r)[4]) {
  Row<double> low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6),
              high01 = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7),
              low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6),
              high23 = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
  r[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  r[2] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  r[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

[[gnu::always_inline]] inline void transpose(Row<float> (&r)[8]) {
  Row<float> t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] =
        __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      u[i + 2 * j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9,
                                             4, 5, 12, 13);
      u[i + 2 * j + 1] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3,
                                                 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] =
        __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// to[p * columns + j] = from[p + j * columnStride].
template <typename Element>
[[gnu::always_inline]] inline void
transposeColumns(const Element *from, int64_t columnStride, int64_t depth,
                 int64_t columns, Element *to) {
  constexpr int64_t n = side<Element>, line = 64 / sizeof(Element);
  int64_t wholeDepth = depth / n * n, wholeColumns = columns / n * n;
  // Read a cache line of a column to its end before the next column's line,
  // which may map to the same cache set.
  for (int64_t begin = 0; begin < wholeDepth; begin += line)
    for (int64_t j = 0; j < wholeColumns; j += n) {
      // Two lines ahead: the hardware prefetcher does not track so many
      // columns.
      for (int64_t i = 0; i < n; ++i)
        __builtin_prefetch(from + (j + i) * columnStride + begin + 2 * line);
      for (int64_t p = begin; p < std::min(begin + line, wholeDepth); p += n) {
        Row<Element> rows[n];
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(&rows[i], from + (j + i) * columnStride + p, 32);
        transpose(rows);
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(to + (p + i) * columns + j, &rows[i], 32);
      }
    }
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t j = p < wholeDepth ? wholeColumns : 0; j < columns; ++j)
      to[p * columns + j] = from[p + j * columnStride];
}

PPOPT_CLONES void packColumns(const float *from, int64_t columnStride,
                              int64_t depth, int64_t columns, float *to) {
  transposeColumns(from, columnStride, depth, columns, to);
}

PPOPT_CLONES void packColumns(const double *from, int64_t columnStride,
                              int64_t depth, int64_t columns, double *to) {
  transposeColumns(from, columnStride, depth, columns, to);
}

/// Packs into `to` [depth][columns] elements that are `depthStride` and
/// `columnStride` apart.
template <typename Element>
void pack(const Element *from, int64_t depthStride, int64_t columnStride,
          int64_t depth, int64_t columns, Element *to) {
  if (depthStride == 1 && columnStride != 1)
    return packColumns(from, columnStride, depth, columns, to);
  for (int64_t p = 0; p < depth; ++p, from += depthStride, to += columns)
    if (columnStride == 1)
      std::memcpy(to, from, columns * sizeof(Element));
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j] = from[j * columnStride];
}

/// Adds a block of packed rows to C.
template <typename Element>
[[gnu::always_inline]] inline void
addRows(const Element *__restrict part, Element *__restrict c, int64_t cStride,
        int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < columns; ++j)
      c[row * cStride + j] += part[row * panelColumns + j];
}
PPOPT_CLONES void addPart(const float *part, float *c, int64_t cStride,
                          int64_t rows, int64_t columns) {
  addRows(part, c, cStride, rows, columns);
}
PPOPT_CLONES void addPart(const double *part, double *c, int64_t cStride,
                          int64_t rows, int64_t columns) {
  addRows(part, c, cStride, rows, columns);
}

template <typename Element> class PanelMatmul : public MatmulImplementation {
public:
  PanelMatmul(const MatmulDescriptor &matmul, int threads)
      : matmul(matmul), threads(threads), panels(ceilDiv(matmul.n, 64)),
        depth(ceilDiv(matmul.k, ceilDiv(matmul.k, mostDepth))),
        panelsAtATime(choosePanelsAtATime()), rowsOfPart(chooseRowsOfPart()),
        parts(ceilDiv(matmul.m, rowsOfPart)) {}

  /// Generates the kernels; returns false if libxsmm lacks one of them.
  bool prepare() {
    bool isTransposed = matmul.a[3] != 1;
    int64_t aStride = matmul.a[isTransposed ? 3 : 2];
    for (int64_t columns : {panelColumns, matmul.n % panelColumns})
      for (int64_t rows : {blockRows, matmul.m % blockRows})
        for (int64_t k : {depth, matmul.k % depth})
          for (bool accumulate : {false, true}) {
            MatmulKernel<Element> &kernel =
                kernels[columns != panelColumns][rows != blockRows][k != depth]
                       [accumulate];
            bool isApart = accumulate && isSummedApart();
            if (columns > 0 && rows > 0 && k > 0 && !kernel &&
                !(kernel = makeKernel<Element>(
                      {rows, columns, k, aStride, isTransposed,
                       isApart ? panelColumns : matmul.c[2],
                       accumulate && !isApart})))
              return false;
          }
    return true;
  }

  void run(const void *a, const void *b, void *c,
           void *workspace) const override {
    struct Call {
      const PanelMatmul &matmul;
      const Element *a, *b;
      Element *c, *workspace;
    } call{*this, static_cast<const Element *>(a),
           static_cast<const Element *>(b), static_cast<Element *>(c),
           static_cast<Element *>(workspace)};
    runTeam(
        threads,
        [](void *context, int member, int size) {
          const Call &call = *static_cast<Call *>(context);
          const PanelMatmul &matmul = call.matmul;
          Share share = shareOf(matmul.items(), member, size);
          matmul.compute(share, call.a, call.b, call.c,
                         call.workspace + member * matmul.packedElements());
        },
        &call);
  }

  size_t workspaceBytes() const override {
    return packedElements() * sizeof(Element) * threads;
  }
  std::string name() const override {
    return "libxsmm, panels of " + std::to_string(depth) + "x" +
           std::to_string(std::min(panelColumns, matmul.n));
  }

private:
  bool isSummedApart() const {
    return matmul.k > deepMatmul ||
           (matmul.accumulate && matmul.k >= deepAddition);
  }
  int64_t batches() const { return matmul.batch[0] * matmul.batch[1]; }
  int64_t items() const { return batches() * panels * parts; }
  int64_t packedElements() const {
    return panelsAtATime * depth * panelColumns;
  }

  int64_t choosePanelsAtATime() const {
    int64_t panelBytes = depth * panelColumns * int64_t(sizeof(Element));
    return std::max(fewestPanels, std::min(panels, packedBytes / panelBytes));
  }

  /// Returns the rows of a part, in whole blocks: the fewest parts that
  /// minimize the work of the busiest thread.
  int64_t chooseRowsOfPart() const {
    int64_t blocks = ceilDiv(matmul.m, blockRows);
    auto busiest = [&](int64_t blocksOfPart) {
      int64_t count = batches() * panels * ceilDiv(blocks, blocksOfPart);
      return ceilDiv(count, threads) * blocksOfPart;
    };
    int64_t best = blocks;
    for (int64_t parts = 2; parts <= std::min<int64_t>(threads, blocks);
         ++parts)
      if (int64_t each = ceilDiv(blocks, parts); busiest(each) < busiest(best))
        best = each;
    return best * blockRows;
  }

  /// Items are numbered by panel first, then part of rows, then batch.
  /// Consecutive panels of the same rows share one pass over A.
  void compute(Share share, const Element *a, const Element *b, Element *c,
               Element *packed) const {
    for (int64_t item = share.begin; item < share.end;) {
      int64_t panel = item % panels, rest = item / panels;
      int64_t count =
          std::min({panelsAtATime, share.end - item, panels - panel});
      int64_t part = rest % parts, batch = rest / parts;
      int64_t b0 = batch / matmul.batch[1], b1 = batch % matmul.batch[1];
      int64_t row = part * rowsOfPart, column = panel * panelColumns;
      // The panels that this thread packs next, if they are of the same rows.
      int64_t next = std::min(
          {panelsAtATime, share.end - item - count, panels - panel - count});
      multiply(
          a + b0 * matmul.a[0] + b1 * matmul.a[1] + row * matmul.a[2],
          b + b0 * matmul.b[0] + b1 * matmul.b[1] + column * matmul.b[3],
          c + b0 * matmul.c[0] + b1 * matmul.c[1] + row * matmul.c[2] + column,
          std::min(rowsOfPart, matmul.m - row),
          std::min(count * panelColumns, matmul.n - column),
          std::min((count + next) * panelColumns, matmul.n - column), packed);
      item += count;
    }
  }

  /// Returns what is packed after `columns` at depth p: their next depth, else
  /// the columns after them up to `columnsWithNext`. Empty if B's rows are
  /// contiguous: the hardware prefetches those, and more requests would get in
  /// its way.
  ReadAhead nextOfB(const Element *b, int64_t p, int64_t columns,
                    int64_t columnsWithNext, int64_t calls) const {
    p += depth;
    if (p >= matmul.k) {
      b += columns * matmul.b[3];
      columns = columnsWithNext - columns;
      p = 0;
    }
    if (columns == 0 || matmul.b[2] != 1)
      return {};
    return ReadAhead(b + p, matmul.b[3], columns, std::min(depth, matmul.k - p),
                     calls);
  }

  /// Returns the block of A that begins at `row`. Empty if rows are read whole
  /// and in order: the hardware prefetches those.
  ReadAhead nextOfA(const Element *a, int64_t row, int64_t allRows, int64_t k,
                    int64_t calls) const {
    int64_t rows = std::min(blockRows, allRows - row);
    if (rows <= 0 || (matmul.a[3] == 1 && k == matmul.k))
      return {};
    a += row * matmul.a[2];
    return matmul.a[3] == 1 ? ReadAhead(a, matmul.a[2], rows, k, calls)
                            : ReadAhead(a, matmul.a[3], k, rows, calls);
  }

  /// Computes `allRows` x `allColumns` of C, a group of panels, and prefetches
  /// what is packed next.
  void multiply(const Element *a, const Element *b, Element *c, int64_t allRows,
                int64_t allColumns, int64_t columnsWithNext,
                Element *packed) const {
    for (int64_t p = 0; p < matmul.k; p += depth) {
      int64_t k = std::min(depth, matmul.k - p);
      bool accumulate = matmul.accumulate || p > 0;
      for (int64_t j = 0; j < allColumns; j += panelColumns)
        pack(b + p * matmul.b[2] + j * matmul.b[3], matmul.b[2], matmul.b[3], k,
             std::min(panelColumns, allColumns - j), packed + j * k);
      ReadAhead ahead = nextOfB(b, p, allColumns, columnsWithNext,
                                ceilDiv(allRows, blockRows) *
                                    ceilDiv(allColumns, panelColumns));
      for (int64_t row = 0; row < allRows; row += blockRows) {
        int64_t rows = std::min(blockRows, allRows - row);
        int64_t calls = ceilDiv(allColumns, panelColumns);
        device::callProgressHook();
        ReadAhead aheadOfA =
            nextOfA(a + p * matmul.a[3], row + rows, allRows, k, calls);
        for (int64_t j = 0; j < allColumns; j += panelColumns) {
          ahead.advance();
          aheadOfA.advance();
          MatmulKernel<Element> kernel =
              kernels[allColumns - j < panelColumns][rows != blockRows]
                     [k != depth][accumulate];
          const Element *ofA = a + row * matmul.a[2] + p * matmul.a[3];
          Element *ofC = c + row * matmul.c[2] + j;
          if (!accumulate || !isSummedApart()) {
            kernel(packed + j * k, ofA, ofC);
            continue;
          }
          alignas(64) Element part[blockRows * panelColumns];
          kernel(packed + j * k, ofA, part);
          addPart(part, ofC, matmul.c[2], rows,
                  std::min(panelColumns, allColumns - j));
        }
      }
    }
  }

  MatmulDescriptor matmul;
  int threads;
  int64_t panels, depth, panelsAtATime, rowsOfPart, parts;
  MatmulKernel<Element> kernels[2][2][2][2] = {};
};

/// Returns whether rows or columns are contiguous and the other dimension has a
/// stride that a kernel supports.
bool isStrided(const std::array<int64_t, 4> &strides, int64_t rows,
               int64_t columns) {
  auto fits = [](int64_t stride, int64_t least) {
    return stride >= least && stride <= INT_MAX;
  };
  return (strides[3] == 1 && fits(strides[2], columns)) ||
         (strides[2] == 1 && fits(strides[3], rows));
}

template <typename Element>
std::unique_ptr<MatmulImplementation> make(const MatmulDescriptor &matmul,
                                           int threads, size_t workspaceBytes) {
  auto made = std::make_unique<PanelMatmul<Element>>(matmul, threads);
  if (made->workspaceBytes() > workspaceBytes || !made->prepare())
    return nullptr;
  return made;
}

} // namespace

std::unique_ptr<MatmulImplementation>
makePanelMatmul(const MatmulDescriptor &matmul, int threads,
                size_t workspaceBytes) {
  if (matmul.m < fewestRows || matmul.c[2] > INT_MAX ||
      !isStrided(matmul.a, matmul.m, matmul.k))
    return nullptr;
  switch (matmul.type) {
  case MatmulType::f64:
    return make<double>(matmul, threads, workspaceBytes);
  case MatmulType::f32:
    return make<float>(matmul, threads, workspaceBytes);
  case MatmulType::bf16:
    return nullptr;
  }
  return nullptr;
}

} // namespace ppopt
