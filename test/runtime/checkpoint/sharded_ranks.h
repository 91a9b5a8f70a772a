//===- sharded_ranks.h - Ranks of programs with shards --------------------===//
//
// Layouts of the program in sharded_program.h, and what their ranks have: found
// without the runtime's functions.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_CHECKPOINT_SHARDED_RANKS_H
#define PPOPT_TEST_RUNTIME_CHECKPOINT_SHARDED_RANKS_H

#include "comm/thread_transport.h"
#include "executor/rank.h"
#include "sharded_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace sharded {

using namespace ppopt;
using runtime::Program;

const Layout whole{{{"dp", 1}}};
const Layout notSharded{{{"dp", 3}}};
const Layout two{{{"dp", 2}}, {"dp"}};
const Layout three{{{"dp", 3}}, {"dp"}};
const Layout four{{{"dp", 4}}, {"dp"}};
const Layout hybrid{{{"dp", 2}, {"fsdp", 2}}, {"dp"}};
const Layout hybridInside{{{"dp", 2}, {"fsdp", 2}}, {"fsdp"}};
const Layout both{{{"dp", 2}, {"fsdp", 2}}, {"dp", "fsdp"}};
const Layout tied{{{"dp", 2}, {"pp", 2}}, {"dp"}};
const Layout tiedOutside{{{"pp", 2}, {"dp", 2}}, {"dp"}};
const Layout tiedHybrid{{{"dp", 2}, {"pp", 2}, {"fsdp", 2}}, {"fsdp"}};
const Layout tiedWhole{{{"dp", 2}, {"pp", 2}}};
const Layout local{{{"dp", 1}, {"pp", 2}}, {}, /*local=*/true};
const Layout stateless{{{"dp", 3}}, {"dp"}, false, 1001, /*hasStates=*/false};
const Layout large{{{"dp", 2}}, {"dp"}, false, /*longest=*/2500017};

const Layout tilesInside{{{"dp", 2}, {"tp", 2}}, {"dp"}};
const Layout tilesOutside{{{"tp", 2}, {"fsdp", 3}}, {"fsdp"}};
const Layout tilesAround{{{"tp", 2}, {"dp", 2}, {"m", 3}}, {"dp"}};

/// Those of all kinds, whatever is sharded.
inline std::vector<Layout> allLayouts() {
  std::vector<Layout> all{whole, notSharded, tiedWhole};
  for (const Layout &layout : {two, three, four, hybrid, hybridInside, both,
                               tied, tiedOutside, tiedHybrid, local})
    for (const char *of : {"states", "gradients", "parameters"})
      all.push_back(layout.shards(of));
  for (const Layout &layout : {tied, tiedHybrid})
    for (const char *of : {"states", "parameters"})
      all.push_back(layout.apart().shards(of));
  return all;
}

/// Those of the model that axes may cut: along rows, columns and both, with
/// chunks that begin inside of rows.
inline std::vector<Layout> cutLayouts() {
  std::vector<Layout> all{whole.cut(Tiles::Whole),
                          three.shards("parameters").cut(Tiles::Whole)};
  for (const char *of : {"states", "gradients", "parameters"})
    for (Tiles by : {Tiles::Columns, Tiles::Nested})
      all.push_back(tilesInside.shards(of).cut(by));
  all.push_back(tilesOutside.shards("parameters").cut(Tiles::Rows));
  all.push_back(tilesOutside.shards("states").cut(Tiles::Nested));
  all.push_back(Layout{{{"tp", 2}}}.cut(Tiles::Columns));
  all.push_back(Layout{{{"m", 3}, {"tp", 2}}}.cut(Tiles::Both));
  all.push_back(tilesAround.shards("parameters").cut(Tiles::Both));
  const Layout places{{{"dp", 2}, {"tp", 2}, {"pp", 2}}, {"dp"}};
  all.push_back(places.shards("states").cut(Tiles::Columns));
  all.push_back(places.apart().shards("parameters").cut(Tiles::Nested));
  return all;
}

/// Those that have the same parameters.
inline std::vector<Layout> layoutsLike(const Layout &layout) {
  return layout.tiles == Tiles::None ? allLayouts() : cutLayouts();
}

inline std::vector<Layout> everyLayout() {
  std::vector<Layout> all = allLayouts();
  for (const Layout &layout : cutLayouts())
    all.push_back(layout);
  return all;
}

