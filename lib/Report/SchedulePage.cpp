//===- SchedulePage.cpp - A plan as a page for a browser ------------------===//
//
// The document, its style and its scripts are files in SchedulePage/. This file
// writes the plan as JSON for them; SchedulePage/plan.js describes the format.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Report/SchedulePage.h"

#include "Json.h"

#include "ppopt/Report/PageText.h"

using namespace ppopt::schedule;

namespace {

#include "SchedulePage.inc"

/// The works whose runs have collectives inside.
constexpr Work stageWorks[] = {Work::Forward, Work::Backward,
                               Work::BackwardInput, Work::BackwardWeight};

/// Returns a list of the results of `describe` for each element.
template <typename Range, typename Describe>
Json listOf(const Range &range, Describe describe) {
  Json list = Json::array();
  for (const auto &element : range)
    list.push_back(describe(element));
  return list;
}

Json describe(const Edge &edge, const std::string &name) {
  return {{"name", name},
          {"from", edge.from},
          {"to", edge.to},
          {"gradient", edge.isGradient},
          {"bytes", edge.bytes}};
}

Json describe(const StageCollective &collective) {
  Json list = {collective.name, collective.channel, collective.bytes};
  for (double number : {collective.start, collective.end, collective.waitStart,
                        collective.waitEnd, collective.hidden})
    list.push_back(roundNumber(number));
  return list;
}

Json describe(const Parameter &parameter) {
  return {{"name", parameter.name},
          {"type", parameter.type},
          {"bytes", parameter.bytes}};
}

Json describe(const Boundary &boundary) {
  return {{"name", boundary.name},
          {"received", boundary.isReceived},
          {"gradient", boundary.isGradient},
          {"requiresGrad", boundary.requiresGrad},
          {"peer", boundary.peer},
          {"type", boundary.type},
          {"bytes", boundary.bytes},
          {"link", boundary.link}};
}

Json describe(const Stage &stage, const StageNote &note) {
  auto describeAny = [](const auto &each) { return describe(each); };
  return {{"place", stage.place},
          {"backward", stage.hasBackward},
          {"forward", roundNumber(stage.forwardTime)},
          {"input", roundNumber(stage.inputTime)},
          {"weight", roundNumber(stage.weightTime)},
          {"collectives", listOf(stageWorks,
                                 [&](Work work) {
                                   return listOf(getCollectives(stage, work),
                                                 describeAny);
                                 })},
          {"inputs", note.inputs},
          {"parameters", listOf(note.parameters, describeAny)},
          {"boundaries", listOf(note.boundaries, describeAny)}};
}

Json describePlace(const Page &page, int place) {
  Json cells = Json::array();
  for (const TimedCell &timed : page.timeline.rows[place])
    append(cells, static_cast<int>(timed.cell.work), timed.cell.stage,
           timed.cell.microbatch, roundNumber(timed.start),
           roundNumber(timed.end));
  Json described = {{"cells", std::move(cells)}};
  if (page.memory.empty())
    return described;
  described["resident"] = page.memory[place].resident;
  Json &memory = described["memory"] = Json::array();
  for (const MemoryStep &step : page.memory[place].activations)
    append(memory, roundNumber(step.time), step.bytes);
  return described;
}

Json describePage(const Page &page) {
  Json places = Json::array(), transfers = Json::array(), edges = Json::array(),
       stages = Json::array();
  for (int place = 0; place < page.graph.places; ++place)
    places.push_back(describePlace(page, place));
  for (const TimedTransfer &timed : page.timeline.transfers)
    append(transfers, timed.edge, timed.microbatch, roundNumber(timed.start),
           roundNumber(timed.end));
  std::vector<std::string> names = nameEdges(page.graph, page.edgeNames);
  for (size_t edge = 0; edge < names.size(); ++edge)
    edges.push_back(describe(page.graph.edges[edge], names[edge]));
  for (size_t stage = 0; stage < page.graph.stages.size(); ++stage)
    stages.push_back(
        describe(page.graph.stages[stage],
                 page.stages.empty() ? StageNote() : page.stages[stage]));
  return {{"title", page.title},
          {"subtitle", page.subtitle},
          {"unit", roundNumber(page.nanosecondsPerUnit)},
          {"end", roundNumber(page.timeline.end)},
          {"deviceMemory", page.deviceMemory},
          {"places", std::move(places)},
          {"transfers", std::move(transfers)},
          {"edges", std::move(edges)},
          {"stages", std::move(stages)},
          {"figures", page.figures}};
}

} // namespace

std::string ppopt::schedule::writePage(const Page &page) {
  return fillPage(parts, page.title, spell(describePage(page)));
}
