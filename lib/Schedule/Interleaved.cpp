//===- Interleaved.cpp - 1F1B with several chunks per place ---------------===//
//
// Narayanan et al., Efficient Large-Scale Language Model Training on GPU
// Clusters, 2021 (Megatron-LM's forward_backward_pipelining_with_interleaving).
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

#include <algorithm>

using namespace ppopt::schedule;

/// Microbatches go in groups of one per place; a group passes all chunks of a
/// place before the next group starts. Backwards go through the chunks in
/// reverse.
static Cell getStep(int step, Work work, int place, int places, int chunks) {
  int group = step / (places * chunks), within = step % (places * chunks);
  int chunk = within / places;
  if (work == Work::Backward)
    chunk = chunks - 1 - chunk;
  return {work, chunk * places + place, group * places + within % places};
}

Table ppopt::schedule::generateInterleaved(const StageGraph &graph,
                                           int microbatches) {
  int places = graph.places;
  int chunks = static_cast<int>(graph.stages.size()) / places;
  int groups = (microbatches + places - 1) / places;
  int steps = groups * places * chunks;
  Table table;
  table.microbatches = groups * places;
  for (int place = 0; place < places; ++place) {
    std::vector<Cell> row;
    int warmUp =
        std::min((places - place - 1) * 2 + (chunks - 1) * places, steps);
    for (int step = 0; step < steps + warmUp; ++step) {
      if (step < steps)
        row.push_back(getStep(step, Work::Forward, place, places, chunks));
      if (step >= warmUp)
        row.push_back(
            getStep(step - warmUp, Work::Backward, place, places, chunks));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}
