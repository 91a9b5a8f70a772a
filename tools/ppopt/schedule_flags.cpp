//===- schedule_flags.cpp - --schedule, --chunks, --microbatches ----------===//

#include "schedule_flags.h"

#include "geometry/mesh.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Support/ReadFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace ppopt;

/// A table has an entry per microbatch and stage.
static constexpr int64_t kMostStages = int64_t(1) << 20;

/// Takes places and microbatches from the file's table. If the user gave them
/// too, checks that they agree.
static std::string setTable(StringRef path, const Arguments &arguments,
                            mlir::pp::PlanOptions &plan) {
  auto file = readTextFile(path);
  if (!file)
    return ("--schedule: cannot read '" + path +
            "': " + toString(file.takeError()))
        .str();
  plan.schedule = "table";
  plan.table = (*file)->getBuffer().str();
  plan.tablePath = path.str();
  auto table = schedule::parseCsv(plan.table);
  if (!table)
    return (path + ": " + table.error).str();
  auto placeOf = schedule::getPlaces(*table);
  if (!placeOf)
    return (path + ": " + placeOf.error).str();

  auto rows = static_cast<int64_t>(table->rows.size());
  if (!plan.mesh.has(geometry::placeAxis))
    plan.mesh.add({std::string(geometry::placeAxis), rows});
  else if (plan.mesh.places() != rows)
    return (path + ": has " + Twine(rows) +
            " rows, one per place, but --mesh " + geometry::placeAxis + "=" +
            Twine(plan.mesh.places()))
        .str();
  if (arguments.has("chunks"))
    return (path + ": says which stages a place has; leave --chunks out").str();
  if (arguments.has("microbatches") && plan.microbatches != table->microbatches)
    return (path + ": has " + Twine(table->microbatches) +
            " microbatches, but --microbatches " + Twine(plan.microbatches))
        .str();
  plan.microbatches = table->microbatches;
  plan.stagePlaces.assign(placeOf->begin(), placeOf->end());
  return "";
}

/// Returns an error that lists the schedules if `name` is not one of them.
static std::string checkName(StringRef name) {
  const std::vector<std::string> &names = schedule::getScheduleNames();
  // getShape rejects dualpipe with a reason.
  if (name == "auto" || is_contained(names, name) || name == "dualpipe")
    return "";
  if (sys::fs::exists(name))
    return ("--schedule: no schedule is named '" + name +
            "'; to read the file of this name, write ./" + name)
        .str();
  SmallVector<StringRef> known(names.begin(), names.end());
  known.append({"auto", "FILE.csv"});
  return ("--schedule: unknown value '" + name + "'" + suggest(name, known))
      .str();
}

std::string ppopt::setNamedSchedule(StringRef name,
                                    mlir::pp::PlanOptions &plan) {
  auto shape = schedule::getShape(name.str(), plan.chunks);
  if (!shape)
    return "--schedule: " + shape.error;
  plan.schedule = name.str();
  plan.stagePlaces.clear();
  if (shape->chunks == 1)
    return "";
  auto places = static_cast<int>(plan.mesh.places());
  if (places == 1)
    return ("--schedule " + name +
            " puts several stages on each of several places; say how many "
            "places: --mesh pp=2")
        .str();
  for (int place : schedule::placeStages(*shape, places))
    plan.stagePlaces.push_back(place);
  return "";
}

std::string ppopt::setSchedule(const Arguments &arguments,
                               mlir::pp::PlanOptions &plan) {
  plan.microbatches = arguments.getInteger("microbatches");
  StringRef name = arguments.get("schedule");
  if (isFile(name))
    return setTable(name, arguments, plan);
  if (std::string wrong = checkName(name); !wrong.empty())
    return wrong;
  if (arguments.has("chunks")) {
    int64_t chunks = arguments.getInteger("chunks");
    int64_t places = plan.mesh.places();
    if (chunks > kMostStages / places)
      return ("--chunks " + Twine(chunks) + ": makes more than " +
              Twine(kMostStages) + " stages on the " + Twine(places) +
              " places of --mesh")
          .str();
    plan.chunks = static_cast<int>(chunks);
  }
  if (name != "auto")
    return setNamedSchedule(name, plan);
  plan.schedule = name.str();
  return "";
}
