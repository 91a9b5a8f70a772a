//===- stop_signals.h - Signals that ask the run to stop ------------------===//

#ifndef PPOPT_RUNTIME_BASE_STOP_SIGNALS_H
#define PPOPT_RUNTIME_BASE_STOP_SIGNALS_H

#include <string>

namespace ppopt::train {

/// While it lives, SIGTERM, SIGUSR1, SIGINT, SIGALRM, SIGHUP and SIGPIPE are
/// only noted, so that the run finishes its step. A second SIGTERM, SIGUSR1,
/// SIGINT or SIGALRM has its default effect: it ends the process at once.
/// SIGHUP and SIGPIPE stay ignored if they were ignored when the program
/// started. At most one object per process.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// Returns the last of these signals that the process received; 0 for none.
  static int noted();
};

/// Returns a name such as "SIGTERM".
std::string signalName(int signal);

/// Returns the exit status of a run that a signal stopped, as shells report it.
constexpr int stopStatus(int signal) { return 128 + signal; }

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_STOP_SIGNALS_H
