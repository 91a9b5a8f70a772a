//===- plan.cpp - `ppopt plan` --------------------------------------------===//

#include "commands.h"
#include "driver.h"
#include "goodput.h"
#include "plan_flags.h"
#include "plan_page.h"
#include "plan_text.h"
#include "search_text.h"
#include "write_file.h"

#include "ppopt/Program/Program.h"
#include "ppopt/Report/Trace.h"
#include "schema/write.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Phase;
using mlir::pp::PlanReport;

namespace {
struct OutputFlags {
  std::string html, trace, emit, output = "-";
  bool json = false;
};
} // namespace

static void declare(CommandLine &line, OutputFlags &flags) {
  line.output("html", flags.html,
              "also write the plan as an HTML page: the pebble graph, memory "
              "over time, stages");
  line.output("trace", flags.trace,
              "also write the predicted step as a Perfetto trace "
              "(docs/trace.md)");
  line.choice("emit", "WHAT", {{"schedule.csv", "plan"}}, flags.emit,
              "write this instead of the text: schedule.csv is the schedule "
              "table of all places, in PyTorch's format; plan is what --plan "
              "auto chose, as the file that --plan reads");
  line.output("o", flags.output, "output file of --emit");
  line.toggle("json", flags.json,
              "print the full description of the program, like the "
              "executable's --describe=json");
}

/// Writes the files that the user requests in addition to the text.
static LogicalResult writeFiles(const OutputFlags &flags,
                                const mlir::pp::PlanOptions &plan,
                                const PlanReport &report) {
  if (!flags.html.empty() &&
      failed(writeFile(planCommand, flags.html,
                       schedule::writePage(makePage(plan, report)))))
    return failure();
  if (!flags.trace.empty())
    return writeFile(
        planCommand, flags.trace,
        schedule::writeTrace(report.timeline, report.graph,
                             {/*nanosecondsPerUnit=*/1, report.edgeNames}));
  return success();
}

static int printProgram(mlir::ModuleOp module) {
  FailureOr<schema::Program> program = mlir::pp::buildProgram(module);
  if (failed(program))
    return 1;
  outs() << schema::writeProgram(*program) << "\n";
  return 0;
}

static int run(CommandLine &line, const mlir::pp::CompilationSetup &setup) {
  OutputFlags flags;
  declare(line, flags);
  GoodputFlags goodput(line);
  PlanFlags planned(line);
  if (std::optional<int> status = line.parse())
    return *status;
  if (line.has("o") && flags.emit.empty())
    return failUsage(planCommand,
                     "-o is the output file of --emit; give --emit, or "
                     "--html FILE or --trace FILE");
  if (std::optional<int> status = planned.complete())
    return *status;
  if (flags.emit == "plan" && !planned.space)
    return failUsage(planCommand, "--emit plan writes what --plan auto chose; "
                                  "add --plan auto --ranks N");
  if (flags.json && !flags.emit.empty())
    return failUsage(planCommand, "--json replaces the text, as --emit does; "
                                  "leave one of them out");
  for (StringRef flag : {"html", "trace", "emit"})
    if (planned.plan.launch == ppopt::schema::Launch::local && line.has(flag))
      return failUsage(planCommand,
                       "--" + flag +
                           " shows the schedules of ranks, and --launch "
                           "local has none; leave one of them out");
  if (std::string wrong = goodput.check(planned.plan); !wrong.empty())
    return failUsage(planCommand, wrong);
  mlir::pp::CompilationSetup strict = setup;
  strict.isStrict = planned.isStrict;
  mlir::pp::Compilation compilation(planned.plan, strict);
  if (failed(compilation.parse()) || failed(chooseShard(compilation)))
    return 1;
  mlir::pp::PlanSearchResult found;
  if (planned.space && failed(choosePlan(compilation, *planned.space, found)))
    return 1;
  if (flags.emit == "plan")
    return failed(compilation.run(Phase::Kernels)) ||
           failed(writeFile(planCommand, flags.output,
                            writePlan(*planned.space, found)));
  compilation.choosePlan(errs());
  if (failed(compilation.run(Phase::Scheduled)))
    return 1;
  FailureOr<PlanReport> report =
      mlir::pp::reportSchedule(compilation.getModule());
  if (failed(report))
    return 1;
  if (!flags.emit.empty())
    return failed(writeFile(planCommand, flags.output,
                            schedule::writeCsv(report->table)));
  if (failed(compilation.run(Phase::Kernels)) ||
      failed(mlir::pp::addMemory(compilation.getModule(), *report)) ||
      failed(mlir::pp::addCounts(compilation.getModule(), *report)) ||
      failed(writeFiles(flags, compilation.getPlan(), *report)))
    return 1;
  if (flags.json)
    return printProgram(compilation.getModule());
  FailureOr<std::string> losses =
      goodput.describe(compilation.getPlan(), compilation.getModule(), *report);
  if (failed(losses))
    return 1;
  if (planned.space)
    printSearch(*planned.space, found, outs());
  printReport(compilation.getPlan(), *report, outs());
  outs() << *losses;
  return 0;
}

const Command ppopt::planCommand = {
    "plan", "prints a plan's memory, work and traffic", "MODEL",
    R"(Compiles the model in the file MODEL with a parallel plan up to memory layout,
and prints its stages and transfers, each rank's memory by kind, the work and
traffic of a step, and the predicted step time. Bytes and launches are exact:
they equal the executable's counters.

  ppopt plan gpt.mlir --mesh dp=2,pp=2 --microbatches 4
  ppopt plan gpt.mlir --mesh pp=4 --schedule auto --microbatches 8 --html plan.html
)",
    run};
