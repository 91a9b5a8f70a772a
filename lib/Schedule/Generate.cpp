//===- Generate.cpp - The built-in schedules by name ----------------------===//

#include "Generators.h"

#include <algorithm>

using namespace ppopt::schedule;

namespace {
/// A built-in schedule.
struct Schedule {
  std::string name;
  Shape shape;
};
} // namespace

static const std::vector<Schedule> &getSchedules() {
  static const std::vector<Schedule> schedules = {
      {"naive", {}},
      {"gpipe", {}},
      {"1f1b", {}},
      {"zb-h1", {/*chunks=*/1, /*splitsBackward=*/true}},
  };
  return schedules;
}

const std::vector<std::string> &ppopt::schedule::getScheduleNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> names;
    for (const Schedule &schedule : getSchedules())
      names.push_back(schedule.name);
    return names;
  }();
  return names;
}

static Result<Schedule> findSchedule(std::string_view name) {
  std::string known;
  for (const Schedule &schedule : getSchedules()) {
    if (schedule.name == name)
      return schedule;
    known += (known.empty() ? "" : ", ") + schedule.name;
  }
  if (name == "dualpipe")
    return Result<Schedule>::failure(
        "schedule 'dualpipe' keeps two copies of the parameters on every "
        "place; use 'dualpipe-v', which keeps one");
  return Result<Schedule>::failure("there is no schedule '" +
                                   std::string(name) + "'; there are " + known);
}

Result<Shape> ppopt::schedule::getShape(std::string_view name,
                                        std::optional<int> chunks) {
  Result<Schedule> schedule = findSchedule(name);
  if (!schedule)
    return Result<Shape>::failure(schedule.error);
  Shape shape = schedule->shape;
  if (chunks && *chunks != shape.chunks)
    return Result<Shape>::failure("schedule '" + std::string(name) + "' has " +
                                  std::to_string(shape.chunks) + " stage" +
                                  (shape.chunks == 1 ? "" : "s") +
                                  " a place, not " + std::to_string(*chunks));
  return shape;
}

/// Holds that every place has something to run.
static std::string checkPlaces(const StageGraph &graph) {
  std::vector<bool> isUsed(graph.places, false);
  for (const Stage &stage : graph.stages)
    isUsed[stage.place] = true;
  auto unused = std::find(isUsed.begin(), isUsed.end(), false);
  if (unused == isUsed.end())
    return "";
  return "place " + std::to_string(unused - isUsed.begin()) +
         " has no stage; use fewer places or put a part of the model there";
}

Result<Table> ppopt::schedule::generate(std::string_view name,
                                        const StageGraph &graph,
                                        int microbatches) {
  Result<Schedule> schedule = findSchedule(name);
  if (!schedule)
    return Result<Table>::failure(schedule.error);
  std::string wrong = checkPlaces(graph);
  if (!wrong.empty())
    return Result<Table>::failure(wrong);
  if (microbatches < 1)
    return Result<Table>::failure("a schedule needs at least one microbatch");
  if (name == "naive" && microbatches > 1)
    return Result<Table>::failure("schedule 'naive' runs one microbatch, not " +
                                  std::to_string(microbatches) +
                                  "; use 'gpipe' or --microbatches 1");
  ListPolicy policy;
  policy.flushes = name == "naive" || name == "gpipe";
  policy.splitsBackward = schedule->shape.splitsBackward;
  return generateList(graph, microbatches, policy);
}
