//===- page_sample.cpp - A page of a made-up model ------------------------===//
//
//   ppopt-page-sample SCHEDULE PLACES MICROBATCHES > plan.html
//   ppopt-page-sample --trace SCHEDULE PLACES MICROBATCHES > plan.json
//
//===----------------------------------------------------------------------===//

#include "ppopt/Report/SchedulePage.h"
#include "ppopt/Report/Trace.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace ppopt::schedule;

namespace {

constexpr int64_t width = 768, rows = 4 * 1024;
constexpr int64_t boundaryBytes = rows * width * 4;

/// The first stage embeds and the last has the loss, which takes longer.
StageGraph makeGraph(const Shape &shape, int places) {
  std::vector<int> placeOf;
  int count = places * shape.chunks;
  for (int stage = 0; stage < count; ++stage)
    placeOf.push_back(shape.isVee && stage >= places ? count - 1 - stage
                                                     : stage % places);
  StageGraph graph = makeChain(placeOf, 4.1e6, 4.4e6, 3.6e6, boundaryBytes);
  graph.stages.front().forwardTime *= 0.85;
  graph.stages.back().forwardTime *= 1.2;
  graph.stages.back().inputTime *= 1.2;
  return graph;
}

StageNote makeNote(const StageGraph &graph, int stage) {
  StageNote note;
  int last = static_cast<int>(graph.stages.size()) - 1;
  if (stage == 0) {
    note.inputs = {"tokens"};
    note.parameters.push_back({"wte", "50304x768xf32", 50304 * width * 4});
  }
  std::string block = "h" + std::to_string(stage) + ".";
  note.parameters.push_back({block + "ln_1.weight", "768xf32", width * 4});
  note.parameters.push_back(
      {block + "attn.weight", "768x2304xf32", 3 * width * width * 4});
  note.parameters.push_back(
      {block + "mlp.weight", "768x3072xf32", 4 * width * width * 4});
  if (stage == last)
    note.inputs = {"targets"};
  for (size_t index = 0; index < graph.edges.size(); ++index) {
    const Edge &edge = graph.edges[index];
    bool isReceived = edge.to == stage;
    if (!isReceived && edge.from != stage)
      continue;
    note.boundaries.push_back(
        {"x" + std::to_string(index), isReceived, edge.isGradient,
         isReceived ? edge.from : edge.to, "4x1024x768xf32", edge.bytes,
         /*requiresGrad=*/!edge.isGradient});
  }
  return note;
}

/// A forward keeps four boundaries' worth until the backward is through.
std::vector<MemoryStep> trace(const std::vector<TimedCell> &row) {
  std::vector<MemoryStep> steps = {{0, 0}};
  for (const TimedCell &timed : row) {
    int64_t kept = 4 * boundaryBytes, now = steps.back().bytes;
    if (timed.cell.work == Work::Forward)
      steps.push_back({timed.start, now + kept});
    if (timed.cell.work == Work::Backward ||
        timed.cell.work == Work::BackwardWeight)
      steps.push_back({timed.end, now - kept});
  }
  return steps;
}

std::string spellMebibytes(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

void addPlaces(Page &page) {
  std::vector<std::string> sent, peaks;
  for (int place = 0; place < page.graph.places; ++place) {
    int64_t parameters = 0, out = 0;
    for (size_t stage = 0; stage < page.stages.size(); ++stage)
      if (page.graph.stages[stage].place == place)
        for (const Parameter &parameter : page.stages[stage].parameters)
          parameters += parameter.bytes;
    for (const TimedTransfer &timed : page.timeline.transfers) {
      const Edge &edge = page.graph.edges[timed.edge];
      if (page.graph.stages[edge.from].place == place)
        out += edge.bytes;
    }
    PlaceMemory memory;
    memory.resident = {{"parameters", parameters},
                       {"gradients", parameters},
                       {"optimizer", 2 * parameters}};
    memory.activations = trace(page.timeline.rows[place]);
    int64_t most = 0;
    for (const MemoryStep &step : memory.activations)
      most = std::max(most, step.bytes);
    peaks.push_back(spellMebibytes(4 * parameters + most));
    sent.push_back(spellMebibytes(out));
    page.memory.push_back(std::move(memory));
  }
  page.figures = {{"sent", sent}, {"peak", peaks}};
}

} // namespace

int main(int argc, char **argv) {
  bool isTrace = argc == 5 && std::string_view(argv[1]) == "--trace";
  argv += isTrace;
  argc -= isTrace;
  if (argc != 4) {
    std::fprintf(stderr, "usage: ppopt-page-sample [--trace] SCHEDULE PLACES "
                         "MICROBATCHES\n");
    return 2;
  }
  std::string name = argv[1];
  int places = std::atoi(argv[2]), microbatches = std::atoi(argv[3]);
  Result<Shape> shape = getShape(name, std::nullopt);
  if (!shape) {
    std::fprintf(stderr, "%s\n", shape.error.c_str());
    return 1;
  }
  Page page;
  page.graph = makeGraph(*shape, places);
  Result<Table> table = generate(name, page.graph, microbatches);
  if (!table) {
    std::fprintf(stderr, "%s\n", table.error.c_str());
    return 1;
  }
  page.timeline = simulate(*table, page.graph, {2e4, 8});
  for (size_t index = 0; index < page.graph.edges.size(); ++index)
    page.edgeNames.push_back("x" + std::to_string(index));
  if (isTrace) {
    TraceOptions options;
    options.edgeNames = page.edgeNames;
    std::fputs(writeTrace(page.timeline, page.graph, options).c_str(), stdout);
    return 0;
  }
  page.title = "gpt <made up>.mlir";
  page.subtitle = "dp=1, pp=" + std::to_string(places) + ", batch " +
                  std::to_string(4 * microbatches) + ", microbatches " +
                  std::to_string(microbatches) + ", " + name + ", adamw";
  page.deviceMemory = int64_t(2) << 30;
  for (size_t stage = 0; stage < page.graph.stages.size(); ++stage)
    page.stages.push_back(makeNote(page.graph, static_cast<int>(stage)));
  addPlaces(page);
  std::fputs(writePage(page).c_str(), stdout);
  return 0;
}
