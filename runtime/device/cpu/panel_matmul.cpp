//===- panel_matmul.cpp - Matmuls of packed panels ------------------------===//
//
// B is packed once, by all threads, into strips as wide as a tile of C, one
// block at a time: while a block is multiplied, the next one is packed. Items
// of rows and strips are taken by whichever thread is free. An element of C is
// the sum over parts of the depth, in order, so its bits depend on the matmul
// alone, not on the number of threads or on who computes it.
//
// Elements of bf16 become f32 where they are packed. If C is bf16 too, an item
// sums in f32, over all parts, and rounds once. Its sums are a thread's, or if
// a block has not all parts, those of all items are kept from block to block.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/panel_matmul.h"

#include "device/cpu/bf16.h"
#include "device/cpu/ceil_div.h"
#include "device/cpu/pack_strips.h"
#include "device/cpu/target_clones.h"
#include "device/cpu/team.h"
#include "device/cpu/tile_kernel.h"
#include "device/progress_hook.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <string>

namespace ppopt {

namespace {

/// Deeper matmuls sum parts of the depth, each starting at zero. A large term
/// is then followed by the additions of its own part and one per later part,
/// not by those of the whole remaining depth. Matmuls that accumulate into C do
/// the same, because many may follow one another, unless they are so shallow
/// that the extra additions would be noticeable.
constexpr int64_t mostDepth = 512, deepMatmul = 2 * mostDepth,
                  deepAddition = 128;
/// With fewer rows, packing B costs more than it saves.
constexpr int64_t fewestRows = 32;
/// Of a packed block of B; of one of many. Two of those, and what else a matmul
/// reads again, are to fit a core's share of the last cache. Where A is copied,
/// once for each group of strips, blocks are large all the same.
constexpr int64_t mostBlockBytes = 3 << 20, manyBlocksBytes = 3 << 19;
/// Of an item: with the depth of a part, rows of f32 are 128 KiB, which leaves
/// most of a second-level cache to strips. Packing a row of A is made up for by
/// the fewest columns.
constexpr int64_t mostItemRows = 64, fewestItemColumns = 192;
constexpr int64_t itemsOfThread = 8, fewestItemsOfThread = 4;
/// Of the columns that a thread packs at a time.
constexpr int64_t packedColumns = 256;
/// Rows of A that are a multiple of this apart compete for few lines of the
/// first-level cache.
constexpr int64_t conflictBytes = 4096;
/// In bytes, between rows or packed tiles of a copy of A.
constexpr int64_t paddingBytes = 64;

PPOPT_CLONES void roundRow(bf16 *to, const float *from, int64_t count,
                           bool accumulates) {
  for (int64_t i = 0; i < count; ++i)
    store(to[i], accumulates ? load(to[i]) + from[i] : from[i]);
}

/// Multiplies elements of type Source as Elements, to Results.
template <typename Element, typename Source, typename Result>
class PanelMatmul : public MatmulImplementation {
public:
  PanelMatmul(const MatmulDescriptor &matmul, int threads)
      : matmul(matmul), threads(threads),
        depth(ceilDiv(matmul.k, ceilDiv(matmul.k, mostDepth))),
        strips(ceilDiv(matmul.n, kernel.columns)) {
    chooseBlocks();
    chooseItems();
  }

  void run(const void *a, const void *b, void *c,
           void *workspace) const override {
    Operands operands{static_cast<const Source *>(a),
                      static_cast<const Source *>(b), static_cast<Result *>(c),
                      static_cast<Element *>(workspace)};
    for (int64_t i = -1; i < blocks(); ++i) {
      // In one job, so that threads wait for each other once per block. In the
      // order of strips: most of those that a thread multiplies it has packed,
      // and need not be moved from another core's cache.
      Block now = block(i), next = block(i + 1);
      int64_t packed = packItems(next), multiplied = multiplyItems(now);
      parallelForMembers(threads, stripGroups * (packed + multiplied),
                         /*chunk=*/1, [&](int member, int64_t item, int64_t) {
                           int64_t group = item / (packed + multiplied);
                           item %= packed + multiplied;
                           if (item < packed)
                             packItem(operands, next, group, item);
                           else
                             multiplyItem(operands, now, group, item - packed,
                                          member);
                         });
    }
  }

  size_t workspaceBytes() const override {
    return sizeof(Element) *
           (elementsOfB() + elementsOfA() * threads + elementsOfSums());
  }
  std::string name() const override {
    return "tiles of " + std::to_string(kernel.rows) + "x" +
           std::to_string(kernel.columns) + ", panels of " +
           std::to_string(depth);
  }

private:
  struct Operands {
    const Source *a, *b;
    Result *c;
    Element *workspace;
  };
  /// What is multiplied with a packed part of B: of these batches, strips, and
  /// parts of the depth.
  struct Block {
    int64_t number;
    Share batches, strips, parts;
  };

