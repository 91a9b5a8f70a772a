//===- tensor_pieces.cpp - Which ranks have which bytes of a tensor -------===//

#include "checkpoint/tensor_pieces.h"

namespace ppopt::train {
namespace {

using runtime::Address;
using runtime::PlaceParameter;
using runtime::Program;

/// Returns the rank of the job that is a rank of the mesh.
int64_t jobRank(const Program &program, int64_t meshRank) {
  return program.local ? 0 : meshRank;
}

/// Returns a copy per rank of the owner's place. `address` is there.
std::vector<TensorCopy> wholeCopies(const Program &program, size_t parameter,
                                    const Address &address, int64_t bytes) {
  int64_t place = program.parameters[parameter].places.front();
  std::vector<TensorCopy> copies;
  for (int64_t rank : program.plan.getMesh().ranksOf(place))
    copies.push_back({{jobRank(program, rank), {place, address}, 0, bytes}});
  return copies;
}

/// Returns a copy per group of the shard, by least rank. `addressOn(held,
/// owned)` is that of the elements that a rank has.
template <typename AddressOn>
std::vector<TensorCopy> shardedCopies(const Program &program, size_t parameter,
                                      int64_t elementSize,
                                      const AddressOn &addressOn) {
  geometry::Mesh mesh = program.plan.getMesh();
  geometry::Group group = program.ownedParameter(parameter).shard->group();
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
      const PlaceParameter &held = *program.places[place].find(parameter);
      geometry::OwnedElements owned = schema::ownedElements(
          held, program.parameters[parameter], program.plan, member);
      if (owned.count() > 0)
        copy.push_back({jobRank(program, member),
                        {place, addressOn(held, owned)},
                        owned.begin * elementSize,
                        owned.count() * elementSize});
    }
  }
  return copies;
}

Address plus(Address address, int64_t bytes) {
  address.base += bytes;
  return address;
}

} // namespace

std::vector<TensorCopy> copiesOfParameter(const Program &program,
                                          size_t parameter) {
  return wholeCopies(program, parameter,
                     program.ownedParameter(parameter).address,
                     program.parameters[parameter].bytes());
}

std::vector<TensorCopy> copiesOfState(const Program &program, size_t parameter,
                                      size_t state) {
  const PlaceParameter &held = program.ownedParameter(parameter);
  if (!held.shard)
    return wholeCopies(program, parameter, held.states[state].address,
                       program.parameters[parameter].bytes());
  int64_t size = byteSize(program.parameters[parameter].type);
  return shardedCopies(
      program, parameter, size,
      [&](const PlaceParameter &on, const geometry::OwnedElements &owned) {
        return plus(on.states[state].address, owned.at * size);
      });
}

TensorCopy firstCopyOfGradient(const Program &program, size_t parameter) {
  const PlaceParameter &held = program.ownedParameter(parameter);
  if (!held.shard)
    return wholeCopies(program, parameter, *held.gradient,
                       program.parameters[parameter].gradientBytes())
        .front();
  int64_t size = byteSize(program.parameters[parameter].gradientType);
  return shardedCopies(program, parameter, size,
                       [&](const PlaceParameter &on,
                           const geometry::OwnedElements &owned) {
                         return plus(*on.gradient, owned.begin * size);
                       })
      .front();
}

} // namespace ppopt::train
