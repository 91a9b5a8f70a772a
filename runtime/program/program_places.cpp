//===- program_places.cpp - Reads the entries of "places" -----------------===//

#include "program/program_places.h"

#include "ppopt/runtime.h"
#include "program/program_actions.h"

namespace ppopt::runtime {

namespace {

class PlaceReader {
public:
  PlaceReader(const Program &program, Place &place)
      : program(program), place(place) {}

  void read(const Field &field);

private:
  /// Reads the offset of `bytes` bytes in the arena.
  int64_t readOffset(const Field &field, int64_t bytes,
                     int64_t alignment = PPOPT_ALIGNMENT) const {
    return runtime::readOffset(field, place, bytes, alignment);
  }
  int64_t readOffset(const Field &field, ElementType type) const {
    return readOffset(field, byteSize(type), byteSize(type));
  }

  void readRegions(const Field &field);
  void readCounts(const Field &field);
  void readCheck(const Field &field);
  void readInput(const Field &field);
  void readParameter(const Field &field);

  const Program &program;
  Place &place;
};

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

void PlaceReader::readCheck(const Field &field) {
  PlaceCheck check;
  check.check = field["check"].integer(0, int64_t(program.checks.size()) - 1);
  check.offset = readOffset(field["offset"], ElementType::i64);
  place.checks.push_back(check);
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
  const Parameter &parameter = program.parameters[held.parameter];
  int64_t bytes = parameter.bytes();
  held.offset = readOffset(field["offset"], bytes);
  held.gradient = field["gradient"].integer(-1);
  if (held.gradient != -1)
    readOffset(field["gradient"], parameter.gradientBytes());
  field["states"].forEach([&](const Field &state) {
    held.states.push_back(
        {state["name"].text(), readOffset(state["offset"], bytes)});
  });
  if (held.gradient == -1 && !held.states.empty())
    field["states"].fail("is not empty, but the parameter has no gradient");
  place.parameters.push_back(std::move(held));
}

void PlaceReader::read(const Field &field) {
  place.arenaBytes = field["arena"]["bytes"].integer(1);
  readRegions(field["arena"]["regions"]);
  place.stepStateOffset =
      readOffset(field["step_state"]["offset"], sizeof(ppopt_step_state));
  place.lossOffset = readOffset(field["loss"]["offset"], program.lossType);
  readCounts(field["counts"]);
  field["checks"].forEach([&](const Field &f) { readCheck(f); });
  field["inputs"].forEach([&](const Field &f) { readInput(f); });
  field["parameters"].forEach([&](const Field &f) { readParameter(f); });
  ActionReader actions(program, place);
  place.actions = actions.read(field["actions"]);
  place.evalActions = actions.read(field["eval_actions"]);
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