  static constexpr int64_t padding = paddingBytes / int64_t(sizeof(Element));

  bool isSummedApart() const {
    return matmul.k > deepMatmul ||
           (matmul.accumulate && matmul.k >= deepAddition);
  }
  int64_t batches() const { return matmul.batch[0] * matmul.batch[1]; }
  int64_t parts() const { return ceilDiv(matmul.k, depth); }
  bool isTransposed() const { return matmul.a[3] != 1; }
  bool isCopied() const {
    return isTransposed() || !std::is_same_v<Source, Element> ||
           matmul.a[2] * int64_t(sizeof(Element)) % conflictBytes == 0;
  }
  /// Sums are not in C until they are complete.
  static constexpr bool isRounded = !std::is_same_v<Result, Element>;

  // Workspace: the same whatever the tiles of the machine are.

  int64_t paddedColumns(int64_t columns) const {
    constexpr int64_t most = mostTileColumns<Element>;
    return ceilDiv(columns, most) * most;
  }
  int64_t blockElements() const {
    return blockBatches * blockParts * depth *
           paddedColumns(blockStrips * kernel.columns);
  }
  /// Of the block that is multiplied and the one that is packed meanwhile.
  int64_t elementsOfB() const {
    return blockElements() * std::min<int64_t>(blocks(), 2);
  }
  int64_t rowStrideOfCopy() const { return depth + padding; }
  int64_t itemRows() const {
    return std::min(mostItemRows, matmul.m + mostTileRows - 1);
  }
  int64_t elementsOfA() const {
    return isCopied() ? itemRows() * rowStrideOfCopy() : 0;
  }
  bool areSumsKept() const { return blockParts < parts(); }
  int64_t elementsOfSums() const {
    return isRounded ? (areSumsKept() ? matmul.m : itemRows() * threads) *
                           paddedColumns(blockStrips * kernel.columns)
                     : 0;
  }

  // Blocks of B.

  /// As much of B as fits: all of several batches; else all columns of a part
  /// of the depth, so that a row of A is read once; else some columns.
  void chooseBlocks() {
    int64_t ofPart = depth * paddedColumns(matmul.n);
    int64_t most = mostBlockBytes / int64_t(sizeof(Element));
    if (!isCopied() && ofPart * parts() * batches() > most)
      most = manyBlocksBytes / int64_t(sizeof(Element));
    blockParts = isRounded && parts() * depth * fewestItemColumns <= most
                     ? parts()
                     : std::clamp<int64_t>(most / ofPart, 1, parts());
    blockBatches =
        blockParts < parts()
            ? 1
            : std::clamp<int64_t>(most / (ofPart * parts()), 1, batches());
    blockStrips = strips;
    if (ofPart * blockParts > most)
      blockStrips = std::max<int64_t>(1, most / (depth * blockParts *
                                                 mostTileColumns<Element>)) *
                    mostTileColumns<Element> / kernel.columns;
  }

  int64_t batchBlocks() const { return ceilDiv(batches(), blockBatches); }
  int64_t stripBlocks() const { return ceilDiv(strips, blockStrips); }
  int64_t partBlocks() const { return ceilDiv(parts(), blockParts); }
  int64_t blocks() const {
    return batchBlocks() * stripBlocks() * partBlocks();
  }

  /// Empty if there is no such block.
  Block block(int64_t number) const {
    if (number < 0 || number >= blocks())
      return {};
    auto range = [](int64_t index, int64_t size, int64_t count) -> Share {
      return {index * size, std::min((index + 1) * size, count)};
    };
    int64_t part = number % partBlocks(), rest = number / partBlocks();
    return {number, range(rest / stripBlocks(), blockBatches, batches()),
            range(rest % stripBlocks(), blockStrips, strips),
            range(part, blockParts, parts())};
  }

  /// Where a part of a batch begins that is the block's first strip; strips are
  /// `depth` * kernel.columns apart.
  Element *packedPart(const Operands &operands, const Block &block,
                      int64_t batch, int64_t part) const {
    int64_t index =
        (batch - block.batches.begin) * blockParts + part - block.parts.begin;
    return operands.workspace + block.number % 2 * blockElements() +
           index * depth * paddedColumns(blockStrips * kernel.columns);
  }

