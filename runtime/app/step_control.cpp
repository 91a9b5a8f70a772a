//===- step_control.cpp - Agrees on when the run stops --------------------===//

#include "app/step_control.h"

#include "base/stop_signals.h"
#include "executor/rank.h"

namespace ppopt::train {

StepControl::StepControl(const ppopt_rank &rank) {
  if (!rank.transport || rank.transport->size() == 1)
    return;
  messages_.emplace(rank);
  rank.transport->reserve(2); // Messages::greatest
}

bool StepControl::agreesToStop() {
  signal_ = StopSignals::noted();
  if (messages_)
    signal_ = messages_->greatest(signal_);
  return signal_ != 0;
}

} // namespace ppopt::train
