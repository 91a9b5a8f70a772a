//===- ZeroBubbleV.cpp - zb-v ---------------------------------------------===//
//
// Qi et al., Pipeline Parallelism with Controllable Memory, 2024: two chunks
// per place in a V, so that the last forward of a microbatch is on the place of
// its first. Row by row as in PyTorch's ScheduleZBVZeroBubble.
//
//===----------------------------------------------------------------------===//

#include "Generators.h"
#include "RowBuilder.h"

using namespace ppopt::schedule;

namespace {

class ZeroBubbleRow {
public:
  ZeroBubbleRow(int place, int places, int microbatches)
      : down(place), up(2 * places - 1 - place), place(place), places(places),
        microbatches(microbatches) {}

  std::vector<Cell> build() {
    warmUp();
    steady();
    coolDown();
    return row.takeRow();
  }

private:
  void forwardDown() {
    row.forward(down);
    ++downForwards;
  }
  void forwardUp() {
    row.forward(up);
    ++upForwards;
  }
  void wholeBackward(int stage) {
    row.backwardInput(stage);
    row.backwardWeight(stage);
  }

  void warmUp() {
    for (int i = 0; i < 2 * (places - place) - 1; ++i)
      forwardDown();
    for (int i = 0; i < place; ++i) {
      forwardUp();
      forwardDown();
    }
    for (int i = 0; i < places - place; ++i) {
      forwardUp();
      wholeBackward(up);
    }
  }

  void steady() {
    while (upForwards < downForwards || downForwards < microbatches) {
      if (downForwards < microbatches)
        forwardDown();
      wholeBackward(down);
      forwardUp();
      wholeBackward(up);
    }
  }

  /// One weight part is left per input part that ran alone.
  void coolDown() {
    for (int i = 0; i < place; ++i) {
      row.backwardInput(down);
      row.backwardInput(up);
    }
    for (int i = 0; i < places - place; ++i) {
      row.backwardInput(down);
      row.backwardWeight(down);
    }
    for (int i = 0; i < place; ++i)
      row.backwardWeight(up);
    for (int i = 0; i < place; ++i)
      row.backwardWeight(down);
  }

  RowBuilder row;
  const int down, up; ///< the place's stages on the two legs of the V
  const int place, places, microbatches;
  int downForwards = 0, upForwards = 0;
};

} // namespace

Table ppopt::schedule::generateZeroBubbleV(const StageGraph &graph,
                                           int microbatches) {
  Table table;
  table.microbatches = std::max(microbatches, 2 * graph.places - 1);
  for (int place = 0; place < graph.places; ++place)
    table.rows.push_back(
        ZeroBubbleRow(place, graph.places, table.microbatches).build());
  return table;
}
