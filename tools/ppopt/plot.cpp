//===- plot.cpp - `ppopt plot` --------------------------------------------===//

#include "commands.h"
#include "write_file.h"

#include "ppopt/Report/Curves.h"

using namespace llvm;
using namespace ppopt;

static constexpr Flag plotFlags[] = {
    {"o", ValueKind::Output, "FILE", "curves.html", "the page"},
};

static int run(const Arguments &arguments) {
  std::vector<curves::Run> runs;
  for (const std::string &path : arguments.positionals) {
    Expected<curves::Run> run = curves::readRun(path);
    if (!run)
      return fail(plotCommand, toString(run.takeError()));
    runs.push_back(std::move(*run));
  }
  return failed(
      writeFile(plotCommand, arguments.get("o"), curves::writeCurves(runs)));
}

static const ArrayRef<Flag> groups[] = {plotFlags};

const Command ppopt::plotCommand = {
    "plot",
    "draws the losses of runs as a page for a browser",
    "RUN.jsonl...",
    R"(Reads the logs that executables write with --log, and draws loss, gradient norm and
throughput of all these runs over their steps: one page that needs no network. A
run that was killed and resumed is one curve.

  ppopt plot run.jsonl -o curves.html
  ppopt plot dp2.jsonl pp2.jsonl -o compared.html
)",
    groups,
    run,
    /*takesSeveral=*/true};
