//===- stop_signals.h - Signals that ask the run to stop ------------------===//

#ifndef PPOPT_RUNTIME_BASE_STOP_SIGNALS_H
#define PPOPT_RUNTIME_BASE_STOP_SIGNALS_H

#include <string>

namespace ppopt::train {

/// While it lives, SIGTERM, SIGUSR1, SIGINT, SIGHUP and SIGPIPE are only noted:
/// the run finishes its step. A second one of the same kind of the first three
/// does what it always does: it ends the process at once. Those that were
/// ignored when the program started stay ignored. One object a process.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The last signal that this process got; 0 for none.
  static int noted();
};

/// "SIGTERM".
std::string signalName(int signal);

/// The exit status of a run that a signal stopped, as a shell counts.
constexpr int stopStatus(int signal) { return 128 + signal; }

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_STOP_SIGNALS_H
