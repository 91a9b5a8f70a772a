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

/// Returns "[a,b]": the results of `spell` for each element.
template <typename Range, typename Spell>
std::string spellList(const Range &range, Spell spell) {
  std::string text = "[";
  for (const auto &element : range) {
    if (text.size() > 1)
      text += ',';
    text += spell(element);
  }
  return text + "]";
}

std::string spellCell(const TimedCell &timed) {
  return std::to_string(static_cast<int>(timed.cell.work)) + "," +
         std::to_string(timed.cell.stage) + "," +
         std::to_string(timed.cell.microbatch) + "," +
         spellNumber(timed.start) + "," + spellNumber(timed.end);
}

std::string spellTransfer(const TimedTransfer &timed) {
  return std::to_string(timed.edge) + "," + std::to_string(timed.microbatch) +
         "," + spellNumber(timed.start) + "," + spellNumber(timed.end);
}

/// The works whose runs have collectives inside.
constexpr Work stageWorks[] = {Work::Forward, Work::Backward,
                               Work::BackwardInput, Work::BackwardWeight};

std::string spellBool(bool is) { return is ? "true" : "false"; }

class PlanWriter {
public:
  explicit PlanWriter(const Page &page) : page(page) {}

  std::string write() const {
    std::string text = "{\"title\":" + quote(page.title) +
                       ",\"subtitle\":" + quote(page.subtitle) +
                       ",\"unit\":" + spellNumber(page.nanosecondsPerUnit) +
                       ",\"end\":" + spellNumber(page.timeline.end) +
                       ",\"deviceMemory\":" + std::to_string(page.deviceMemory);
    text += ",\n\"places\":[";
    for (int place = 0; place < page.graph.places; ++place)
      text += (place ? ",\n" : "\n") + spellPlace(place);
    text += "],\n\"transfers\":" +
            spellList(page.timeline.transfers, spellTransfer);
    text += ",\n\"edges\":[";
    std::vector<std::string> names = nameEdges(page.graph, page.edgeNames);
    for (size_t edge = 0; edge < names.size(); ++edge)
      text += (edge ? ",\n" : "\n") +
              spellEdge(page.graph.edges[edge], names[edge]);
    text += "],\n\"stages\":[";
    for (size_t stage = 0; stage < page.graph.stages.size(); ++stage)
      text += (stage ? ",\n" : "\n") + spellStage(stage);
    text += "],\n\"figures\":" + spellList(page.figures, [](const auto &of) {
              return "[" + quote(of.first) + "," + spellList(of.second, quote) +
                     "]";
            });
    return text + "}";
  }

private:
  std::string spellPlace(int place) const {
    std::string text =
        "{\"cells\":" + spellList(page.timeline.rows[place], spellCell);
    if (!page.memory.empty()) {
      const PlaceMemory &memory = page.memory[place];
      text +=
          ",\"resident\":" +
          spellList(memory.resident,
                    [](const auto &kind) {
                      return "[" + quote(kind.first) + "," +
                             std::to_string(kind.second) + "]";
                    }) +
          ",\"memory\":" +
          spellList(memory.activations, [](const MemoryStep &step) {
            return spellNumber(step.time) + "," + std::to_string(step.bytes);
          });
    }
    return text + "}";
  }

  static std::string spellEdge(const Edge &edge, const std::string &name) {
    return "{\"name\":" + quote(name) +
           ",\"from\":" + std::to_string(edge.from) +
           ",\"to\":" + std::to_string(edge.to) +
           ",\"gradient\":" + spellBool(edge.isGradient) +
           ",\"bytes\":" + std::to_string(edge.bytes) + "}";
  }

  std::string spellStage(size_t index) const {
    const Stage &stage = page.graph.stages[index];
    static const StageNote nothing;
    const StageNote &note = page.stages.empty() ? nothing : page.stages[index];
    return "{\"place\":" + std::to_string(stage.place) +
           ",\"backward\":" + spellBool(stage.hasBackward) +
           ",\"forward\":" + spellNumber(stage.forwardTime) +
           ",\"input\":" + spellNumber(stage.inputTime) +
           ",\"weight\":" + spellNumber(stage.weightTime) +
           ",\"collectives\":" +
           spellList(stageWorks,
                     [&](Work work) {
                       return spellList(getCollectives(stage, work),
                                        spellCollective);
                     }) +
           ",\"inputs\":" + spellList(note.inputs, quote) +
           ",\"parameters\":" + spellList(note.parameters, spellParameter) +
           ",\"boundaries\":" + spellList(note.boundaries, spellBoundary) + "}";
  }

  static std::string spellCollective(const StageCollective &collective) {
    std::string text = "[" + quote(collective.name) + "," +
                       std::to_string(collective.channel) + "," +
                       std::to_string(collective.bytes);
    for (double number :
         {collective.start, collective.end, collective.waitStart,
          collective.waitEnd, collective.hidden})
      text += "," + spellNumber(number);
    return text + "]";
  }

  static std::string spellParameter(const Parameter &parameter) {
    return "{\"name\":" + quote(parameter.name) +
           ",\"type\":" + quote(parameter.type) +
           ",\"bytes\":" + std::to_string(parameter.bytes) + "}";
  }

  static std::string spellBoundary(const Boundary &boundary) {
    return "{\"name\":" + quote(boundary.name) +
           ",\"received\":" + spellBool(boundary.isReceived) +
           ",\"gradient\":" + spellBool(boundary.isGradient) +
           ",\"requiresGrad\":" + spellBool(boundary.requiresGrad) +
           ",\"peer\":" + std::to_string(boundary.peer) +
           ",\"type\":" + quote(boundary.type) +
           ",\"bytes\":" + std::to_string(boundary.bytes) + "}";
  }

  const Page &page;
};

} // namespace

std::string ppopt::schedule::writePage(const Page &page) {
  return fillPage(parts, page.title, PlanWriter(page).write());
}
