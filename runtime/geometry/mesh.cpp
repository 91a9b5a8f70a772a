//===- mesh.cpp - Ranks on named axes, and groups of them -----------------===//

#include "geometry/mesh.h"

#include <algorithm>

namespace ppopt::geometry {

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

const Axis *Mesh::find(std::string_view axis) const {
  for (const Axis &candidate : axes)
    if (candidate.name == axis)
      return &candidate;
  return nullptr;
}

std::string Mesh::check() const {
  for (const Axis &axis : axes) {
    if (axis.size < 1)
      return "mesh axis '" + axis.name + "' has size " +
             std::to_string(axis.size);
    if (find(axis.name) != &axis)
      return "mesh axis '" + axis.name + "' is named twice";
  }
  if (axes.size() > mostAxes)
    return "the mesh has " + std::to_string(axes.size()) +
           " axes, and at most " + std::to_string(mostAxes) +
           " are possible: leave out '" + axes[mostAxes].name + "'";
  return "";
}

int64_t Mesh::ranks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

int64_t Mesh::size(std::string_view axis) const {
  const Axis *found = find(axis);
  return found ? found->size : 1;
}

int64_t Mesh::stride(std::string_view axis) const {
  const Axis *found = find(axis);
  if (!found)
    return 0;
  int64_t stride = 1;
  for (const Axis *minor = found + 1; minor != axes.data() + axes.size();
       ++minor)
    stride *= minor->size;
  return stride;
}

int64_t Mesh::coordinate(int64_t rank, std::string_view axis) const {
  return has(axis) ? rank / stride(axis) % size(axis) : 0;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  std::vector<int64_t> coordinates;
  for (const Axis &axis : axes)
    coordinates.push_back(coordinate(rank, axis.name));
  return coordinates;
}

int64_t Mesh::rankAt(const std::vector<int64_t> &coordinates) const {
  int64_t rank = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    rank = rank * axes[i].size + coordinates[i];
  return rank;
}

//===----------------------------------------------------------------------===//
// Places and the batch
//===----------------------------------------------------------------------===//

std::optional<int64_t> Mesh::peer(int64_t rank, int64_t place) const {
  if (place < 0 || place >= places())
    return std::nullopt;
  return rank + (place - placeOf(rank)) * stride(placeAxis);
}

std::vector<int64_t> Mesh::ranksOf(int64_t place) const {
  std::vector<int64_t> found;
  if (place < 0 || place >= places())
    return found;
  int64_t count = ranks(), run = has(placeAxis) ? stride(placeAxis) : count;
  for (int64_t begin = place * run; begin < count; begin += places() * run)
    for (int64_t rank = begin; rank < begin + run; ++rank)
      found.push_back(rank);
  return found;
}

int64_t Mesh::batchParts() const {
  int64_t parts = 1;
  for (const Axis &axis : axes)
    if (useOf(axis.name) == AxisUse::Batch)
      parts *= axis.size;
  return parts;
}

std::string_view Mesh::shardAxis() const {
  std::string_view found = batchAxis;
  for (const KnownAxis &axis : knownAxes)
    if (axis.use == AxisUse::Batch && size(axis.name) > 1)
      found = axis.name;
  return found;
}

int64_t Mesh::batchPart(int64_t rank) const {
  int64_t part = 0;
  for (const Axis &axis : axes)
    if (useOf(axis.name) == AxisUse::Batch)
      part = part * axis.size + coordinate(rank, axis.name);
  return part;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static bool contains(const Group &group, const Axis &axis) {
  return std::find(group.axes.begin(), group.axes.end(), axis.name) !=
         group.axes.end();
}

/// Returns whether only some coordinates on the axis belong to the group.
static bool isRestricted(const Group &group, const Axis &axis) {
  return axis.name == placeAxis && !group.among.empty();
}

static int64_t membersAlong(const Group &group, const Axis &axis) {
  return isRestricted(group, axis) ? static_cast<int64_t>(group.among.size())
                                   : axis.size;
}

/// Returns the index of a coordinate among those of the group.
static std::optional<int64_t> indexOf(const Group &group, const Axis &axis,
                                      int64_t coordinate) {
  if (!isRestricted(group, axis))
    return coordinate;
  auto found = std::find(group.among.begin(), group.among.end(), coordinate);
  if (found == group.among.end())
    return std::nullopt;
  return found - group.among.begin();
}

std::string Mesh::check(const Group &group, int64_t rank) const {
  std::string known;
  for (const Axis &axis : axes)
    known += (known.empty() ? "" : ", ") + axis.name;
  for (const std::string &axis : group.axes)
    if (!has(axis))
      return "the mesh has no axis '" + axis + "'; its axes are: " + known;
  for (int64_t place : group.among)
    if (place < 0 || place >= places())
      return "the mesh has no place " + std::to_string(place);
  if (!position(group, rank))
    return "rank " + std::to_string(rank) + " is not in a group of its own";
  return "";
}

std::string Mesh::describe(const Group &group) const {
  std::string text;
  for (const std::string &axis : group.axes)
    text += (text.empty() ? "" : " ") + axis;
  if (group.among.empty() || int64_t(group.among.size()) == places())
    return text;
  std::string among;
  for (int64_t place : group.among)
    among += (among.empty() ? "" : ",") + std::to_string(place);
  return text + " {" + among + "}";
}

int64_t Mesh::size(const Group &group) const {
  int64_t size = 1;
  for (const Axis &axis : axes)
    if (contains(group, axis))
      size *= membersAlong(group, axis);
  return size;
}

std::optional<int64_t> Mesh::position(const Group &group, int64_t rank) const {
  int64_t position = 0;
  for (const Axis &axis : axes) {
    if (!contains(group, axis))
      continue;
    std::optional<int64_t> index =
        indexOf(group, axis, coordinate(rank, axis.name));
    if (!index)
      return std::nullopt;
    position = position * membersAlong(group, axis) + *index;
  }
  return position;
}

int64_t Mesh::member(const Group &group, int64_t rank, int64_t position) const {
  int64_t member = rank, stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (contains(group, *axis)) {
      int64_t count = membersAlong(group, *axis), index = position % count;
      position /= count;
      int64_t wanted = isRestricted(group, *axis) ? group.among[index] : index;
      member += (wanted - rank / stride % axis->size) * stride;
    }
    stride *= axis->size;
  }
  return member;
}

Members Mesh::members(const Group &group, int64_t rank) const {
  Members members;
  for (int64_t i = 0, count = size(group); i < count; ++i)
    members.ranks.push_back(static_cast<int>(member(group, rank, i)));
  members.position = static_cast<int>(position(group, rank).value_or(0));
  return members;
}

std::vector<int64_t> Mesh::placesOf(const Group &group, int64_t place) const {
  const Axis *axis = find(placeAxis);
  if (!axis || !contains(group, *axis))
    return {place};
  std::vector<int64_t> places = group.among;
  if (places.empty())
    for (int64_t each = 0; each < axis->size; ++each)
      places.push_back(each);
  return places;
}

} // namespace ppopt::geometry
