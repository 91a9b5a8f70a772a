//===- sharded_program.h - Hand-written programs with shards --------------===//
//
// One model under any mesh: parameters in buckets, each with two optimizer
// states or none, and no actions. Tests fill the memory themselves. Buckets
// have gaps, as those of the compiler. With an axis `pp` of two places `a` is
// on the first, `b` and `frozen` on the second, and the bucket of tied
// parameters on both: sharded over the ranks of both, or over those of each.
//
// Axes may cut the parameters of another model, whose sizes divide.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_SHARDED_PROGRAM_H
#define PPOPT_TEST_RUNTIME_SHARDED_PROGRAM_H

#include "program_document.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sharded {

using program_document::json;

/// Views a dimension of (local) size L as [outer, parts, L / (outer parts)], of
/// which a coordinate on the axis has one of the parts (docs/sharding.md).
struct DimensionCut {
  const char *axis;
  int parts, outer;
};

struct Member {
  const char *name;
  int elements; ///< on a rank
  bool trained = true;
  int columns = 0; ///< of a matrix, on a rank; 0: a vector
  /// By dimension, outermost first.
  std::vector<std::vector<DimensionCut>> cuts = {};

  std::vector<int> sizes() const {
    return columns == 0 ? std::vector{elements}
                        : std::vector{elements / columns, columns};
  }
  json shape() const { return sizes(); }
  bool isCut() const {
    return std::any_of(cuts.begin(), cuts.end(),
                       [](auto &each) { return !each.empty(); });
  }
  std::vector<int> globalSizes() const {
    std::vector<int> all = sizes();
    for (size_t dim = 0; dim < cuts.size(); ++dim)
      for (const DimensionCut &cut : cuts[dim])
        all[dim] *= cut.parts;
    return all;
  }
  json tile() const {
    json list = json::array();
    for (size_t dim = 0; dim < cuts.size(); ++dim) {
      list.push_back(json::array());
      int local = globalSizes()[dim];
      for (const DimensionCut &cut : cuts[dim]) {
        list.back().push_back({{"axis", cut.axis},
                               {"parts", cut.parts},
                               {"period", local / cut.outer}});
        local /= cut.parts;
      }
    }
    return {{"global_shape", globalSizes()}, {"cuts", list}};
  }
  /// Returns the same on a rank, if axes cut it so.
  Member cut(std::vector<std::vector<DimensionCut>> by) const {
    Member local = *this;
    local.cuts = std::move(by);
    for (size_t dim = 0; dim < local.cuts.size(); ++dim)
      for (const DimensionCut &cut : local.cuts[dim]) {
        local.elements /= cut.parts;
        if (dim == 1)
          local.columns /= cut.parts;
      }
    return local;
  }
};

struct Bucket {
  std::string type;
  bool isTied, isLast; ///< on both places, on the last one
  std::vector<Member> members;

  int size() const { return type == "f64" ? 8 : 4; }
  /// The first element of a member: each begins at a multiple of 64 bytes.
  int first(size_t member) const {
    int at = 0, step = 64 / size();
    for (size_t i = 0; i < member; ++i)
      at += (members[i].elements + step - 1) / step * step;
    return at;
  }
  int elements() const {
    return first(members.size() - 1) + members.back().elements;
  }
};

/// One element; fewer than ranks; three and more chunks; odd sizes. `longest`
/// is a multiple of 13.
inline std::vector<Bucket> buckets(int longest = 1001) {
  return {{"f32",
           false,
           false,
           {{"a.one", 1},
            {"a.two", 2},
            {"a.long", longest, true, /*columns=*/13},
            {"a.odd", 37}}},
          {"f64", false, true, {{"b.short", 3}}},
          {"f32", true, true, {{"t.first", 7}, {"t.second", 1}}},
          {"f64", false, true, {{"frozen", 5, /*trained=*/false}}}};
}

