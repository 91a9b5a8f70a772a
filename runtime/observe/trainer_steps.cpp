//===- trainer_steps.cpp - The steps of trainers --------------------------===//

#include "observe/trainer_steps.h"

#include <cmath>

namespace ppopt::train {

std::vector<TrainerSteps::Whole> TrainerSteps::add(const TrainerStep &step) {
  int64_t number = step.ticket / trainers;
  Open &batch = open[number];
  ++batch.parts;
  Whole &whole = batch.whole;
  whole.step = number;
  if (std::isfinite(step.loss)) {
    // One part has the bits of its loss.
    batch.sum = batch.losses == 0 ? step.loss : batch.sum + step.loss;
    ++batch.losses;
  }
  if (trainers == 1)
    whole.norm = step.norm;
  whole.learningRate = step.learningRate;
  whole.staleness.add(step.staleness);
  whole.launches = step.launches;
  whole.flops = step.flops;
  whole.bytesSent = step.bytesSent;
  if (step.skipped[0] != 0 && whole.skipped.empty())
    whole.skipped = step.skipped;
  std::vector<Whole> complete;
  for (auto first = open.find(next);
       first != open.end() && first->second.parts == trainers;
       first = open.find(next)) {
    Open &done = first->second;
    done.whole.loss =
        done.losses > 0 ? done.sum / double(done.losses) : TrainerStep::unknown;
    complete.push_back(std::move(done.whole));
    open.erase(first);
    ++next;
  }
  return complete;
}

} // namespace ppopt::train
