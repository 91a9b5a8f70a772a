//===- program.cpp - What follows from a program's fields -----------------===//

#include "schema/program.h"

#include "schema/visit.h"

#include <algorithm>
#include <cassert>

namespace ppopt::schema {

int64_t byteSize(ElementType type) {
  switch (type) {
  case ElementType::f64:
  case ElementType::i64:
    return 8;
  case ElementType::f32:
  case ElementType::i32:
    return 4;
  case ElementType::bf16:
    return 2;
  case ElementType::i1:
    return 1;
  }
  return 0;
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

int64_t Address::offset() const {
  assert(strides.empty() && "the address is not of a rank yet");
  return base;
}

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

geometry::Mesh Plan::getMesh() const {
  geometry::Mesh result;
  for (const MeshAxis &axis : mesh)
    result.add({axis.name, axis.size});
  return result;
}

// A step calls ranks() and batchParts(): they allocate nothing.

int64_t Plan::ranks() const {
  int64_t ranks = 1;
  if (launch != Launch::local)
    for (const MeshAxis &axis : mesh)
      ranks *= axis.size;
  return ranks;
}

int64_t Plan::axisSize(std::string_view axis) const {
  return getMesh().size(axis);
}

// The only rank of a local launch has coordinates 0.

int64_t Plan::coordinate(int64_t rank, std::string_view axis) const {
  return launch == Launch::local ? 0 : getMesh().coordinate(rank, axis);
}

int64_t Plan::placeOf(int64_t rank) const {
  return launch == Launch::local ? 0 : getMesh().placeOf(rank);
}

int64_t Plan::batchPart(int64_t rank) const {
  return launch == Launch::local ? 0 : getMesh().batchPart(rank);
}

int64_t Plan::places() const { return getMesh().places(); }

int64_t Plan::batchParts() const {
  int64_t parts = 1;
  for (const MeshAxis &axis : mesh)
    if (geometry::useOf(axis.name) == geometry::AxisUse::Batch)
      parts *= axis.size;
  return parts;
}

int64_t Plan::rowOfBatch(int64_t part, int64_t row) const {
  if (!byMicrobatch || isAsynchronous())
    return part * rowsOfPart() + row;
  int64_t ofMicrobatch = batch / microbatches;
  int64_t ofPart = ofMicrobatch / batchParts();
  return row / ofPart * ofMicrobatch + part * ofPart + row % ofPart;
}

//===----------------------------------------------------------------------===//
// Addresses of a rank
//===----------------------------------------------------------------------===//

namespace {

/// Calls `change` for every address among the fields of a struct.
template <typename Change> class AddressVisitor {
public:
  explicit AddressVisitor(const Change &change) : change(change) {}

  template <typename T, typename... B>
  void operator()(const char *, T &value, const char *, const B &...) {
    visit(value);
  }
  template <typename T, typename... B>
  void optional(const char *, T &value, const char *, const B &...) {
    visit(value);
  }
  template <typename Declare>
  void nested(const char *, const char *, const Declare &declare) {
    declare(*this);
  }
  template <typename Declare>
  void when(bool condition, const char *, const Declare &declare) {
    if (condition)
      declare(*this);
  }

  template <typename T> void visit(T &value) {
    constexpr Shape shape = shapeOf<T>();
    if constexpr (shape == Shape::address) {
      change(value);
    } else if constexpr (shape == Shape::list) {
      for (auto &element : value)
        visit(element);
    } else if constexpr (shape == Shape::orNull) {
      if (value)
        visit(*value);
    } else if constexpr (shape == Shape::object) {
      T::visit(*this, value);
    }
  }

private:
  const Change &change;
};

template <typename T>
void resolveFields(T &value, const Plan &plan, int64_t rank) {
  auto change = [&](Address &address) {
    address = Address(offsetOn(address, plan, rank));
  };
  AddressVisitor<decltype(change)>(change).visit(value);
}

} // namespace

void resolve(Place &place, const Plan &plan, int64_t rank) {
  resolveFields(place, plan, rank);
}

void resolve(LocalActions &local, const Plan &plan, int64_t rank) {
  resolveFields(local, plan, rank);
}

int64_t trainersOf(const Plan &plan) {
  return plan.axisSize(geometry::batchAxis);
}

int64_t offsetOn(const Address &address, const Plan &plan, int64_t rank) {
  int64_t offset = address.base;
  for (const AxisStride &each : address.strides)
    offset += plan.coordinate(rank, each.axis) * each.stride;
  return offset;
}

//===----------------------------------------------------------------------===//
// The tile of a rank
//===----------------------------------------------------------------------===//

geometry::Tile tileOf(const Parameter &parameter, const Plan &plan,
                      int64_t rank) {
  if (!parameter.tile)
    return geometry::Tile(parameter.elements());
  std::vector<std::vector<geometry::DimensionCut>> cuts;
  for (const std::vector<Cut> &dimension : parameter.tile->cuts) {
    cuts.emplace_back();
    for (const Cut &cut : dimension)
      cuts.back().push_back(
          {cut.parts, cut.period, plan.coordinate(rank, cut.axis)});
  }
  return geometry::Tile(parameter.tile->globalShape, cuts);
}

std::string describeTile(const Parameter &parameter, const Plan &plan,
                         int64_t rank) {
  std::string text;
  for (const std::string &axis : parameter.cutAxes())
    text += (text.empty() ? "" : ", ") + axis + " " +
            std::to_string(plan.coordinate(rank, axis));
  return text;
}

//===----------------------------------------------------------------------===//
// The ranks of places
//===----------------------------------------------------------------------===//

int64_t meshRankOn(int64_t place, const Plan &plan, int64_t rank) {
  return plan.launch == Launch::local
             ? plan.getMesh().firstRank(place).value_or(rank)
             : rank;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

const PlaceParameter *Place::find(int64_t parameter) const {
  auto found = std::find_if(
      parameters.begin(), parameters.end(),
      [&](const PlaceParameter &held) { return held.parameter == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

int64_t Owned::inboxBytes(int64_t trainers) const {
  int64_t largest = 0;
  for (const OwnedBucket &bucket : buckets)
    largest = std::max(largest, bucket.elements / trainers *
                                    byteSize(bucket.gradientType));
  return (largest + PPOPT_ALIGNMENT - 1) / PPOPT_ALIGNMENT * PPOPT_ALIGNMENT;
}

const Place &Program::placeOf(int64_t rank) const {
  return places[plan.placeOf(rank)];
}

int64_t Program::unusedChannel() const {
  int64_t unused = 0;
  for (const Place &place : places)
    for (const auto *actions : place.lists())
      for (const Action &action : *actions)
        if (action.kind == ActionKind::start)
          unused = std::max(unused, action.channel + 1);
  for (const TaskCollective &collective : collectives)
    unused = std::max(unused, collective.channel + 1);
  return unused;
}

int64_t Program::largestArena() const {
  int64_t largest = 0;
  for (const Place &place : places)
    largest = std::max(largest, place.arenaBytes);
  return largest;
}

const PlaceParameter &Program::ownedParameter(int64_t parameter) const {
  return *places[parameters[parameter].places.front()].find(parameter);
}

} // namespace ppopt::schema