/// What axes cut: `tp` has two coordinates, `m` three.
enum class Tiles {
  None,    ///< nothing, of the first model
  Whole,   ///< nothing
  Columns, ///< the columns of the matrix, and the vectors
  Rows,    ///< the rows of the matrix alone
  Nested,  ///< every other column, and inside of parts of the vectors
  Both,    ///< the matrix along both dimensions; vectors twice
};

/// The same for a model whose sizes divide.
inline std::vector<Bucket> tiledBuckets(Tiles tiles, int longest) {
  auto vector = [&](const char *name, int elements, int outer,
                    bool trained = true) {
    Member whole{name, elements, trained};
    switch (tiles) {
    case Tiles::Columns:
      return whole.cut({{{"tp", 2, 1}}});
    case Tiles::Nested:
      return whole.cut({{{"tp", 2, 3}}});
    case Tiles::Both:
      return whole.cut({{{"tp", 2, 1}, {"m", 3, outer}}});
    default:
      return whole;
    }
  };
  Member matrix{"a.long", longest, true, /*columns=*/26};
  if (tiles == Tiles::Columns)
    matrix = matrix.cut({{}, {{"tp", 2, 1}}});
  if (tiles == Tiles::Rows)
    matrix = matrix.cut({{{"tp", 2, 1}}, {}});
  if (tiles == Tiles::Nested)
    matrix = matrix.cut({{}, {{"tp", 2, 13}}});
  if (tiles == Tiles::Both)
    matrix = matrix.cut({{{"m", 3, 2}}, {{"tp", 2, 1}}});
  return {{"f32",
           false,
           false,
           {{"a.one", 1}, {"a.two", 2}, matrix, vector("a.odd", 60, 5)}},
          {"f64", false, true, {vector("b.short", 6, 1)}},
          {"f32", true, true, {vector("t.first", 12, 2), {"t.second", 1}}},
          {"f64", false, true, {vector("frozen", 6, 1, /*trained=*/false)}}};
}

struct Axis {
  const char *name;
  int size;
};

struct Layout {
  std::vector<Axis> mesh;
  std::vector<const char *> axes = {}; ///< of shards; none: not sharded
  bool local = false;
  int longest = 1001; ///< elements of `a.long`
  bool hasStates = true;
  const char *of = "states"; ///< what is sharded, and all before it
  bool spansPlaces = true;   ///< the groups of tied parameters
  Tiles tiles = Tiles::None;

  std::vector<Bucket> buckets() const {
    return tiles == Tiles::None ? sharded::buckets(longest)
                                : tiledBuckets(tiles, longest);
  }

  /// The same, where axes cut the parameters of the other model.
  Layout cut(Tiles by, int elements = 2184) const {
    Layout layout = *this;
    layout.tiles = by;
    layout.longest = elements;
    return layout;
  }
  /// The same, where gradients or parameters are sharded too.
  Layout shards(const char *what) const {
    Layout layout = *this;
    layout.of = what;
    return layout;
  }
  /// The same, where the ranks of each place shard tied parameters.
  Layout apart() const {
    Layout layout = *this;
    layout.spansPlaces = false;
    return layout;
  }

  int size(const std::string &axis) const {
    for (const Axis &each : mesh)
      if (each.name == axis)
        return each.size;
    return 1;
  }
  int places() const { return size("pp"); }
  /// The members of a bucket's group.
  int group(const Bucket &bucket) const {
    int ranks = spansPlaces && bucket.isTied ? places() : 1;
    for (const char *axis : axes)
      ranks *= size(axis);
    return ranks;
  }
  bool shardsParameters() const { return of == std::string("parameters"); }
  bool shardsGradients() const { return of != std::string("states"); }
  /// Parameters that are not trained have nothing else to shard.
  bool isSharded(const Bucket &bucket) const {
    return (!axes.empty() || (local && bucket.isTied)) &&
           (bucket.members[0].trained || shardsParameters());
  }
  std::vector<int> placesOf(const Bucket &bucket) const {
    if (places() == 1 || !bucket.isLast)
      return {0};
    return bucket.isTied ? std::vector{0, 1} : std::vector{1};
  }
};