inline std::string nameOf(const Layout &layout) {
  std::string name = layout.local ? "local" : "";
  for (const Axis &axis : layout.mesh)
    name += std::string(axis.name) + std::to_string(axis.size);
  for (const char *axis : layout.axes)
    name += std::string("_") + axis;
  if (!layout.axes.empty() || layout.local)
    name += std::string("_") + layout.of;
  constexpr const char *tiles[] = {"",      "_whole",  "_columns",
                                   "_rows", "_nested", "_both"};
  return name + (layout.spansPlaces ? "" : "_apart") + tiles[int(layout.tiles)];
}
inline void PrintTo(const Layout &layout, std::ostream *out) {
  *out << nameOf(layout);
}

inline Program read(const Layout &layout) {
  return runtime::readProgram(program(layout).dump());
}

/// Runs `body` on every rank.
inline void onRanks(const Program &program,
                    const std::function<void(ppopt_rank &)> &body) {
  int ranks = int(program.plan.ranks());
  auto run = [&](comm::Transport *transport) {
    ppopt_rank rank(program, nullptr, transport, {});
    body(rank);
  };
  if (ranks == 1)
    return run(nullptr);
  comm::runThreadRanks(ranks, [&](comm::Transport &t) { run(&t); });
}

//===----------------------------------------------------------------------===//
// What ranks have, found without the runtime's functions
//===----------------------------------------------------------------------===//

enum Kind { Value, M, V, Gradient };

/// The element of a tensor, another one for each. Exact in f32.
inline double elementOf(int parameter, Kind kind, int64_t element) {
  return double(1 + 4 * element + kind + 100000 * (parameter % 7) +
                (kind == Value ? 0.5 : 0));
}

using Elements = std::vector<int64_t>; ///< indices in the whole parameter

