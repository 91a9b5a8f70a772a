//===- replica_check.cpp - Checks that copies of parameters agree ---------===//

#include "observe/replica_check.h"

#include "base/error.h"
#include "device/host_access.h"
#include "executor/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace ppopt::train {
namespace {

/// Adds data to a hash, eight bytes at a time.
uint64_t addBytes(uint64_t hash, const char *data, int64_t bytes) {
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    mix(word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, data, bytes);
  mix(rest);
  return hash;
}

constexpr uint64_t kHashOfNothing = 0xcbf29ce484222325;

/// Returns a hash of the rank's memory, and of what `hash` is of.
uint64_t hashBytes(const ppopt_rank &rank, device::DevicePointer data,
                   int64_t bytes, uint64_t hash = kHashOfNothing) {
  device::readPieces(*rank.device, rank.compute, data, bytes,
                     [&](const char *piece, int64_t, int64_t size) {
                       hash = addBytes(hash, piece, size);
                     });
  return hash;
}

/// The hash of what a holder has. Holders of copies must have the same.
struct Copy {
  int64_t holder;
  uint64_t hash;
};

/// Returns "ranks 0, 2 / rank 1", where holders of equal bits are grouped;
/// empty if all are equal.
std::string describeDifference(const std::vector<Copy> &copies,
                               const char *holder) {
  std::vector<std::pair<uint64_t, std::vector<int64_t>>> groups;
  for (const Copy &copy : copies) {
    auto same = std::find_if(groups.begin(), groups.end(), [&](auto &group) {
      return group.first == copy.hash;
    });
    if (same == groups.end())
      same = groups.insert(groups.end(), {copy.hash, {}});
    same->second.push_back(copy.holder);
  }
  if (groups.size() < 2)
    return "";
  std::vector<std::string> parts;
  for (const auto &[hash, members] : groups)
    parts.push_back(fmt::format("{}{} {}", holder,
                                members.size() == 1 ? "" : "s",
                                fmt::join(members, ", ")));
  return fmt::format("{}", fmt::join(parts, " / "));
}

/// Returns the elements of a parameter's states that the holder has, which is a
/// rank of the mesh.
geometry::OwnedElements ownedBy(const runtime::Program &program,
                                int64_t parameter, int64_t holder) {
  const runtime::Place &place =
      program.places[program.plan.getMesh().placeOf(holder)];
  return schema::ownedElements(*place.find(parameter),
                               program.parameters[parameter], program.plan,
                               holder);
}

/// Returns whether the place's copy is up to date. A place that borrows a
/// parameter receives it at the start of the next step.
bool isUpToDate(const runtime::Program &program, int64_t parameter,
                int64_t place) {
  return program.plan.tied == schema::Tied::sum || !program.learns(parameter) ||
         program.parameters[parameter].places.front() == place;
}

} // namespace

ReplicaCheck::ReplicaCheck(const ppopt_rank &rank)
    : rank_(rank), parameters_(int64_t(rank.program.parameters.size())),
      holders_(rank.program.plan.getMesh().ranks()),
      own_((rank.program.local ? holders_ : 1) * 2 * parameters_) {
  if (rank.index == 0)
    all_.resize(holders_ * 2 * parameters_);
}

/// Returns a hash of the elements that the rank has of a parameter's states; 0
/// if it has none.
uint64_t ReplicaCheck::hashStates(const runtime::PlaceMemory &memory,
                                  const runtime::PlaceParameter &held) const {
  const runtime::Program &program = rank_.program;
  geometry::OwnedElements owned = ownedBy(
      program, held.parameter,
      schema::meshRankOn(memory.place.place, program.plan, rank_.index));
  if (held.states.empty() || owned.count() == 0)
    return 0;
  int64_t size = byteSize(program.parameters[held.parameter].type);
  uint64_t hash = kHashOfNothing;
  for (const runtime::OptimizerState &state : held.states)
    hash = hashBytes(rank_, memory.at(state.address) + owned.at * size,
                     owned.count() * size, hash);
  return hash | 1;
}

void ReplicaCheck::hashOwn() {
  uint64_t *hashes = own_.data();
  for (const auto &memory : rank_.memory) {
    if (!memory)
      continue;
    for (const runtime::PlaceParameter &held : memory->place.parameters) {
      if (isUpToDate(rank_.program, held.parameter, memory->place.place))
        hashes[held.parameter] =
            hashBytes(rank_, memory->at(held.address),
                      rank_.program.parameters[held.parameter].bytes()) |
            1;
      hashes[parameters_ + held.parameter] = hashStates(*memory, held);
    }
    hashes += 2 * parameters_;
  }
}

void ReplicaCheck::run(int64_t steps) {
  hashOwn();
  if (rank_.program.plan.ranks() > 1)
    Messages(rank_).gather(own_.data(), own_.size() * sizeof(uint64_t),
                           all_.data());
  else
    all_ = own_;
  if (rank_.index != 0)
    return;
  for (int64_t parameter = 0; parameter < parameters_; ++parameter)
    compareParameter(steps, parameter);
  for (int64_t parameter = 0; parameter < parameters_; ++parameter)
    compareStates(steps, parameter);
}

void ReplicaCheck::compareParameter(int64_t steps, int64_t parameter) const {
  std::vector<Copy> copies;
  for (int64_t holder = 0; holder < holders_; ++holder)
    if (uint64_t hash = all_[holder * 2 * parameters_ + parameter])
      copies.push_back({holder, hash});
  std::string difference = describeDifference(copies, nameOfHolder());
  if (!difference.empty())
    throw runtime::Error("after step {} the copies of parameter '{}' have "
                         "different bits: {}",
                         steps, rank_.program.parameters[parameter].name,
                         difference);
}

void ReplicaCheck::compareStates(int64_t steps, int64_t parameter) const {
  std::map<int64_t, std::vector<Copy>> copies; // by the first element
  for (int64_t holder = 0; holder < holders_; ++holder)
    if (uint64_t hash = all_[(holder * 2 + 1) * parameters_ + parameter])
      copies[ownedBy(rank_.program, parameter, holder).begin].push_back(
          {holder, hash});
  for (const auto &[begin, same] : copies) {
    std::string difference = describeDifference(same, nameOfHolder());
    if (!difference.empty())
      throw runtime::Error(
          "after step {} the optimizer's states of parameter '{}' have "
          "different bits, from element {} on: {}",
          steps, rank_.program.parameters[parameter].name, begin, difference);
  }
}

} // namespace ppopt::train
