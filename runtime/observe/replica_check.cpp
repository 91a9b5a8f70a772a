//===- replica_check.cpp - Checks that copies of parameters agree ---------===//

#include "observe/replica_check.h"

#include "base/error.h"
#include "device/host_access.h"
#include "executor/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
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

/// Returns a hash of the rank's memory; never 0.
uint64_t hashBytes(const ppopt_rank &rank, device::DevicePointer data,
                   int64_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  device::readPieces(*rank.device, rank.compute, data, bytes,
                     [&](const char *piece, int64_t, int64_t size) {
                       hash = addBytes(hash, piece, size);
                     });
  return hash | 1;
}

/// Returns "ranks 0, 2 / rank 1", where holders of equal bits are grouped.
std::string describeGroups(
    const std::vector<std::pair<uint64_t, std::vector<int64_t>>> &groups,
    const char *holder) {
  std::vector<std::string> parts;
  for (const auto &[hash, members] : groups)
    parts.push_back(fmt::format("{}{} {}", holder,
                                members.size() == 1 ? "" : "s",
                                fmt::join(members, ", ")));
  return fmt::format("{}", fmt::join(parts, " / "));
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
      holders_(rank.program.local ? int64_t(rank.program.places.size())
                                  : rank.program.plan.ranks()),
      own_((rank.program.local ? holders_ : 1) * parameters_) {
  if (rank.index == 0)
    all_.resize(holders_ * parameters_);
}

void ReplicaCheck::hashOwn() {
  uint64_t *hashes = own_.data();
  for (const auto &memory : rank_.memory) {
    if (!memory)
      continue;
    for (const runtime::PlaceParameter &held : memory->place.parameters)
      if (isUpToDate(rank_.program, held.parameter, memory->place.place))
        hashes[held.parameter] =
            hashBytes(rank_, memory->at(held.address),
                      rank_.program.parameters[held.parameter].bytes());
    hashes += parameters_;
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
  for (int64_t parameter = 0; parameter < parameters_; ++parameter) {
    std::vector<std::pair<uint64_t, std::vector<int64_t>>> groups;
    for (int64_t holder = 0; holder < holders_; ++holder) {
      uint64_t hash = all_[holder * parameters_ + parameter];
      if (hash == 0)
        continue;
      auto same = std::find_if(groups.begin(), groups.end(), [&](auto &group) {
        return group.first == hash;
      });
      if (same == groups.end())
        same = groups.insert(groups.end(), {hash, {}});
      same->second.push_back(holder);
    }
    if (groups.size() > 1)
      throw runtime::Error(
          "after step {} the copies of parameter '{}' have different "
          "bits: {}",
          steps, rank_.program.parameters[parameter].name,
          describeGroups(groups, rank_.program.local ? "place" : "rank"));
  }
}

} // namespace ppopt::train
