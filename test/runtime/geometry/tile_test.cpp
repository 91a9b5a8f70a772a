//===- tile_test.cpp - The runs of a tile ---------------------------------===//
//
// The reference cuts a list of all indices as docs/sharding.md says what
// `#pp.sharding` means: entry `outer * axis` views a dimension of local size L
// as [outer, parts, L / (outer parts)] and takes one of the parts.
//
//===----------------------------------------------------------------------===//

#include "geometry/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace ppopt::geometry;

namespace {

using List = std::vector<int64_t>;

struct Entry {
  int64_t outer, parts, coordinate;
};
using Entries = std::vector<std::vector<Entry>>; // by dimension

int64_t product(const List &sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

/// Returns the global indices of a tile's elements.
List takeTile(const List &shape, const Entries &entries) {
  List taken(product(shape));
  std::iota(taken.begin(), taken.end(), 0);
  List local = shape;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (const Entry &entry : entries[dim]) {
      // Views it as [before, outer, parts, rest, after].
      int64_t before = product({local.begin(), local.begin() + dim});
      int64_t after = product({local.begin() + dim + 1, local.end()});
      int64_t rest = local[dim] / (entry.outer * entry.parts);
      List part;
      for (int64_t i = 0; i < before * entry.outer; ++i)
        for (int64_t j = 0; j < rest * after; ++j)
          part.push_back(
              taken[(i * entry.parts + entry.coordinate) * rest * after + j]);
      taken = part;
      local[dim] /= entry.parts;
    }
  return taken;
}

/// Returns the same tile.
Tile makeTile(const List &shape, const Entries &entries) {
  std::vector<std::vector<DimensionCut>> cuts(shape.size());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t before = 1;
    for (const Entry &entry : entries[dim]) {
      cuts[dim].push_back(
          {entry.parts, shape[dim] / (entry.outer * before), entry.coordinate});
      before *= entry.parts;
    }
  }
  return Tile(shape, cuts);
}

/// Expects that the runs of [begin, end) are these global indices, and that no
/// two could be one.
void expectRuns(const Tile &tile, int64_t begin, int64_t end,
                const List &taken) {
  int64_t local = begin, after = -1;
  tile.forEachRun(begin, end, [&](const Run &run) {
    ASSERT_EQ(run.local, local);
    ASSERT_GT(run.count, 0);
    ASSERT_NE(run.global, after);
    for (int64_t i = 0; i < run.count; ++i)
      ASSERT_EQ(run.global + i, taken.at(local + i));
    local += run.count;
    after = run.global + run.count;
  });
  EXPECT_EQ(local, end);
}

/// Expects that windows of a tensor of `total` elements have these of the
/// elements [begin, end) of a tile, and where their bytes are.
void expectParts(const Tile &tile, int64_t total, const List &taken) {
  int64_t count = taken.size();
  for (int64_t global = 0; global <= total; ++global)
    ASSERT_EQ(tile.countBelow(global),
              std::lower_bound(taken.begin(), taken.end(), global) -
                  taken.begin());
  TilePart part{tile, count / 4, count - count / 5};
  int64_t window = total / 3 + 1, found = part.begin;
  for (int64_t first = 0; first < total; first += window) {
    TilePart within = part.within(first, first + window);
    EXPECT_LE(part.begin, within.begin);
    EXPECT_LE(within.end, part.end);
    for (int64_t i = part.begin; i < part.end; ++i)
      EXPECT_EQ(within.begin <= i && i < within.end,
                first <= taken[i] && taken[i] < first + window);
    found += within.count();
  }
  EXPECT_EQ(found, part.end);
  constexpr int64_t size = 4;
  List bytes(part.count() * size, -1);
  part.inBytes(size).forEachRun(
      [&](int64_t global, int64_t offset, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          bytes.at(offset + i) = global + i;
      });
  for (int64_t i = 0; i < part.count() * size; ++i)
    ASSERT_EQ(bytes[i], taken[part.begin + i / size] * size + i % size);
}

void expectTile(const List &shape, const Entries &entries) {
  Tile tile = makeTile(shape, entries);
  List taken = takeTile(shape, entries);
  int64_t count = taken.size();
  ASSERT_EQ(tile.elements(), count);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(tile.globalIndex(i), taken[i]);
  for (int64_t begin : {int64_t{0}, count / 3, count - 1})
    for (int64_t end : {begin, begin + 1, begin + (count - begin) / 2, count})
      expectRuns(tile, begin, end, taken);
  expectParts(tile, product(shape), taken);
}

TEST(Tile, WholeTensorsAreOneRun) {
  expectTile({}, {});
  expectTile({5, 7}, {{}, {}});
  List runs;
  Tile(35).forEachRun(0, 35, [&](const auto &run) {
    runs = {run.global, run.local, run.count};
  });
  EXPECT_EQ(runs, (List{0, 0, 35}));
}

TEST(Tile, RowsAreOneRun) {
  int runs = 0;
  makeTile({6, 5}, {{{1, 3, 2}}, {}}).forEachRun(0, 10, [&](const auto &run) {
    EXPECT_EQ(run.global, 20);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
}

// Of [q|k|v], 3 times 4 heads of 2, the second rank of two along tp has heads 2
// and 3 of each.
TEST(Tile, HeadsInsideOfQKV) {
  List columns;
  Tile tile = makeTile({1, 24}, {{}, {{3, 2, 1}}});
  for (int64_t i = 0; i < tile.elements(); ++i)
    columns.push_back(tile.globalIndex(i));
  EXPECT_EQ(columns, (List{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23}));
  for (int64_t coordinate : {0, 1})
    expectTile({5, 24}, {{}, {{3, 2, coordinate}}});
}

TEST(Tile, SeveralCuts) {
  expectTile({24, 10}, {{{1, 2, 1}, {3, 2, 0}}, {{1, 5, 3}}});
  expectTile({4, 6, 8}, {{{1, 2, 1}}, {{3, 2, 1}}, {{1, 2, 0}, {2, 2, 1}}});
  expectTile({6}, {{{3, 2, 1}}}); // runs of one element
}

TEST(Tile, Random) {
  std::mt19937 random(1);
  auto below = [&](int64_t count) { return int64_t(random() % count); };
  for (int round = 0; round < 2000; ++round) {
    List shape;
    Entries entries;
    for (int64_t dims = below(4); dims >= 0; --dims) {
      // Digits of the index, of which some are cut.
      int64_t size = 1, uncut = 1;
      entries.emplace_back();
      for (int64_t digits = below(5); digits > 0; --digits) {
        int64_t extent = 1 + below(3);
        size *= extent;
        if (extent > 1 && below(2))
          entries.back().push_back({uncut, extent, below(extent)});
        else
          uncut *= extent;
      }
      shape.push_back(size);
    }
    expectTile(shape, entries);
  }
}

} // namespace
