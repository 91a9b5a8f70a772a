//===- program_places.cpp - Reading what a place is and does --------------===//

#include "core/program_places.h"

#include "ppopt/runtime.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace ppopt::runtime {

namespace {

class PlaceReader {
public:
  PlaceReader(const Program &program, Place &place)
      : program(program), place(place) {}

  void read(const Field &field);

private:
  /// The offset of `bytes` bytes inside the arena.
  int64_t readOffset(const Field &field, int64_t bytes,
                     int64_t alignment = PPOPT_ALIGNMENT) const;
  int64_t readOffset(const Field &field, ElementType type) const {
    return readOffset(field, byteSize(type), byteSize(type));
  }

  void readRegions(const Field &field);
  void readCounts(const Field &field);
  void readInput(const Field &field);
  void readParameter(const Field &field);
  void readActions(const Field &field, std::vector<Action> &actions,
                   int64_t &collectives);
  Action readAction(const Field &field);
  void readStart(const Field &field, Action &action);
  void readGroup(const Field &field, Action &action);
  int64_t groupSize(const Action &action) const;

  const Program &program;
  Place &place;
};

int64_t PlaceReader::readOffset(const Field &field, int64_t bytes,
                                int64_t alignment) const {
  int64_t offset = field.integer();
  if (offset % alignment != 0)
    field.fail(fmt::format("is {}, not a multiple of {}", offset, alignment));
  if (bytes > place.arenaBytes || offset > place.arenaBytes - bytes)
    field.fail(fmt::format("is {}: {} bytes there end outside the arena of {}",
                           offset, bytes, place.arenaBytes));
  return offset;
}

void PlaceReader::readRegions(const Field &field) {
  field.forEach([&](const Field &region) {
    int64_t bytes = region["bytes"].integer();
    place.regions.push_back(
        {region["kind"].text(), readOffset(region["offset"], bytes), bytes});
  });
}

void PlaceReader::readCounts(const Field &field) {
  if (field.size() != program.counts.size())
    field.fail(fmt::format("has {} entries, and the program {} counts",
                           field.size(), program.counts.size()));
  field.forEach([&](const Field &count) {
    ElementType type = program.counts[place.countOffsets.size()].type;
    place.countOffsets.push_back(readOffset(count["offset"], type));
  });
}

void PlaceReader::readInput(const Field &field) {
  PlaceInput input;
  input.input = field["input"].integer(0, int64_t(program.inputs.size()) - 1);
  for (const PlaceInput &other : place.inputs)
    if (other.input == input.input)
      field["input"].fail(fmt::format("is {} a second time", input.input));
  const Input &global = program.inputs[input.input];
  input.bytes = field["bytes"].integer();
  input.offset = readOffset(field["offset"], input.bytes);
  int64_t bytes = elementCount(global.shape) * byteSize(global.type) /
                  program.plan.axisSize("dp");
  if (input.bytes != bytes)
    field["bytes"].fail(
        fmt::format("is {}, and one rank's rows are {}", input.bytes, bytes));
  place.inputs.push_back(input);
}

void PlaceReader::readParameter(const Field &field) {
  PlaceParameter held;
  held.parameter =
      field["parameter"].integer(0, int64_t(program.parameters.size()) - 1);
  for (const PlaceParameter &other : place.parameters)
    if (other.parameter == held.parameter)
      field["parameter"].fail(
          fmt::format("is {} a second time", held.parameter));
  int64_t bytes = program.parameters[held.parameter].bytes();
  held.offset = readOffset(field["offset"], bytes);
  // Gradients and states are f32 where the parameter is bf16, but never
  // smaller than the parameter.
  held.gradient = field["gradient"].integer(-1);
  if (held.gradient != -1)
    readOffset(field["gradient"], bytes);
  field["states"].forEach([&](const Field &state) {
    held.states.push_back(
        {state["name"].text(), readOffset(state["offset"], bytes)});
  });
  if (held.gradient == -1 && !held.states.empty())
    field["states"].fail("is not empty, but the parameter has no gradient");
  place.parameters.push_back(std::move(held));
}

/// Ranks that a sum is over.
int64_t PlaceReader::groupSize(const Action &action) const {
  int64_t size = 1;
  for (const std::string &axis : action.axes)
    size *= axis == "pp" && !action.among.empty() ? int64_t(action.among.size())
                                                  : program.plan.axisSize(axis);
  return size;
}

void PlaceReader::readGroup(const Field &field, Action &action) {
  field["axes"].forEach([&](const Field &axis) {
    std::string name = axis.text();
    bool known = std::any_of(
        program.plan.mesh.begin(), program.plan.mesh.end(),
        [&](const MeshAxis &candidate) { return candidate.name == name; });
    if (!known)
      axis.fail("is '" + name + "', which the mesh has not");
    if (std::count(action.axes.begin(), action.axes.end(), name))
      axis.fail("is '" + name + "' a second time");
    action.axes.push_back(name);
  });
  if (!field.has("among"))
    return;
  Field among = field["among"];
  if (!std::count(action.axes.begin(), action.axes.end(), "pp"))
    among.fail("is there, and pp is not one of the axes");
  among.forEach([&](const Field &member) {
    int64_t place = member.integer(0, program.plan.axisSize("pp") - 1);
    if (!action.among.empty() && place <= action.among.back())
      member.fail(fmt::format("is {}, not in ascending order", place));
    action.among.push_back(place);
  });
  if (!std::count(action.among.begin(), action.among.end(), place.place))
    among.fail(fmt::format("lacks {}, the place itself", place.place));
}

void PlaceReader::readStart(const Field &field, Action &action) {
  action.id = field["id"].integer();
  if (field["op"].text() != "all_reduce")
    field["op"].fail("is '" + field["op"].text() + "', not all_reduce");
  readGroup(field, action);
  action.channel = field["channel"].integer(0, INT32_MAX);
  action.type = readType(field["type"]);
  if (action.type == ElementType::i1)
    field["type"].fail("is i1, which cannot be summed");
  action.elements = field["elements"].integer(1, int64_t{1} << 56);
  action.offset =
      readOffset(field["offset"], action.elements * byteSize(action.type),
                 byteSize(action.type));
  if (groupSize(action) > 1 || field.has("scratch")) {
    Field scratch = field["scratch"];
    action.scratchBytes = scratch["bytes"].integer();
    action.scratch = readOffset(scratch["offset"], action.scratchBytes,
                                byteSize(action.type));
  }
}

Action PlaceReader::readAction(const Field &field) {
  Action action;
  std::string kind = field["do"].text();
  if (kind == "run") {
    action.kind = Action::run;
    action.task = field["task"].integer(0, int64_t(program.tasks.size()) - 1);
    action.microbatch =
        field["microbatch"].integer(0, program.plan.microbatches - 1);
    action.arguments = field["args"].integers(0, place.arenaBytes);
    action.temporaries = readOffset(field["temps"], 0);
    if (field.has("skip_on_rank"))
      action.skippedOn = field["skip_on_rank"].integer(0);
  } else if (kind == "zero") {
    action.kind = Action::zero;
    action.bytes = field["bytes"].integer();
    action.offset = readOffset(field["offset"], action.bytes, 1);
  } else if (kind == "start") {
    action.kind = Action::start;
    readStart(field, action);
  } else if (kind == "wait") {
    action.kind = Action::wait;
    action.id = field["id"].integer();
  } else if (kind == "check_counts") {
    action.kind = Action::checkCounts;
  } else if (kind == "norm") {
    action.kind = Action::norm;
    action.offset = readOffset(field["offset"], ElementType::f64);
  } else {
    field["do"].fail("is '" + kind +
                     "', not one of run, zero, start, wait, check_counts, "
                     "norm");
  }
  return action;
}

void PlaceReader::readActions(const Field &field, std::vector<Action> &actions,
                              int64_t &collectives) {
  std::unordered_map<int64_t, int64_t> inFlight; // id -> collective
  std::set<int64_t> seen;
  field.forEach([&](const Field &element) {
    Action action = readAction(element);
    if (action.kind == Action::start) {
      if (!seen.insert(action.id).second)
        element["id"].fail(fmt::format("is {} a second time", action.id));
      action.collective = collectives++;
      inFlight[action.id] = action.collective;
    } else if (action.kind == Action::wait) {
      auto started = inFlight.find(action.id);
      if (started == inFlight.end())
        element["id"].fail(
            fmt::format("is {}, which is not in flight", action.id));
      action.collective = started->second;
      inFlight.erase(started);
    }
    actions.push_back(std::move(action));
  });
  if (!inFlight.empty())
    field.fail(fmt::format("starts {} and never waits for it",
                           inFlight.begin()->first));
}

void PlaceReader::read(const Field &field) {
  place.arenaBytes = field["arena"]["bytes"].integer(1);
  readRegions(field["arena"]["regions"]);
  place.recordOffset =
      readOffset(field["record"]["offset"], sizeof(ppopt_record));
  place.lossOffset = readOffset(field["loss"]["offset"], program.lossType);
  readCounts(field["counts"]);
  field["inputs"].forEach([&](const Field &f) { readInput(f); });
  field["parameters"].forEach([&](const Field &f) { readParameter(f); });
  int64_t collectives = 0;
  readActions(field["actions"], place.actions, collectives);
  readActions(field["eval_actions"], place.evalActions, collectives);
  Field predicted = field["predicted"];
  place.predicted = {predicted["launches"].integer(),
                     predicted["flops"].integer(),
                     predicted["bytes_sent"].integer()};
}

} // namespace

Place readPlace(const Field &field, const Program &program, int64_t number) {
  Place place;
  place.place = field["place"].integer();
  if (place.place != number)
    field["place"].fail(fmt::format("is {}, out of order", place.place));
  PlaceReader(program, place).read(field);
  return place;
}

} // namespace ppopt::runtime
