//===- step_control.h - Agrees on when the run stops ----------------------===//

#ifndef PPOPT_RUNTIME_APP_STEP_CONTROL_H
#define PPOPT_RUNTIME_APP_STEP_CONTROL_H

#include "executor/messages.h"

#include <optional>

struct ppopt_rank;

namespace ppopt::train {

/// A signal may reach one rank, some or all, at any time. All ranks must stop
/// after the same step. So between steps all ranks exchange their signals, in
/// log2(ranks) rounds of four-byte messages that a step's counters do not
/// include. Allocates nothing after construction.
class StepControl {
public:
  explicit StepControl(const ppopt_rank &rank);

  /// Called by all ranks at the same point of the run. Returns true if the run
  /// stops; signal() is then the same on all ranks.
  bool agreesToStop();

  /// The signal for which the run stops; 0 for none.
  int signal() const { return signal_; }

private:
  std::optional<Messages> messages_; ///< set if there are other ranks
  int32_t signal_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_STEP_CONTROL_H
