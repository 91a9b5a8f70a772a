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
    whole.result.gradNorm = step.norm;
  whole.learningRate = step.learningRate;
  whole.staleness.add(step.staleness);
  whole.result.launches = step.launches;
  whole.result.flops = step.flops;
  whole.result.bytesSent = step.bytesSent;
  if (whole.result.skipped.empty())
    whole.result.skipped = step.skipped;
  std::vector<Whole> complete;
  for (auto first = open.find(next);
       first != open.end() && first->second.parts == trainers;
       first = open.find(next)) {
    Open &done = first->second;
    if (done.losses > 0)
      done.whole.result.loss = done.sum / double(done.losses);
    complete.push_back(std::move(done.whole));
    open.erase(first);
    ++next;
  }
  return complete;
}

} // namespace ppopt::train
