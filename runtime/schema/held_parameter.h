//===- held_parameter.h - What a rank has of a parameter ------------------===//
//
// A parameter comes with a gradient and optimizer states of its shape. A rank
// has the same tile of each of them (geometry/tile.h): of a parameter that no
// axis cuts, all of it. Of the tile it has all elements or, where it is
// sharded, those that lie in the rank's chunk of the parameter's bucket
// (geometry/shard.h). Everything outside of tasks that reads or writes them
// finds them here.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_HELD_PARAMETER_H
#define PPOPT_RUNTIME_SCHEMA_HELD_PARAMETER_H

#include "geometry/tile.h"
#include "schema/place.h"
#include "schema/plan.h"
#include "schema/tensors.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::schema {

/// Elements [begin, end) of the rank's tile of a parameter, of its gradient or
/// of a state, in the arena of a place. Where a rank has none, begin = end = 0.
struct HeldElements {
  int64_t begin = 0, end = 0;
  Address address; ///< of element `begin`
  int64_t elementBytes = 0;

  int64_t count() const { return end - begin; }
  int64_t bytes() const { return count() * elementBytes; }
};

struct HeldParameter {
  int64_t parameter = 0; ///< index of Program::parameters
  HeldElements value;
  /// What tasks read: the same, or with asynchronous training a copy of all
  /// elements.
  HeldElements read;
  /// What tasks add to. None: nothing updates the parameter.
  std::optional<HeldElements> gradient;
  /// The part of `gradient` that is the sum over all ranks after a step: the
  /// elements that the rank updates.
  std::optional<HeldElements> summedGradient;
  std::vector<HeldElements> states;
  geometry::Tile tile = geometry::Tile(0);

  /// Returns which elements of the whole parameter these are.
  geometry::TilePart partOf(const HeldElements &elements) const {
    return {tile, elements.begin, elements.end};
  }
};

/// Returns what a rank of the mesh has of a parameter. `held` is the entry of
/// the rank's place; the addresses are as resolved as those in it.
HeldParameter findHeld(const PlaceParameter &held, const Parameter &parameter,
                       const Plan &plan, int64_t meshRank);

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_HELD_PARAMETER_H
