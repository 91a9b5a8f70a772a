//===- replica_check.cpp - Checks that copies of parameters agree ---------===//

#include "observe/replica_check.h"

#include "base/checksum.h"
#include "base/error.h"
#include "device/host_access.h"
#include "executor/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace ppopt::train {
namespace {

/// Returns a hash of what a rank has, and of what `hash` is of.
uint64_t hashElements(const ppopt_rank &rank,
                      const runtime::PlaceMemory &memory,
                      const schema::HeldElements &held, uint64_t hash = 0) {
  device::readPieces(*rank.device, rank.compute, memory.at(held.address),
                     held.bytes(),
                     [&](const char *piece, int64_t, int64_t size) {
                       hash = checksumOf({piece, size_t(size)}, hash);
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

std::vector<ReplicaCheck::Copies>
ReplicaCheck::findCopies(Part part, int64_t parameter) const {
  const runtime::Program &program = rank_.program;
  geometry::Mesh mesh = program.plan.getMesh();
  // By the index of the first element in the whole parameter, and the number.
  std::map<std::pair<int64_t, int64_t>, Copies> copies;
  for (int64_t holder = 0; holder < holders_; ++holder) {
    const runtime::Place &place = program.places[mesh.placeOf(holder)];
    const runtime::PlaceParameter *entry = place.find(parameter);
    if (!entry)
      continue;
    schema::HeldParameter held = schema::findHeld(
        *entry, program.parameters[parameter], program.plan, holder);
    auto add = [&](const schema::HeldElements &elements) {
      if (elements.count() == 0)
        return;
      geometry::TilePart part = held.partOf(elements);
      std::pair key(part.firstGlobal(), part.count());
      copies.try_emplace(key, Copies{std::move(part), {}})
          .first->second.holders.push_back(holder);
    };
    if (part == Part::States && !held.states.empty())
      add(held.states.front());
    else if (part == Part::Value && isUpToDate(program, parameter, place.place))
      add(held.value);
  }
  std::vector<Copies> all;
  for (auto &[key, each] : copies)
    all.push_back(std::move(each));
  return all;
}

std::string ReplicaCheck::describeAlone() const {
  std::vector<std::string> missing;
  for (Part part : parts) {
    int64_t all = 0, alone = 0;
    for (int64_t parameter = 0; parameter < parameters_; ++parameter) {
      std::vector<Copies> copies = findCopies(part, parameter);
      all += !copies.empty();
      alone += std::any_of(copies.begin(), copies.end(),
                           [](auto &each) { return each.holders.size() == 1; });
    }
    if (alone > 0)
      missing.push_back(fmt::format(
          "{}{} of {}", part == Part::Value ? "" : "the optimizer's states of ",
          alone, all));
  }
  if (missing.empty())
    return "";
  return fmt::format("--check-replicas leaves out what only one {} has: parts "
                     "of {} parameters",
                     rank_.program.local ? "place" : "rank",
                     fmt::join(missing, ", and of "));
}

void ReplicaCheck::hashOwn() {
  int64_t holder = 0; // of this rank
  for (const auto &memory : rank_.places.memory) {
    if (!memory)
      continue;
    for (const schema::HeldParameter &held : memory->parameters) {
      own_[indexOf(holder, Part::Value, held.parameter)] =
          hashElements(rank_, *memory, held.value);
      uint64_t &hash = own_[indexOf(holder, Part::States, held.parameter)];
      hash = 0;
      for (const schema::HeldElements &state : held.states)
        hash = hashElements(rank_, *memory, state, hash);
    }
    ++holder;
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
  for (Part part : parts)
    for (int64_t parameter = 0; parameter < parameters_; ++parameter)
      compare(steps, part, parameter);
}

void ReplicaCheck::compare(int64_t steps, Part part, int64_t parameter) const {
  for (const Copies &copies : findCopies(part, parameter))
    compare(steps, part, parameter, copies);
}

void ReplicaCheck::compare(int64_t steps, Part part, int64_t parameter,
                           const Copies &copies) const {
  const runtime::Program &program = rank_.program;
  const runtime::Parameter &compared = program.parameters[parameter];
  std::vector<Copy> hashes;
  for (int64_t holder : copies.holders)
    hashes.push_back({holder, all_[indexOf(holder, part, parameter)]});
  std::string difference =
      describeDifference(hashes, program.local ? "place" : "rank");
  if (difference.empty())
    return;
  std::string where;
  if (const geometry::TilePart &elements = copies.elements;
      elements.count() < compared.elements())
    where =
        fmt::format(", elements {} to {}", elements.begin, elements.end - 1);
  if (compared.tile)
    where += fmt::format(
        "{} the tile of {}", where.empty() ? ", in" : " of",
        schema::describeTile(compared, program.plan, copies.holders.front()));
  throw runtime::Error(
      "after step {} the {} of parameter '{}' have different bits{}: {}", steps,
      part == Part::Value ? "copies" : "optimizer's states", compared.name,
      where, difference);
}

} // namespace ppopt::train
