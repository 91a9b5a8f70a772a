//===- held_places.h - The places that a rank holds -----------------------===//
//
// A rank holds its place or, if the launch is local, all places: an arena for
// each, and the program's lists and tensors with this rank's addresses. All of
// it is constant, but for what the memory contains.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_HELD_PLACES_H
#define PPOPT_RUNTIME_EXECUTOR_HELD_PLACES_H

#include "device/device.h"
#include "executor/buffers.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ppopt::runtime {

/// The memory of one place.
struct PlaceMemory {
  PlaceMemory(Place resolved, const Program &program, int64_t meshRank,
              device::Device &device);

  device::DevicePointer at(const Address &address) const {
    return arena + address.offset();
  }

  // In `image`; the runs on a microbatch read its key.
  ppopt_step_state &stepState() {
    return *reinterpret_cast<ppopt_step_state *>(image.data());
  }
  ppopt_key &key(int64_t microbatch) {
    return *reinterpret_cast<ppopt_key *>(image.data() +
                                          PPOPT_KEY_OFFSET(microbatch));
  }

  const Place place;      ///< its addresses are those of this rank
  const int64_t meshRank; ///< the rank of the mesh whose memory it is
  /// What this rank has of each of `place.parameters`.
  const std::vector<schema::HeldParameter> parameters;
  const device::DevicePointer arena;
  /// Of the rank that has this place, then zeros.
  int64_t coordinates[PPOPT_MAX_AXES] = {};
  /// What the host has last written to the step state: the ppopt_step_state,
  /// and a ppopt_key per microbatch.
  std::vector<char> image;
};

class HeldPlaces {
public:
  /// Allocates the memory of rank `rank`.
  HeldPlaces(const Program &program, int64_t rank, device::Device &device);

  /// By place; null if another rank holds it.
  const std::vector<std::unique_ptr<PlaceMemory>> memory;
  const Place &own; ///< the rank's place; 0 if it holds all
  /// Set if the launch is local: has `actions`.
  const std::optional<schema::LocalActions> local;
  const std::vector<Action> &actions, &evalActions, &averageActions;
  // The program's tensors in this memory.
  const std::vector<Buffer> inputs;
  const std::vector<ParameterBuffer> parameters;

  schema::ActionLists lists() const {
    return {&actions, &evalActions, &averageActions};
  }
  /// Returns the memory of a place that this rank holds.
  PlaceMemory &memoryOf(int64_t place) const { return *memory[place]; }
  device::DevicePointer at(const PlaceAddress &at) const {
    return memoryOf(at.place).at(
        schema::offsetOn(at.address, program.plan, rank));
  }
  /// Returns where an address in the arena of `own` is.
  device::DevicePointer at(const Address &address) const {
    return memoryOf(own.place).at(address);
  }

private:
  const Program &program;
  const int64_t rank;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_HELD_PLACES_H
