//===- check_group.cpp - Whether groups of ranks and shards are right -----===//

#include "check/check_program.h"

#include "geometry/axes.h"

#include <algorithm>
#include <set>

namespace ppopt::runtime {

using namespace schema;

void checkGroup(const Program &program, const geometry::Group &group,
                int64_t place, const Path &path) {
  std::set<std::string> axes;
  Path list = path["axes"], among = path["among"];
  for (size_t i = 0; i < group.axes.size(); ++i) {
    const std::string &name = group.axes[i];
    if (!program.plan.getMesh().has(name))
      list[i].fail("is '" + name + "', which the mesh does not have");
    if (!axes.insert(name).second)
      list[i].fail("is '" + name + "' a second time");
  }
  if (group.among.empty())
    return;
  if (!axes.count(std::string(geometry::placeAxis)))
    among.fail(fmt::format("is there, and {} is not one of the axes",
                           geometry::placeAxis));
  for (size_t i = 0; i < group.among.size(); ++i) {
    checkIndex(group.among[i], program.plan.places(), among[i]);
    if (i > 0 && group.among[i] <= group.among[i - 1])
      among[i].fail(
          fmt::format("is {}, not in ascending order", group.among[i]));
  }
  if (!std::count(group.among.begin(), group.among.end(), place))
    among.fail(fmt::format("lacks {}, the place itself", place));
}

void checkShard(const Program &program, const Place &place,
                const PlaceParameter &held, const Path &path) {
  const Shard &shard = *held.shard;
  checkGroup(program, shard.group(), place.place, path);
  if (!held.gradient && shard.of != ShardOf::parameters)
    path["of"].fail(fmt::format("is {}, but the parameter has no gradient",
                                spell(shard.of)));
  int64_t elements = program.parameters[held.parameter].elements();
  if (shard.first > shard.elements - elements)
    path["first"].fail(
        fmt::format("is {}: the parameter's {} elements end outside the "
                    "bucket of {}",
                    shard.first, elements, shard.elements));
}

namespace {

bool areSame(const Shard &one, const Shard &other) {
  return one.of == other.of && one.axes == other.axes &&
         one.among == other.among && one.elements == other.elements &&
         one.first == other.first;
}

bool haveSameStates(const PlaceParameter &one, const PlaceParameter &other) {
  return std::equal(one.states.begin(), one.states.end(), other.states.begin(),
                    other.states.end(),
                    [](const OptimizerState &a, const OptimizerState &b) {
                      return a.name == b.name;
                    });
}

void checkOnAllPlaces(const Program &program, int64_t place,
                      const PlaceParameter &held, const Path &path) {
  std::vector<int64_t> places =
      program.plan.getMesh().placesOf(held.shard->group(), place);
  int64_t owner = program.parameters[held.parameter].places.front();
  if (!std::count(places.begin(), places.end(), owner)) {
    const auto &owned = program.ownedParameter(held.parameter).shard;
    if (!owned || !areSame(*held.shard, *owned))
      path.fail(
          fmt::format("has no ranks of place {}, which owns the parameter "
                      "and has {} of it",
                      owner, owned ? "another shard" : "no shard"));
  }
  for (int64_t each : places) {
    const PlaceParameter *other = program.places[each].find(held.parameter);
    if (!other || !other->shard)
      path.fail(fmt::format("has ranks of place {}, which has no shard of the "
                            "parameter",
                            each));
    if (!areSame(*held.shard, *other->shard))
      path.fail(fmt::format("has ranks of place {}, where the parameter's "
                            "shard is another",
                            each));
    if (!haveSameStates(held, *other))
      path.fail(fmt::format("has ranks of place {}, where the parameter has "
                            "other states",
                            each));
  }
}

} // namespace

void checkShardsMatch(const Program &program, const Path &places) {
  for (size_t i = 0; i < program.places.size(); ++i) {
    const Place &place = program.places[i];
    Path entry = places[i], parameters = entry["parameters"];
    for (size_t j = 0; j < place.parameters.size(); ++j) {
      Path parameter = parameters[j];
      if (place.parameters[j].shard)
        checkOnAllPlaces(program, place.place, place.parameters[j],
                         parameter["shard"]);
    }
  }
}

} // namespace ppopt::runtime
