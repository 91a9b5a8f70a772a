//===- tensor_pieces.cpp - Which ranks have which elements of a tensor ----===//

#include "checkpoint/tensor_pieces.h"

#include <utility>

namespace ppopt::train {
namespace {

using runtime::Program;
using schema::HeldElements;
using schema::HeldParameter;
using schema::ShardOf;

/// Returns what a rank of the mesh has of a parameter.
HeldParameter findHeld(const Program &program, size_t parameter, int64_t place,
                       int64_t meshRank) {
  return schema::findHeld(*program.places[place].find(int64_t(parameter)),
                          program.parameters[parameter], program.plan,
                          meshRank);
}

/// Returns the group whose members together have all of what `tensors` names.
geometry::Group findGroup(const Program &program, size_t parameter,
                          ShardOf tensors) {
  geometry::Group group = program.ownedParameter(parameter).holders(tensors);
  for (std::string &axis : program.parameters[parameter].cutAxes())
    group.axes.push_back(std::move(axis)); // those of shards are others
  return group;
}

/// Returns the copies of a tensor of a parameter, by least rank: one per group
/// of ranks that have elements of it together. `select` returns those of a
/// rank.
template <typename Select>
std::vector<TensorCopy> findCopies(const Program &program, size_t parameter,
                                   ShardOf tensors, const Select &select) {
  geometry::Mesh mesh = program.plan.getMesh();
  geometry::Group group = findGroup(program, parameter, tensors);
  int64_t owner = program.parameters[parameter].places.front();
  std::vector<TensorCopy> copies;
  for (int64_t rank : mesh.ranksOf(owner)) {
    geometry::Members members = mesh.members(group, rank);
    // The group is that of its first rank on the owner's place.
    bool isFirst = true;
    for (int member : members.ranks)
      isFirst &= member >= rank || mesh.placeOf(member) != owner;
    if (!isFirst)
      continue;
    TensorCopy &copy = copies.emplace_back();
    for (int member : members.ranks) {
      int64_t place = mesh.placeOf(member);
      HeldParameter held = findHeld(program, parameter, place, member);
      const HeldElements &elements = select(held);
      if (elements.count() > 0)
        copy.push_back({program.local ? 0 : member,
                        {place, elements.address},
                        held.partOf(elements),
                        elements.elementBytes});
    }
  }
  return copies;
}

} // namespace

std::vector<TensorCopy> copiesOfParameter(const Program &program,
                                          size_t parameter) {
  return findCopies(program, parameter, ShardOf::parameters,
                    [](const HeldParameter &held) -> const HeldElements & {
                      return held.value;
                    });
}

std::vector<TensorCopy> copiesOfState(const Program &program, size_t parameter,
                                      size_t state) {
  return findCopies(program, parameter, ShardOf::states,
                    [&](const HeldParameter &held) -> const HeldElements & {
                      return held.states[state];
                    });
}

TensorCopy firstCopyOfGradient(const Program &program, size_t parameter) {
  return findCopies(program, parameter, ShardOf::states,
                    [](const HeldParameter &held) -> const HeldElements & {
                      return *held.summedGradient;
                    })
      .front();
}

} // namespace ppopt::train
