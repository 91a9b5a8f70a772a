//===- held_places.cpp - The places that a rank holds ---------------------===//

#include "executor/held_places.h"

#include <algorithm>

namespace ppopt::runtime {

namespace {

std::vector<schema::HeldParameter>
findHeld(const Place &place, const Program &program, int64_t meshRank) {
  std::vector<schema::HeldParameter> found;
  for (const PlaceParameter &held : place.parameters)
    found.push_back(schema::findHeld(held, program.parameters[held.parameter],
                                     program.plan, meshRank));
  return found;
}

std::vector<std::unique_ptr<PlaceMemory>>
allocate(const Program &program, int64_t rank, device::Device &device) {
  std::vector<std::unique_ptr<PlaceMemory>> memory(program.places.size());
  for (Place place : program.places)
    if (program.local || place.place == program.placeOf(rank).place) {
      schema::resolve(place, program.plan, rank);
      int64_t meshRank = schema::meshRankOn(place.place, program.plan, rank);
      memory[place.place] = std::make_unique<PlaceMemory>(
          std::move(place), program, meshRank, device);
    }
  return memory;
}

std::optional<schema::LocalActions> resolveLocal(const Program &program,
                                                 int64_t rank) {
  std::optional<schema::LocalActions> local = program.local;
  if (local)
    schema::resolve(*local, program.plan, rank);
  return local;
}

using Memory = std::vector<std::unique_ptr<PlaceMemory>>;

std::vector<Buffer> findInputs(const Memory &memory) {
  std::vector<Buffer> inputs;
  for (const std::unique_ptr<PlaceMemory> &held : memory)
    if (held)
      for (Buffer buffer : inputBuffers(held->place, held->arena))
        inputs.push_back(buffer);
  return inputs;
}

std::vector<ParameterBuffer> findParameters(const Memory &memory) {
  std::vector<ParameterBuffer> parameters;
  for (const std::unique_ptr<PlaceMemory> &held : memory)
    if (held)
      for (const schema::HeldParameter &each : held->parameters)
        parameters.push_back({each.parameter, each.partOf(each.value),
                              held->at(each.value.address)});
  return parameters;
}

} // namespace

PlaceMemory::PlaceMemory(Place resolved, const Program &program,
                         int64_t meshRank, device::Device &device)
    : place(std::move(resolved)), meshRank(meshRank),
      parameters(findHeld(place, program, meshRank)),
      arena(device.allocate(place.arenaBytes, "the arena")),
      image(PPOPT_KEY_OFFSET(program.plan.microbatches)) {
  static_assert(PPOPT_MAX_AXES == geometry::mostAxes);
  std::vector<int64_t> coordinatesOfRank =
      program.plan.getMesh().coordinates(meshRank);
  std::copy(coordinatesOfRank.begin(), coordinatesOfRank.end(), coordinates);
}

HeldPlaces::HeldPlaces(const Program &program, int64_t rank,
                       device::Device &device)
    : memory(allocate(program, rank, device)),
      own(memory[program.placeOf(rank).place]->place),
      local(resolveLocal(program, rank)),
      actions(local ? local->actions : own.actions),
      evalActions(local ? local->evalActions : own.evalActions),
      averageActions(local ? local->averageActions : own.averageActions),
      inputs(findInputs(memory)), parameters(findParameters(memory)),
      program(program), rank(rank) {}

} // namespace ppopt::runtime
