//===- Check.cpp - Is a schedule complete, and can it run? ----------------===//

#include "Dependencies.h"

#include <algorithm>

using namespace ppopt::schedule;

static std::string describeStage(int stage, int place) {
  return "stage " + std::to_string(stage) + " lives on place " +
         std::to_string(place);
}

/// Checks that a cell names existing things, and is in the right row.
static std::string checkCell(const Cell &cell, int row, const Table &table,
                             const StageGraph &graph) {
  std::string where = spell(cell) + " in row " + std::to_string(row) + ": ";
  if (cell.stage < 0 || cell.stage >= static_cast<int>(graph.stages.size()))
    return where + "the model has " + std::to_string(graph.stages.size()) +
           " stages, numbered from 0";
  if (cell.microbatch < 0 || cell.microbatch >= table.microbatches)
    return where + "there are " + std::to_string(table.microbatches) +
           " microbatches, numbered from 0";
  const Stage &stage = graph.stages[cell.stage];
  if (stage.place != row)
    return where + describeStage(cell.stage, stage.place) +
           "; move its cells to that row";
  if (cell.work != Work::Forward && !stage.hasBackward)
    return where + "stage " + std::to_string(cell.stage) +
           " has no backward under these flags: no gradient is computed on "
           "it; leave the cell out";
  return "";
}

namespace {
/// The cells of one stage on one microbatch.
struct StageRuns {
  int counts[4] = {0, 0, 0, 0};

  int count(Work work) const { return counts[static_cast<int>(work)]; }
};
} // namespace

/// Checks that a stage runs once on a microbatch.
static std::string checkRuns(const StageRuns &runs, int stage, int microbatch,
                             const StageGraph &graph) {
  auto name = [&](Work work) { return spell({work, stage, microbatch}); };
  for (Work work : {Work::Forward, Work::Backward, Work::BackwardInput,
                    Work::BackwardWeight})
    if (runs.count(work) > 1)
      return name(work) + " occurs " + std::to_string(runs.count(work)) +
             " times in row " + std::to_string(graph.stages[stage].place) +
             ": a stage runs once on a microbatch";
  auto isMissing = [&](Work work) {
    return name(work) + " is missing: row " +
           std::to_string(graph.stages[stage].place) + " (" +
           describeStage(stage, graph.stages[stage].place) + ") must run it";
  };
  if (!runs.count(Work::Forward))
    return isMissing(Work::Forward);
  if (!graph.stages[stage].hasBackward)
    return "";
  bool hasInput = runs.count(Work::BackwardInput);
  bool hasWeight = runs.count(Work::BackwardWeight);
  if (runs.count(Work::Backward)) {
    if (!hasInput && !hasWeight)
      return "";
    return name(Work::Backward) + " is a full backward, and " +
           name(hasInput ? Work::BackwardInput : Work::BackwardWeight) +
           " a part of the same: leave one of them out";
  }
  if (hasInput && hasWeight)
    return "";
  if (!hasInput && !hasWeight)
    return isMissing(Work::Backward);
  return isMissing(hasInput ? Work::BackwardWeight : Work::BackwardInput);
}

/// Checks that each stage runs once on each microbatch, in its row. Sorts
/// rather than indexes: a file may claim any number of microbatches.
static std::string checkCells(const Table &table, const StageGraph &graph) {
  std::vector<Cell> cells;
  for (size_t row = 0; row < table.rows.size(); ++row)
    for (const Cell &cell : table.rows[row]) {
      std::string wrong = checkCell(cell, static_cast<int>(row), table, graph);
      if (!wrong.empty())
        return wrong;
      cells.push_back(cell);
    }
  auto isBefore = [](const Cell &a, const Cell &b) {
    return std::tie(a.stage, a.microbatch) < std::tie(b.stage, b.microbatch);
  };
  std::sort(cells.begin(), cells.end(), isBefore);
  auto next = cells.begin();
  for (int stage = 0; stage < static_cast<int>(graph.stages.size()); ++stage)
    for (int microbatch = 0; microbatch < table.microbatches; ++microbatch) {
      StageRuns runs;
      for (; next != cells.end() && next->stage == stage &&
             next->microbatch == microbatch;
           ++next)
        ++runs.counts[static_cast<int>(next->work)];
      std::string wrong = checkRuns(runs, stage, microbatch, graph);
      if (!wrong.empty())
        return wrong;
    }
  return "";
}

namespace {
/// A blocked row: its next cell, and the cell that it waits for.
struct Wait {
  Cell cell, maker;
  int makerRow = 0;
};
} // namespace

/// Returns what the first cell of `row` that did not run waits for.
static Wait findWait(const Table &table, const StageGraph &graph,
                     const Dependencies &dependencies,
                     const std::vector<size_t> &done, int row) {
  const Cell &cell = table.rows[row][done[row]];
  for (const Value &value : dependencies.getReads(cell.stage, cell.work)) {
    int makerRow = graph.stages[value.stage].place;
    const std::vector<Cell> &cells = table.rows[makerRow];
    for (size_t i = done[makerRow]; i < cells.size(); ++i)
      if (cells[i].stage == value.stage &&
          cells[i].microbatch == cell.microbatch &&
          (value.isGradient ? makesGradient(cells[i].work)
                            : cells[i].work == Work::Forward))
        return {cell, cells[i], makerRow};
  }
  return {cell, cell, row};
}

/// Returns the cycle that blocks the rows, as one line. Each unfinished row
/// waits for the blocked cell of some row or one after it: following the rows
/// leads into the cycle.
static std::string describeCycle(const Table &table, const StageGraph &graph,
                                 const Dependencies &dependencies,
                                 const std::vector<size_t> &done) {
  int row = 0;
  while (done[row] == table.rows[row].size())
    ++row;
  std::vector<int> seenAt(table.rows.size(), -1);
  std::vector<Wait> waits;
  while (seenAt[row] == -1) {
    seenAt[row] = static_cast<int>(waits.size());
    waits.push_back(findWait(table, graph, dependencies, done, row));
    row = waits.back().makerRow;
  }
  std::string text = "the schedule waits for itself: ";
  for (size_t i = seenAt[row]; i < waits.size(); ++i) {
    const Wait &wait = waits[i];
    const Cell &standing = table.rows[wait.makerRow][done[wait.makerRow]];
    text += (i == size_t(seenAt[row]) ? "" : "; ") + spell(wait.cell) +
            " reads what " + spell(wait.maker) + " makes";
    if (!(wait.maker == standing))
      text += ", which comes after " + spell(standing) + " in row " +
              std::to_string(wait.makerRow);
  }
  return text;
}

std::string ppopt::schedule::check(const Table &table,
                                   const StageGraph &graph) {
  std::string wrong = check(graph);
  if (!wrong.empty())
    return wrong;
  if (static_cast<int>(table.rows.size()) != graph.places)
    return "the schedule has " + std::to_string(table.rows.size()) +
           " rows, the mesh " + std::to_string(graph.places) +
           " places: a row is a place";
  if (table.microbatches < 1)
    return "the schedule has no microbatch";
  wrong = checkCells(table, graph);
  if (!wrong.empty())
    return wrong;
  Dependencies dependencies(graph);
  std::vector<size_t> done =
      runRows(table, graph, dependencies, [](int, const Cell &) {});
  for (size_t row = 0; row < done.size(); ++row)
    if (done[row] != table.rows[row].size())
      return describeCycle(table, graph, dependencies, done);
  return "";
}
