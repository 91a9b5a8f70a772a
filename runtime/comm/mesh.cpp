//===- mesh.cpp - Named axes and groups of ranks --------------------------===//

#include "comm/mesh.h"

#include <algorithm>
#include <stdexcept>

namespace ppopt::comm {

Mesh::Mesh(std::vector<MeshAxis> axes) : theAxes(std::move(axes)) {
  for (size_t i = 0; i < theAxes.size(); ++i) {
    if (theAxes[i].size < 1)
      throw std::invalid_argument("mesh axis '" + theAxes[i].name +
                                  "' has size " +
                                  std::to_string(theAxes[i].size));
    for (size_t j = 0; j < i; ++j)
      if (theAxes[j].name == theAxes[i].name)
        throw std::invalid_argument("mesh axis '" + theAxes[i].name +
                                    "' is named twice");
    rankCount *= theAxes[i].size;
  }
}

size_t Mesh::indexOf(const std::string &axis) const {
  std::string known;
  for (size_t i = 0; i < theAxes.size(); ++i) {
    if (theAxes[i].name == axis)
      return i;
    known += (i ? ", " : "") + theAxes[i].name;
  }
  throw std::invalid_argument("the mesh has no axis '" + axis +
                              "'; its axes are: " + known);
}

int Mesh::strideOf(size_t axis) const {
  int stride = 1;
  for (size_t i = axis + 1; i < theAxes.size(); ++i)
    stride *= theAxes[i].size;
  return stride;
}

int Mesh::coordinate(int rank, const std::string &axis) const {
  size_t index = indexOf(axis);
  return rank / strideOf(index) % theAxes[index].size;
}

Group Mesh::group(int rank, const std::vector<std::string> &axes,
                  const std::vector<int> &among) const {
  std::vector<bool> differs(theAxes.size(), false);
  for (const std::string &axis : axes)
    differs[indexOf(axis)] = true;
  auto belongs = [&](int member) {
    for (size_t i = 0; i < theAxes.size(); ++i)
      if (!differs[i] && coordinate(member, theAxes[i].name) !=
                             coordinate(rank, theAxes[i].name))
        return false;
    return among.empty() || std::count(among.begin(), among.end(),
                                       coordinate(member, placeAxis)) > 0;
  };
  Group group;
  for (int member = 0; member < rankCount; ++member)
    if (belongs(member))
      group.ranks.push_back(member);
  auto self = std::find(group.ranks.begin(), group.ranks.end(), rank);
  if (self == group.ranks.end())
    throw std::invalid_argument("rank " + std::to_string(rank) +
                                " is not in a group of its own");
  group.position = static_cast<int>(self - group.ranks.begin());
  return group;
}

int Mesh::firstRank(int place) const {
  bool hasPlaces =
      std::any_of(theAxes.begin(), theAxes.end(),
                  [](const MeshAxis &axis) { return axis.name == placeAxis; });
  return hasPlaces || place != 0 ? peer(0, place) : 0;
}

int Mesh::peer(int rank, int place) const {
  size_t index = indexOf(placeAxis);
  if (place < 0 || place >= theAxes[index].size)
    throw std::invalid_argument("the mesh has no place " +
                                std::to_string(place));
  return rank + (place - coordinate(rank, placeAxis)) * strideOf(index);
}

} // namespace ppopt::comm
