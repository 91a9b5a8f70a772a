//===- mesh.cpp - Named axes and the groups of ranks along them
//-------------===//

#include "comm/mesh.h"

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

Group Mesh::group(int rank, const std::string &axis) const {
  Group group;
  if (axis == allAxes) {
    for (int member = 0; member < rankCount; ++member)
      group.ranks.push_back(member);
    group.position = rank;
    return group;
  }
  size_t index = indexOf(axis);
  int stride = strideOf(index);
  group.position = coordinate(rank, axis);
  for (int i = 0; i < theAxes[index].size; ++i)
    group.ranks.push_back(rank + (i - group.position) * stride);
  return group;
}

} // namespace ppopt::comm
