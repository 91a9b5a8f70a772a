//===- plot.cpp - `ppopt plot` --------------------------------------------===//

#include "commands.h"
#include "write_file.h"

#include "ppopt/Report/Curves.h"

using namespace llvm;
using namespace ppopt;

static int run(CommandLine &line, const mlir::pp::CompilationSetup &) {
  std::string output = "curves.html";
  line.output("o", output, "the HTML page");
  if (std::optional<int> status = line.parse())
    return *status;
  std::vector<curves::Run> runs;
  for (const std::string &path : line.positionals) {
    Expected<curves::Run> run = curves::readRun(path);
    if (!run)
      return fail(plotCommand, toString(run.takeError()));
    runs.push_back(std::move(*run));
  }
  return failed(writeFile(plotCommand, output, curves::writeCurves(runs)));
}

const Command ppopt::plotCommand = {
    "plot",
    "plots the losses of runs as an HTML page",
    "RUN.jsonl...",
    R"(Reads logs that executables wrote with --log, and plots loss, gradient norm and
throughput of these runs over their steps, as one self-contained HTML page. A
run that was killed and resumed is one curve.

  ppopt plot run.jsonl -o curves.html
  ppopt plot dp2.jsonl pp2.jsonl -o compared.html
)",
    run,
    /*takesSeveral=*/true};