  /// The strips of a group, which are relative to the block's.
  Share stripsOf(const Block &block, int64_t group) const {
    return shareOf(size(block.strips), group, stripGroups);
  }
  int64_t packsOfGroup() const {
    return ceilDiv(ceilDiv(blockStrips, stripGroups) * kernel.columns,
                   packedColumns);
  }
  /// Of a group.
  int64_t packItems(const Block &block) const {
    return size(block.batches) * size(block.parts) * packsOfGroup();
  }
  void packItem(const Operands &operands, const Block &block, int64_t group,
                int64_t item) const {
    Share ofGroup = stripsOf(block, group);
    Share some = shareOf(size(ofGroup), item % packsOfGroup(), packsOfGroup());
    if (size(some) == 0)
      return;
    int64_t rest = item / packsOfGroup();
    int64_t part = block.parts.begin + rest % size(block.parts),
            batch = block.batches.begin + rest / size(block.parts);
    int64_t strip = ofGroup.begin + some.begin;
    int64_t column = (block.strips.begin + strip) * kernel.columns;
    packStrips(operands.b + offset(matmul.b, batch) +
                   part * depth * matmul.b[2] + column * matmul.b[3],
               matmul.b[2], matmul.b[3], depthOf(part),
               std::min(size(some) * kernel.columns, matmul.n - column),
               packedPart(operands, block, batch, part) +
                   strip * depth * kernel.columns,
               kernel.columns, depth * kernel.columns);
  }

  // Items.

  /// Enough for every thread to have several, unless they would be too narrow.
  /// Columns of A are packed for each group of strips: then with one group per
  /// thread they may be fewer.
  void chooseItems() {
    rowGroups = ceilDiv(tileRows(), mostItemRows / kernel.rows);
    int64_t ofGroup = rowGroups * blockBatches;
    int64_t wanted =
        threads == 1 ? 1 : ceilDiv(threads * itemsOfThread, ofGroup);
    if (isTransposed() && ofGroup >= fewestItemsOfThread)
      wanted = std::min<int64_t>(wanted, threads);
    int64_t most =
        std::max<int64_t>(1, blockStrips * kernel.columns / fewestItemColumns);
    if (wanted > 1)
      wanted = ceilDiv(wanted, threads) * threads;
    stripGroups = std::clamp<int64_t>(wanted, 1, most);
  }
  int64_t tileRows() const { return ceilDiv(matmul.m, kernel.rows); }
  /// Of a group of strips.
  int64_t multiplyItems(const Block &block) const {
    return size(block.batches) * rowGroups;
  }

  struct Rows {
    int64_t batch, begin, count;
  };
  Rows rowsOf(const Block &block, int64_t item) const {
    Share tiles = shareOf(tileRows(), item % rowGroups, rowGroups);
    int64_t begin = tiles.begin * kernel.rows;
    return {block.batches.begin + item / rowGroups, begin,
            std::min(tiles.end * kernel.rows, matmul.m) - begin};
  }
  const Source *partOfA(const Operands &operands, const Rows &rows,
                        int64_t part) const {
    return operands.a + offset(matmul.a, rows.batch) +
           rows.begin * matmul.a[2] + part * depth * matmul.a[3];
  }
  ReadAhead readAhead(const Operands &operands, const Rows &rows,
                      int64_t part) const {
    ReadAhead ahead;
    ahead.row = reinterpret_cast<const char *>(partOfA(operands, rows, part));
    ahead.rows = isTransposed() ? depthOf(part) : rows.count;
    ahead.rowStride = matmul.a[isTransposed() ? 3 : 2] * sizeof(Source);
    ahead.rowBytes =
        (isTransposed() ? rows.count : depthOf(part)) * sizeof(Source);
    return ahead;
  }

