//===- RowBuilder.h - A row of a published schedule, step by step ---------===//

#ifndef PPOPT_LIB_SCHEDULE_ROWBUILDER_H
#define PPOPT_LIB_SCHEDULE_ROWBUILDER_H

#include "ppopt/Schedule/Table.h"

#include <algorithm>
#include <map>

namespace ppopt::schedule {

/// Papers give a row as counts of steps; each step takes the stage's next
/// microbatch.
class RowBuilder {
public:
  void forward(int stage) {
    row.push_back({Work::Forward, stage, forwards[stage]++});
  }
  void backward(int stage) {
    row.push_back({Work::Backward, stage, backwards[stage]++});
  }
  void backwardInput(int stage) {
    pendingWeights.push_back({Work::BackwardWeight, stage, backwards[stage]});
    row.push_back({Work::BackwardInput, stage, backwards[stage]++});
  }
  /// Adds the earliest weight part, of any stage, whose input part has run.
  void backwardWeight() { take(pendingWeights.begin()); }
  /// Adds the earliest of one stage.
  void backwardWeight(int stage) {
    take(std::find_if(pendingWeights.begin(), pendingWeights.end(),
                      [&](const Cell &cell) { return cell.stage == stage; }));
  }

  std::vector<Cell> takeRow() { return std::move(row); }

private:
  void take(std::vector<Cell>::iterator cell) {
    row.push_back(*cell);
    pendingWeights.erase(cell);
  }

  std::vector<Cell> row, pendingWeights;
  std::map<int, int> forwards, backwards; ///< microbatches, by stage
};

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_ROWBUILDER_H
