//===- DualPipeV.cpp - dualpipe-v -----------------------------------------===//
//
// DeepSeek's DualPipeV, the half of DualPipe that keeps one copy of the
// parameters: the eight steps of its dualpipev.py, with the same names. Pairs
// that it overlaps follow one another here.
//
//===----------------------------------------------------------------------===//

#include "Generators.h"
#include "RowBuilder.h"

using namespace ppopt::schedule;

static std::vector<Cell> buildRow(int place, int places, int microbatches) {
  RowBuilder row;
  const int down = place, up = 2 * places - 1 - place;
  const int below = places - place - 1; // places up to the V's tip
  // 1: nF0
  for (int i = 0; i < below * 2; ++i)
    row.forward(down);
  // 2: nF0F1
  for (int i = 0; i < place + 1; ++i) {
    row.forward(down);
    row.forward(up);
  }
  // 3: nB1W1F1
  for (int i = 0; i < below; ++i) {
    row.backwardInput(up);
    row.backwardWeight();
    row.forward(up);
  }
  // 4: nF0B1F1B0, the main step
  for (int i = 0; i < microbatches - places * 2 + place + 1; ++i) {
    row.forward(down);
    row.backward(up);
    row.forward(up);
    row.backward(down);
  }
  // 5: nB1F1B0
  for (int i = 0; i < below; ++i) {
    row.backward(up);
    row.forward(up);
    row.backward(down);
  }
  // 6: nB1B0, in the second half without the weight parts
  int cells = 2 * (place + 1), whole = cells / 2;
  for (int i = 0; i < cells; ++i) {
    int stage = i % 2 == 0 ? up : down;
    if (i < whole)
      row.backward(stage);
    else
      row.backwardInput(stage);
  }
  // 7: nWB0
  for (int i = 0; i < below; ++i) {
    row.backwardWeight();
    row.backwardInput(down);
  }
  // 8: nW
  for (int i = 0; i < place + 1; ++i)
    row.backwardWeight();
  return row.takeRow();
}

Table ppopt::schedule::generateDualPipeV(const StageGraph &graph,
                                         int microbatches) {
  Table table;
  table.microbatches = std::max(microbatches, 2 * graph.places);
  for (int place = 0; place < graph.places; ++place)
    table.rows.push_back(buildRow(place, graph.places, table.microbatches));
  return table;
}
