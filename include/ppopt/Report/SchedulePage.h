//===- SchedulePage.h - A plan as a page for a browser --------------------===//

#ifndef PPOPT_REPORT_SCHEDULEPAGE_H
#define PPOPT_REPORT_SCHEDULEPAGE_H

#include "ppopt/Schedule/Table.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::schedule {

/// Bytes from `time` on, until the next step's time.
struct MemoryStep {
  double time = 0; ///< in the timeline's unit
  int64_t bytes = 0;
};

/// Memory of one rank of a place.
struct PlaceMemory {
  /// Bytes held throughout, by kind, in the order of the chart from the bottom:
  /// {"parameters", 4096}, {"gradients", 4096}, …
  std::vector<std::pair<std::string, int64_t>> resident;
  /// Bytes in slots over time, stacked on top. May be empty.
  std::vector<MemoryStep> activations;
};

/// A value that a stage receives from another place or sends to one.
struct Boundary {
  std::string name; ///< "x0"
  bool isReceived = false;
  bool isGradient = false;
  int peer = 0;      ///< the other stage
  std::string type;  ///< "4x32xf32"
  int64_t bytes = 0; ///< per microbatch
  bool requiresGrad = false;
  std::string link; ///< "NVLink"; empty without a cluster
};

struct Parameter {
  std::string name, type; ///< "wte", "256x64xf32"
  int64_t bytes = 0;
};

/// The page's details of a stage.
struct StageNote {
  std::vector<Parameter> parameters;
  std::vector<Boundary> boundaries;
  std::vector<std::string> inputs; ///< model inputs that it reads
};

struct Page {
  std::string title;    ///< "gpt.mlir"
  std::string subtitle; ///< the plan: "dp=2 pp=4, 1f1b, 8 microbatches, adamw"
  StageGraph graph;
  Timeline timeline;
  double nanosecondsPerUnit = 1; ///< of all times
  /// One entry per place; empty: no memory chart.
  std::vector<PlaceMemory> memory;
  int64_t deviceMemory = 0; ///< the limit; 0: none
  /// One entry per stage; may be empty.
  std::vector<StageNote> stages;
  /// One name per edge of the graph, "x0"; may be empty: see TraceOptions.
  std::vector<std::string> edgeNames;
  /// A table below the chart, one value per place: {"sent", {"1.2 MiB", …}}.
  std::vector<std::pair<std::string, std::vector<std::string>>> figures;
};

/// Returns one HTML document that needs no network and no other file.
std::string writePage(const Page &page);

} // namespace ppopt::schedule

#endif // PPOPT_REPORT_SCHEDULEPAGE_H
