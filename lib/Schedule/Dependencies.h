//===- Dependencies.h - What each cell of a schedule waits for ------------===//

#ifndef PPOPT_LIB_SCHEDULE_DEPENDENCIES_H
#define PPOPT_LIB_SCHEDULE_DEPENDENCIES_H

#include "ppopt/Schedule/Table.h"

#include <cstddef>

namespace ppopt::schedule {

/// The values that order the cells: the output of a stage, made by its forward,
/// and its gradient, made by its input part or full backward.
struct Value {
  int stage = 0;
  bool isGradient = false;
  /// The edge of the graph that transfers it; -1 if it is not transferred.
  int edge = -1;
  /// The value belongs to the microbatch this many earlier; the first ones have
  /// none.
  int lag = 0;
};

/// The edges of a graph by the cells that read and make them.
class Dependencies {
public:
  explicit Dependencies(const StageGraph &graph);

  /// Makes forwards wait that would run too far ahead: if no gradient returns
  /// from another place, only its readers' forwards can hold a stage back.
  void limitRunAhead(const StageGraph &graph);

  /// Returns what a cell of `stage` waits for.
  const std::vector<Value> &getReads(int stage, Work work) const {
    return reads[stage * 3 + getKind(work)];
  }
  /// Returns the edges that transfer the output of a cell of `stage`.
  const std::vector<int> &getOutgoing(int stage, Work work) const {
    return outgoing[stage * 3 + getKind(work)];
  }

  /// Returns the other places whose cells wait for the output of a cell of
  /// `stage`.
  const std::vector<int> &getWaiting(int stage, Work work) const {
    return waiting[stage * 3 + getKind(work)];
  }

private:
  void addWait(const StageGraph &graph, int reader, Work readerWork,
               const Value &value);

  static int getKind(Work work) {
    return work == Work::Forward ? 0 : work == Work::BackwardWeight ? 2 : 1;
  }

  std::vector<std::vector<Value>> reads;
  std::vector<std::vector<int>> outgoing, waiting;
};

inline bool makesGradient(Work work) {
  return work == Work::Backward || work == Work::BackwardInput;
}

/// One flag or time per value and microbatch.
template <typename T> class ValueMap {
public:
  ValueMap(const StageGraph &graph, int microbatches, T initial)
      : microbatches(microbatches),
        entries(graph.stages.size() * 2 * microbatches, initial) {}

  // A reference of vector<bool> is not T &.
  typename std::vector<T>::reference at(int stage, bool isGradient,
                                        int microbatch) {
    return entries[(size_t(stage) * 2 + isGradient) * microbatches +
                   microbatch];
  }

private:
  size_t microbatches;
  std::vector<T> entries;
};

/// Runs the rows of a table, whose cells are those of the graph, as far as
/// possible: calls `run(place, cell)` for each cell after everything that it
/// reads and after the cells before it in its row. Returns how many cells of
/// each row ran.
template <typename Run>
std::vector<size_t> runRows(const Table &table, const StageGraph &graph,
                            const Dependencies &dependencies, Run run) {
  ValueMap<char> isMade(graph, table.microbatches, false);
  std::vector<size_t> done(table.rows.size(), 0);
  std::vector<int> pending;
  for (size_t place = table.rows.size(); place-- > 0;)
    pending.push_back(static_cast<int>(place));
  auto isReady = [&](const Cell &cell) {
    for (const Value &value : dependencies.getReads(cell.stage, cell.work))
      if (cell.microbatch >= value.lag &&
          !isMade.at(value.stage, value.isGradient,
                     cell.microbatch - value.lag))
        return false;
    return true;
  };
  while (!pending.empty()) {
    int place = pending.back();
    pending.pop_back();
    const std::vector<Cell> &row = table.rows[place];
    while (done[place] < row.size() && isReady(row[done[place]])) {
      const Cell &cell = row[done[place]++];
      run(place, cell);
      if (cell.work != Work::BackwardWeight)
        isMade.at(cell.stage, makesGradient(cell.work), cell.microbatch) = true;
      const std::vector<int> &waiting =
          dependencies.getWaiting(cell.stage, cell.work);
      pending.insert(pending.end(), waiting.begin(), waiting.end());
    }
  }
  return done;
}

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_DEPENDENCIES_H
