//===- Generate.cpp - The built-in schedules by name ----------------------===//

#include "Generators.h"
#include "ppopt/Schedule/EdgeLinks.h"

#include <algorithm>
#include <cmath>

using namespace ppopt::schedule;

namespace {

struct Schedule {
  std::string name;
  Shape shape;
  Table (*generate)(const StageGraph &graph, int microbatches);
};

} // namespace

static const std::vector<Schedule> &getSchedules() {
  static const Shape one, two{/*chunks=*/2},
      split{/*chunks=*/1, /*splitsBackward=*/true},
      vee{/*chunks=*/2, /*splitsBackward=*/true, /*isVee=*/true};
  static const std::vector<Schedule> schedules = {
      {"naive", one, generateGPipe},
      {"gpipe", one, generateGPipe},
      {"1f1b", one, generateOneForwardOneBackward},
      {"interleaved", two, generateInterleaved},
      {"zb-h1", split, generateZeroBubbleH1},
      {"zb-v", vee, generateZeroBubbleV},
      {"dualpipe-v", vee, generateDualPipeV},
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

//===----------------------------------------------------------------------===//
// Requirements of schedules
//===----------------------------------------------------------------------===//

Result<Shape> ppopt::schedule::getShape(std::string_view name,
                                        std::optional<int> chunks) {
  Result<Schedule> schedule = findSchedule(name);
  if (!schedule)
    return Result<Shape>::failure(schedule.error);
  Shape shape = schedule->shape;
  if (!chunks || *chunks == shape.chunks)
    return shape;
  if (name == "interleaved" && *chunks >= 2) {
    shape.chunks = *chunks;
    return shape;
  }
  std::string wants = "schedule '" + std::string(name) + "' ";
  std::string instead;
  if (name == "interleaved") {
    wants += "wants two or more stages per place";
    instead = "'1f1b' for one";
  } else if (shape.chunks == 2) {
    wants += "has two stages per place";
    instead = *chunks == 1 ? "'zb-h1' for one" : "'interleaved' for more";
  } else {
    wants += "has one stage per place";
    instead = "'interleaved' for more";
  }
  return Result<Shape>::failure(wants + ", not " + std::to_string(*chunks) +
                                "; leave --chunks out, or use " + instead);
}

/// Returns the place of a stage in a schedule of several chunks.
static int getPlace(int stage, int places, const Shape &shape) {
  int chunk = stage / places, within = stage % places;
  return shape.isVee && chunk % 2 == 1 ? places - 1 - within : within;
}

std::vector<int> ppopt::schedule::placeStages(const Shape &shape, int places) {
  std::vector<int> placeOf(shape.chunks * places);
  for (size_t stage = 0; stage < placeOf.size(); ++stage)
    placeOf[stage] = getPlace(static_cast<int>(stage), places, shape);
  return placeOf;
}

/// Checks that the stages are on the places that a schedule of several chunks
/// requires; for interleaved, the number of chunks follows from the graph.
static std::string checkShape(const Schedule &schedule,
                              const StageGraph &graph) {
  const Shape &shape = schedule.shape;
  if (shape.chunks == 1)
    return "";
  std::string wants =
      "schedule '" + schedule.name + "' wants " +
      (shape.isVee ? "two stages per place, down the places and up again ("
                   : "two or more stages per place, dealt out in turn (");
  for (int stage = 0; stage < 2 * graph.places; ++stage)
    wants += (stage ? " " : "") +
             std::to_string(getPlace(stage, graph.places, shape));
  wants += shape.isVee ? ")" : " ...)";
  std::string instead = std::string("; use '") +
                        (shape.splitsBackward ? "zb-h1" : "1f1b") +
                        "', which takes any placement";
  int stages = static_cast<int>(graph.stages.size());
  if (stages % graph.places != 0 || stages < 2 * graph.places ||
      (shape.isVee && stages != 2 * graph.places))
    return wants + ", and " + std::to_string(graph.places) + " places have " +
           std::to_string(stages) + " stages" + instead;
  for (int stage = 0; stage < stages; ++stage)
    if (graph.stages[stage].place != getPlace(stage, graph.places, shape))
      return wants + ", and stage " + std::to_string(stage) + " is on place " +
             std::to_string(graph.stages[stage].place) + instead;
  return "";
}

static std::string checkMicrobatches(std::string_view name, int microbatches) {
  if (microbatches < 1)
    return "a schedule needs at least one microbatch";
  if (name == "naive" && microbatches > 1)
    return "schedule 'naive' runs one microbatch, not " +
           std::to_string(microbatches) + "; use 'gpipe' or --microbatches 1";
  return "";
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Removes microbatches that only the published pattern has, and backwards of
/// stages that have none. No cell reads a value of another microbatch, and
/// nothing reads the missing backwards: the rest can still run.
static void leaveOut(Table &table, const StageGraph &graph, int microbatches) {
  table.microbatches = microbatches;
  for (std::vector<Cell> &row : table.rows) {
    auto isSurplus = [&](const Cell &cell) {
      return cell.microbatch >= microbatches ||
             (cell.work != Work::Forward &&
              !graph.stages[cell.stage].hasBackward);
    };
    row.erase(std::remove_if(row.begin(), row.end(), isSurplus), row.end());
  }
}

Result<Table> ppopt::schedule::generate(std::string_view name,
                                        const StageGraph &graph,
                                        int microbatches) {
  Result<Schedule> schedule = findSchedule(name);
  if (!schedule)
    return Result<Table>::failure(schedule.error);
  std::string wrong = check(graph);
  if (wrong.empty())
    wrong = checkMicrobatches(name, microbatches);
  if (wrong.empty())
    wrong = checkShape(*schedule, graph);
  if (!wrong.empty())
    return Result<Table>::failure(wrong);
  Table table = schedule->generate(graph, microbatches);
  leaveOut(table, graph, microbatches);
  return table;
}

bool ppopt::schedule::isBetter(const Candidate &a, const Candidate &b) {
  double tolerance = 1e-9 * std::max(a.time, b.time);
  if (std::abs(a.time - b.time) > tolerance)
    return a.time < b.time;
  return a.held < b.held;
}

std::vector<Candidate> ppopt::schedule::simulateAll(const StageGraph &graph,
                                                    int microbatches,
                                                    const EdgeLinks &links) {
  std::vector<Candidate> candidates;
  for (const std::string &name : getScheduleNames()) {
    Result<Table> table = generate(name, graph, microbatches);
    if (!table)
      continue;
    Table asRun = separateBackwards(*table);
    Timeline timeline = simulate(asRun, graph, links);
    Candidate candidate{name, std::move(*table), timeline.end};
    for (int place = 0; place < graph.places; ++place)
      candidate.held =
          std::max(candidate.held, timeline.getInFlight(asRun, graph, place));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::vector<Candidate> ppopt::schedule::simulateAll(const StageGraph &graph,
                                                    int microbatches,
                                                    const Link &link) {
  return simulateAll(graph, microbatches, EdgeLinks(graph.edges.size(), link));
}

Result<std::pair<std::string, Table>>
ppopt::schedule::chooseFastest(const StageGraph &graph, int microbatches,
                               const Link &link) {
  using Choice = std::pair<std::string, Table>;
  // A graph that gpipe rejects, all reject.
  Result<Table> any = generate("gpipe", graph, microbatches);
  if (!any)
    return Result<Choice>::failure(any.error);
  std::vector<Candidate> all = simulateAll(graph, microbatches, link);
  auto best = std::min_element(all.begin(), all.end(), isBetter);
  return Choice(best->name, std::move(best->table));
}
