//===- tensor_pieces.cpp - Which ranks have which elements of a tensor ----===//

#include "schema/tensor_pieces.h"

#include <optional>
#include <utility>

namespace ppopt::schema {
namespace {

const HeldElements &select(const HeldParameter &held, const TensorOf &tensor) {
  switch (tensor.kind) {
  case TensorOf::summedGradient:
    return *held.summedGradient;
  case TensorOf::state:
    return held.states[tensor.number];
  case TensorOf::value:
    break;
  }
  return held.value;
}

/// Returns the group whose members together have all of the tensor.
geometry::Group findGroup(const Program &program, const TensorOf &tensor) {
  geometry::Group group =
      program.ownedParameter(tensor.parameter)
          .holders(tensor.kind == TensorOf::value ? ShardOf::parameters
                                                  : ShardOf::states);
  for (std::string &axis : program.parameters[tensor.parameter].cutAxes())
    group.axes.push_back(std::move(axis)); // those of shards are others
  return group;
}

} // namespace

std::vector<int64_t> findHolders(const Program &program,
                                 const TensorOf &tensor) {
  const Parameter &parameter = program.parameters[tensor.parameter];
  geometry::Mesh mesh = program.plan.getMesh();
  std::vector<int64_t> holders;
  for (int64_t place :
       mesh.placesOf(findGroup(program, tensor), parameter.places.front())) {
    const PlaceParameter &entry = *program.places[place].find(tensor.parameter);
    // Ranks at the same position of a shard's group hold the same elements.
    geometry::Group group =
        entry.shard ? entry.shard->group() : geometry::Group();
    std::vector<std::optional<bool>> holds(size_t(mesh.size(group)));
    for (int64_t rank : mesh.ranksOf(place)) {
      std::optional<bool> &known =
          holds[size_t(mesh.position(group, rank).value_or(0))];
      if (!known)
        known = select(findHeld(entry, parameter, program.plan, rank), tensor)
                    .count() > 0;
      if (*known)
        holders.push_back(rank);
    }
  }
  return holders;
}

TensorCopy findCopy(const Program &program, const TensorOf &tensor,
                    std::optional<int64_t> rank) {
  const Parameter &parameter = program.parameters[tensor.parameter];
  geometry::Mesh mesh = program.plan.getMesh();
  if (!rank || program.local)
    rank = mesh.firstRank(parameter.places.front());
  TensorCopy copy;
  for (int member : mesh.members(findGroup(program, tensor), *rank).ranks) {
    int64_t place = mesh.placeOf(member);
    HeldParameter held = findHeld(*program.places[place].find(tensor.parameter),
                                  parameter, program.plan, member);
    const HeldElements &elements = select(held, tensor);
    if (elements.count() > 0)
      copy.push_back({program.local ? 0 : member, place, elements.address,
                      held.partOf(elements), elements.elementBytes});
  }
  return copy;
}

} // namespace ppopt::schema