inline json program(const Layout &layout) {
  using namespace program_document;
  json mesh = json::array();
  for (const Axis &axis : layout.mesh)
    mesh.push_back({{"axis", axis.name}, {"size", axis.size}});
  json result = document("sharded", mesh, 60, 1);
  result["plan"]["optimizer"] = "adamw";
  std::vector<json> held(layout.places(), json::array());
  std::vector<int> end(layout.places());
  for (int place = 0; place < layout.places(); ++place)
    end[place] = PPOPT_KEY_OFFSET(1) + 128 * place;
  auto take = [&](int place, int bytes) {
    int offset = (end[place] + 63) / 64 * 64;
    end[place] = offset + bytes;
    return offset;
  };
  std::vector<int> losses;
  for (int place = 0; place < layout.places(); ++place)
    losses.push_back(take(place, 8));
  int number = 0;
  for (const Bucket &bucket : layout.buckets()) {
    int ranks = layout.group(bucket), size = bucket.size();
    int chunk = (bucket.elements() + ranks - 1) / ranks;
    std::vector<int> places = layout.placesOf(bucket);
    bool shards = layout.isSharded(bucket);
    json axes = json::array();
    for (const char *axis : layout.axes)
      axes.push_back(axis);
    if (places.size() > 1 && layout.spansPlaces)
      axes.push_back("pp");
    // The offsets of a bucket's chunks on each of its places.
    struct Chunks {
      int m = -1, v = -1, gradient = -1, value = -1;
    };
    std::vector<Chunks> chunks(places.size());
    for (size_t on = 0; on < places.size() && shards; ++on) {
      auto takeChunk = [&] { return take(places[on], chunk * size); };
      if (bucket.members[0].trained)
        chunks[on] = {takeChunk(), takeChunk()};
      if (bucket.members[0].trained && layout.shardsGradients())
        chunks[on].gradient = takeChunk();
      if (layout.shardsParameters())
        chunks[on].value = takeChunk();
    }
    for (size_t i = 0; i < bucket.members.size(); ++i, ++number) {
      const Member &member = bucket.members[i];
      result["parameters"].push_back(parameter(member.name, member.shape(),
                                               bucket.type.c_str(),
                                               member.trained, places));
      if (member.isCut())
        result["parameters"].back()["tile"] = member.tile();
      for (size_t on = 0; on < places.size(); ++on) {
        int place = places[on];
        auto chunkOrWhole = [&](int offset) {
          return offset >= 0 ? offset : take(place, member.elements * size);
        };
        int value = chunkOrWhole(chunks[on].value);
        json entry = heldParameter(number, value, -1);
        if (member.trained) {
          int gradient = chunkOrWhole(chunks[on].gradient);
          int m = chunkOrWhole(chunks[on].m), v = chunkOrWhole(chunks[on].v);
          entry = heldParameter(
              number, value, gradient,
              {{{"name", "m"}, {"offset", m}}, {{"name", "v"}, {"offset", v}}});
        }
        if (!layout.hasStates)
          entry["states"] = json::array();
        if (shards) {
          entry["shard"] = {{"of", layout.of},
                            {"axes", axes},
                            {"elements", bucket.elements()},
                            {"first", bucket.first(i)}};
          if (places.size() > 1 && layout.spansPlaces)
            entry["shard"]["among"] = places;
        }
        held[place].push_back(entry);
      }
    }
  }
  for (int place = 0; place < layout.places(); ++place) {
    json made = barePlace(place, (end[place] + 63) / 64 * 64, 128 * place,
                          losses[place]);
    made["parameters"] = held[place];
    result["places"].push_back(made);
  }
  if (layout.local) {
    result["plan"]["launch"] = "local";
    result["local"] = {{"actions", json::array()},
                       {"eval_actions", json::array()}};
  }
  return result;
}

} // namespace sharded

#endif // PPOPT_TEST_RUNTIME_SHARDED_PROGRAM_H