inline Elements allElements(const runtime::Parameter &parameter) {
  Elements all(parameter.globalElements());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns the elements of a member that a rank of the mesh has, in its order.
inline Elements elementsOnRank(const Member &member, const Program &program,
                               int64_t rank) {
  std::vector<int> sizes = member.sizes(), all = member.globalSizes();
  Elements elements;
  if (!member.isCut()) {
    elements.resize(member.elements);
    std::iota(elements.begin(), elements.end(), 0);
    return elements;
  }
  for (int64_t local = 0; local < member.elements; ++local) {
    int64_t rest = local, global = 0, stride = 1;
    for (size_t dim = sizes.size(); dim-- > 0;) {
      int64_t index = rest % sizes[dim];
      rest /= sizes[dim];
      // Undoes the cuts, the last one first: of [outer, parts, inner] to
      // [outer, inner].
      int64_t size = sizes[dim];
      for (size_t i = member.cuts[dim].size(); i-- > 0;) {
        const DimensionCut &cut = member.cuts[dim][i];
        int64_t inner = size / cut.outer;
        index = (index / inner * cut.parts +
                 program.plan.coordinate(rank, cut.axis)) *
                    inner +
                index % inner;
        size *= cut.parts;
      }
      global += index * stride;
      stride *= all[dim];
    }
    elements.push_back(global);
  }
  return elements;
}

template <typename T>
std::string bytesAs(int number, Kind kind, const Elements &elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  char *at = bytes.data();
  const int64_t *end = elements.data() + elements.size();
  for (const int64_t *i = elements.data(); i != end; ++i, at += sizeof(T)) {
    auto value = T(elementOf(number, kind, *i));
    std::memcpy(at, &value, sizeof(T));
  }
  return bytes;
}

/// As the program's type.
inline std::string bytesOf(const runtime::Parameter &parameter, int number,
                           Kind kind, const Elements &elements) {
  return parameter.type == runtime::ElementType::f64
             ? bytesAs<double>(number, kind, elements)
             : bytesAs<float>(number, kind, elements);
}

struct Range {
  int64_t begin, end, at;
};

/// Which elements of a parameter are in a rank's chunk of its bucket, which has
/// floor(E/n) elements and one more if its number is less than E mod n. `place`
/// is one that the rank holds.
inline Range inChunk(const Layout &layout, const Bucket &bucket, size_t member,
                     const Program &program, int64_t place, int64_t rank) {
  int64_t elements = bucket.members[member].elements;
  if (!layout.isSharded(bucket))
    return {0, elements, 0};
  // The position: mixed radix of the coordinates on the group's axes.
  int64_t position = 0;
  for (const Axis &axis : layout.mesh) {
    bool isPlace = std::string(axis.name) == "pp";
    bool isIn = isPlace
                    ? layout.spansPlaces && layout.placesOf(bucket).size() > 1
                    : std::count_if(layout.axes.begin(), layout.axes.end(),
                                    [&](const char *each) {
                                      return std::string(each) == axis.name;
                                    }) > 0;
    if (isIn)
      position = position * axis.size +
                 (isPlace ? place : program.plan.coordinate(rank, axis.name));
  }
  int64_t n = layout.group(bucket), total = bucket.elements();
  int64_t chunk = 0;
  for (int64_t i = 0; i < position; ++i)
    chunk += total / n + (i < total % n);
  int64_t next = chunk + total / n + (position < total % n);
  int64_t first = bucket.first(member);
  Range range{std::max(chunk, first), std::min(next, first + elements), 0};
  if (range.begin >= range.end)
    return {0, 0, 0};
  return {range.begin - first, range.end - first, range.begin - chunk};
}

/// Bytes of a rank.
struct Owned {
  Kind kind;
  int64_t place, offset; ///< in the arena of the place
  int parameter;
  Elements elements;
  std::string bytes;
};

/// Returns all bytes that a rank has and that are right: of gradients, those
/// that are sums.
inline std::vector<Owned> listOwned(const Layout &layout,
                                    const ppopt_rank &rank) {
  std::vector<Owned> all;
  for (const auto &memory : rank.places.memory) {
    if (!memory)
      continue;
    int number = 0;
    for (const Bucket &bucket : layout.buckets())
      for (size_t i = 0; i < bucket.members.size(); ++i, ++number) {
        const runtime::PlaceParameter *held = memory->place.find(number);
        if (!held)
          continue;
        const runtime::Parameter &parameter = rank.program.parameters[number];
        Elements onRank =
            elementsOnRank(bucket.members[i], rank.program, memory->meshRank);
        Range chunk = inChunk(layout, bucket, i, rank.program,
                              memory->place.place, rank.index);
        auto add = [&](Kind kind, const runtime::Address &address, Range range,
                       int64_t at) {
          Elements elements(onRank.begin() + range.begin,
                            onRank.begin() + range.end);
          if (!elements.empty())
            all.push_back({kind, memory->place.place,
                           address.offset() + at * bucket.size(), number,
                           elements,
                           bytesOf(parameter, number, kind, elements)});
        };
        Range value = layout.shardsParameters()
                          ? chunk
                          : Range{0, parameter.elements(), 0};
        add(Value, held->address, value, value.at);
        for (size_t state = 0; state < held->states.size(); ++state)
          add(state == 0 ? M : V, held->states[state].address, chunk, chunk.at);
        if (held->gradient)
          add(Gradient, *held->gradient, chunk,
              layout.shardsGradients() ? chunk.at : chunk.begin);
      }
  }
  return all;
}

inline void fillAll(const ppopt_rank &rank, uint8_t value) {
  for (const auto &memory : rank.places.memory)
    if (memory)
      rank.device->fill(rank.compute, memory->arena, value,
                        memory->place.arenaBytes);
  rank.device->synchronize(rank.compute);
}

/// Writes what the rank has, and `other` everywhere else.
inline void fill(const Layout &layout, const ppopt_rank &rank,
                 uint8_t other = 0x3f) {
  fillAll(rank, other);
  for (const Owned &owned : listOwned(layout, rank)) {
    rank.device->copyIn(rank.compute,
                        rank.places.memoryOf(owned.place).arena + owned.offset,
                        owned.bytes.data(), int64_t(owned.bytes.size()));
    rank.device->synchronize(rank.compute);
  }
}

/// Expects that a rank whose memory was `before` everywhere has what `fill`
/// writes of these kinds, and nothing else. `values`, if given, returns
/// elements of a parameter instead.
inline void expectFilled(
    const Layout &layout, const ppopt_rank &rank, uint8_t before,
    const std::set<Kind> &kinds,
    const std::function<std::string(const runtime::Parameter &,
                                    const Elements &)> &values = nullptr) {
  for (const auto &memory : rank.places.memory) {
    if (!memory)
      continue;
    std::string expected(memory->place.arenaBytes, char(before)),
        found(memory -> place.arenaBytes, '\0');
    for (const Owned &owned : listOwned(layout, rank))
      if (owned.place == memory->place.place && kinds.count(owned.kind))
        expected.replace(owned.offset, owned.bytes.size(),
                         values
                             ? values(rank.program.parameters[owned.parameter],
                                      owned.elements)
                             : owned.bytes);
    rank.device->copyOut(rank.compute, found.data(), memory->arena,
                         memory->place.arenaBytes);
    rank.device->synchronize(rank.compute);
    EXPECT_TRUE(found == expected)
        << nameOf(layout) << ", rank " << rank.index << ", place "
        << memory->place.place << ", from byte "
        << std::mismatch(found.begin(), found.end(), expected.begin()).first -
               found.begin();
  }
}

} // namespace sharded

#endif // PPOPT_TEST_RUNTIME_CHECKPOINT_SHARDED_RANKS_H
