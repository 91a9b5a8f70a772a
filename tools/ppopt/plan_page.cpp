//===- plan_page.cpp - The page of `ppopt plan --html` --------------------===//

#include "plan_page.h"

#include "plan_text.h"

#include "ppopt/byte_amount.h"

using namespace ppopt;
using mlir::pp::PlaceReport;
using mlir::pp::PlanOptions;
using mlir::pp::PlanReport;
using mlir::pp::StageReport;

schedule::Page ppopt::makePage(const PlanOptions &plan,
                               const PlanReport &report) {
  schedule::Page page;
  page.title = plan.source;
  page.subtitle = describePlan(plan, report);
  page.graph = report.graph;
  page.timeline = report.timeline;
  page.deviceMemory = report.deviceMemory;
  page.edgeNames = report.edgeNames;
  std::vector<std::string> sent, sums, inFlight, memory;
  for (const PlaceReport &place : report.places) {
    schedule::PlaceMemory &of = page.memory.emplace_back();
    // Makes the peak of the chart equal to what a rank allocates.
    int64_t others = place.getBytes(), most = 0;
    for (auto &[kind, bytes] : place.memory)
      if (kind == "parameters" || kind == "gradients" || kind == "optimizer") {
        of.resident.push_back({kind.str(), bytes});
        others -= bytes;
      }
    for (const schedule::MemoryStep &step : place.activations)
      most = std::max(most, step.bytes);
    of.resident.push_back({"other", others - most});
    of.activations = place.activations;
    std::string receivers;
    for (auto [to, bytes] : place.sentTo)
      receivers += (receivers.empty() ? "" : ", ") + spellByteAmount(bytes) +
                   " to " + std::to_string(to);
    sent.push_back(receivers.empty() ? "-" : receivers);
    sums.push_back(spellByteAmount(place.bytesSent - sumSent(place)));
    inFlight.push_back(std::to_string(place.inFlight));
    memory.push_back(spellByteAmount(place.getBytes()));
  }
  for (const StageReport &stage : report.stages)
    page.stages.push_back(stage.note);
  page.figures = {{"memory", memory},
                  {"in flight", inFlight},
                  {"sent", sent},
                  {"in collectives", sums}};
  if (hasCollectivesInTasks(report)) {
    std::vector<std::string> exposed, hidden;
    for (const PlaceReport &place : report.places) {
      exposed.push_back(spellTime(place.exposed));
      hidden.push_back(spellTime(place.hidden));
    }
    page.figures.push_back({"in tasks, exposed", exposed});
    page.figures.push_back({"in tasks, hidden", hidden});
  }
  return page;
}