  void multiplyItem(const Operands &operands, const Block &block,
                    int64_t groupNumber, int64_t item, int member) const {
    auto [batch, row, rows] = rowsOf(block, item);
    Share group = stripsOf(block, groupNumber);
    if (size(group) == 0) // the last block may have fewer strips than groups
      return;
    Element *copy = operands.workspace + elementsOfB() + member * elementsOfA();
    int64_t firstColumn = (block.strips.begin + group.begin) * kernel.columns;
    int64_t rowOfSums =
        (areSumsKept() ? blockStrips : size(group)) * kernel.columns;
    Element *sums = sumsOf(operands, row, group, member);
    Result *c =
        operands.c + offset(matmul.c, batch) + row * matmul.c[2] + firstColumn;
    int64_t tiles = size(group) * ceilDiv(rows, kernel.rows);
    for (int64_t part = block.parts.begin; part < block.parts.end; ++part) {
      device::callProgressHook();
      StripMatmul<Element> strip;
      strip.depth = depthOf(part);
      strip.rows = rows;
      strip.cStride = isRounded ? rowOfSums : matmul.c[2];
      strip.result = part == 0 && (isRounded || !matmul.accumulate)
                         ? TileResult::set
                     : isSummedApart() ? TileResult::added
                                       : TileResult::continued;
      setA(strip, partOfA(operands, {batch, row, rows}, part), copy);
      const Element *packed = packedPart(operands, block, batch, part);
      // Whoever takes the next item, it is most likely this thread.
      ReadAhead ahead =
          part + 1 < block.parts.end
              ? readAhead(operands, {batch, row, rows}, part + 1)
              : readAhead(operands,
                          rowsOf(block, (item + 1) % multiplyItems(block)),
                          block.parts.begin);
      ahead.linesPerTile = ceilDiv(ahead.lines(), tiles);
      strip.ahead = &ahead;
      for (int64_t i = group.begin; i < group.end; ++i) {
        int64_t column = (i - group.begin) * kernel.columns;
        strip.b = packed + i * depth * kernel.columns;
        if constexpr (isRounded)
          strip.c = sums + column;
        else
          strip.c = c + column;
        strip.columns =
            std::min(kernel.columns, matmul.n - firstColumn - column);
        kernel.multiply(strip);
      }
    }
    if constexpr (isRounded) {
      if (block.parts.end < parts())
        return;
      int64_t columns =
          std::min(size(group) * kernel.columns, matmul.n - firstColumn);
      for (int64_t i = 0; i < rows; ++i)
        roundRow(c + i * matmul.c[2], sums + i * rowOfSums, columns,
                 matmul.accumulate);
    }
  }

  /// Where those of an item begin, if they are rounded.
  Element *sumsOf(const Operands &operands, int64_t row, const Share &group,
                  int member) const {
    int64_t columns = blockStrips * kernel.columns;
    return operands.workspace + elementsOfB() + elementsOfA() * threads +
           (areSumsKept() ? row * columns + group.begin * kernel.columns
                          : member * itemRows() * paddedColumns(columns));
  }

  /// A as it lies, or copied.
  void setA(StripMatmul<Element> &strip, const Source *a, Element *copy) const {
    if constexpr (std::is_same_v<Source, Element>)
      strip.a = isCopied() ? copy : a;
    else
      strip.a = copy;
    strip.aStride = isTransposed() ? 0
                    : isCopied()   ? rowStrideOfCopy()
                                   : matmul.a[2];
    strip.aTileStride = strip.depth * kernel.rows + padding;
    if (isTransposed())
      packStrips(a, matmul.a[3], matmul.a[2], strip.depth, strip.rows, copy,
                 kernel.rows, strip.aTileStride);
    else if (isCopied())
      for (int64_t i = 0; i < strip.rows; ++i)
        copyRow(copy + i * rowStrideOfCopy(), a + i * matmul.a[2], strip.depth);
  }

  static int64_t size(const Share &share) { return share.end - share.begin; }
  int64_t depthOf(int64_t part) const {
    return std::min(depth, matmul.k - part * depth);
  }
  int64_t offset(const std::array<int64_t, 4> &strides, int64_t batch) const {
    return batch / matmul.batch[1] * strides[0] +
           batch % matmul.batch[1] * strides[1];
  }

  const MatmulDescriptor matmul;
  const TileKernel<Element> &kernel = tileKernel<Element>();
  const int threads;
  const int64_t depth;  ///< of a part
  const int64_t strips; ///< of C
  int64_t blockBatches = 1, blockParts = 1, blockStrips = 1;
  /// Of a block.
  int64_t rowGroups = 1, stripGroups = 1;
};

template <typename Element, typename Source = Element,
          typename Result = Element>
std::unique_ptr<MatmulImplementation> make(const MatmulDescriptor &matmul,
                                           int threads, size_t workspaceBytes) {
  auto made =
      std::make_unique<PanelMatmul<Element, Source, Result>>(matmul, threads);
  if (made->workspaceBytes() > workspaceBytes)
    return nullptr;
  return made;
}

} // namespace

std::unique_ptr<MatmulImplementation>
makePanelMatmul(const MatmulDescriptor &matmul, int threads,
                size_t workspaceBytes) {
  // A product with a vector reads A once: no tile would be used again.
  if (matmul.m < fewestRows || matmul.n == 1)
    return nullptr;
  switch (matmul.type) {
  case MatmulType::f64:
    return make<double>(matmul, threads, workspaceBytes);
  case MatmulType::f32:
    return make<float>(matmul, threads, workspaceBytes);
  case MatmulType::bf16:
    return matmul.cType == MatmulType::bf16
               ? make<float, bf16, bf16>(matmul, threads, workspaceBytes)
               : make<float, bf16>(matmul, threads, workspaceBytes);
  }
  return nullptr;
}

} // namespace ppopt
