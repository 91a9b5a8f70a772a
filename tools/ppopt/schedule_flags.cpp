//===- schedule_flags.cpp - --schedule, --chunks, --microbatches ----------===//

#include "schedule_flags.h"

#include "geometry/mesh.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Support/ReadFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace ppopt;

/// Takes the schedule, places and microbatches from the file's table. If the
/// user gave them too, checks that they agree.
static std::string setTable(StringRef path, const Arguments &arguments,
                            mlir::pp::PlanOptions &plan) {
  auto file = readTextFile(path);
  if (!file)
    return ("--schedule: cannot read '" + path +
            "': " + toString(file.takeError()))
        .str();
  plan.tablePath = path.str();
  auto table = schedule::parseCsv((*file)->getBuffer().str());
  if (!table)
    return (path + ": " + table.error).str();
  int64_t microbatches = table->microbatches;
  std::string wrong = mlir::pp::setTable(plan, std::move(*table));
  if (wrong.empty() && arguments.has("chunks"))
    wrong = "says which stages a place has; leave --chunks out";
  if (wrong.empty() && arguments.has("microbatches") &&
      arguments.getInteger("microbatches") != microbatches)
    wrong = "has " + std::to_string(microbatches) +
            " microbatches, but --microbatches " +
            arguments.get("microbatches").str();
  return wrong.empty() ? "" : (path + ": " + wrong).str();
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

std::string ppopt::setSchedule(const Arguments &arguments,
                               mlir::pp::PlanOptions &plan) {
  plan.microbatches = arguments.getInteger("microbatches");
  StringRef name = arguments.get("schedule");
  if (isFile(name))
    return setTable(name, arguments, plan);
  plan.schedule = name.str();
  if (arguments.has("chunks"))
    plan.chunks = arguments.getInteger("chunks");
  return checkName(name);
}
