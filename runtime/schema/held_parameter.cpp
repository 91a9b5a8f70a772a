//===- held_parameter.cpp - What a rank has of a parameter ----------------===//

#include "schema/held_parameter.h"

#include "geometry/shard.h"
#include "schema/program.h"

namespace ppopt::schema {
namespace {

/// Returns the elements that a rank has of what is sharded.
geometry::OwnedElements findOwned(const Shard &shard,
                                  const Parameter &parameter, const Plan &plan,
                                  int64_t meshRank) {
  geometry::Mesh mesh = plan.getMesh();
  geometry::Group group = shard.group();
  return geometry::ownedElements(shard.elements, shard.first,
                                 parameter.elements(), mesh.size(group),
                                 mesh.position(group, meshRank).value_or(0));
}

/// Returns elements of which the first is element `at` of a buffer.
HeldElements locate(const geometry::OwnedElements &owned, Address buffer,
                    int64_t at, ElementType type) {
  int64_t size = byteSize(type);
  buffer.base += at * size;
  return {owned.begin, owned.end, std::move(buffer), size};
}

} // namespace

HeldParameter findHeld(const PlaceParameter &held, const Parameter &parameter,
                       const Plan &plan, int64_t meshRank) {
  geometry::OwnedElements all{0, parameter.elements(), 0}, chunk;
  if (held.shard)
    chunk = findOwned(*held.shard, parameter, plan, meshRank);
  auto owned = [&](ShardOf tensors) {
    return held.shards(tensors) ? chunk : all;
  };
  geometry::OwnedElements value = owned(ShardOf::parameters),
                          gradient = owned(ShardOf::gradients),
                          updated = owned(ShardOf::states);
  HeldParameter found;
  found.parameter = held.parameter;
  found.tile = tileOf(parameter, plan, meshRank);
  found.value = locate(value, held.address, value.at, parameter.type);
  found.read = held.working ? locate(all, *held.working, 0, parameter.type)
                            : found.value;
  if (held.gradient) {
    found.gradient =
        locate(gradient, *held.gradient, gradient.at, parameter.gradientType);
    // If the buffer is the whole gradient, the chunk lies in it.
    found.summedGradient =
        locate(updated, *held.gradient,
               held.shards(ShardOf::gradients) ? updated.at : updated.begin,
               parameter.gradientType);
  }
  for (const OptimizerState &state : held.states)
    found.states.push_back(
        locate(updated, state.address, updated.at, parameter.type));
  return found;
}

} // namespace ppopt::schema
