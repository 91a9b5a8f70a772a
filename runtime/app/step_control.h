//===- step_control.h - Whether the run goes on ---------------------------===//

#ifndef PPOPT_RUNTIME_APP_STEP_CONTROL_H
#define PPOPT_RUNTIME_APP_STEP_CONTROL_H

#include "executor/messages.h"

#include <optional>

struct ppopt_rank;

namespace ppopt::train {

/// A signal may reach one rank, some, or all, at any moment; they must leave
/// off after the same step. So between steps all ranks tell each other what
/// they got: log2(ranks) rounds of messages of four bytes, outside of what a
/// step counts. Allocates nothing after its construction.
class StepControl {
public:
  explicit StepControl(const ppopt_rank &rank);

  /// Called by all ranks at the same place of the run. True where it is to
  /// stop: signal() is then the same on all ranks.
  bool agreesToStop();

  /// The signal for which the run stops; 0 for none.
  int signal() const { return signal_; }

private:
  std::optional<Messages> messages_; ///< where there are other ranks
  int32_t signal_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_STEP_CONTROL_H
