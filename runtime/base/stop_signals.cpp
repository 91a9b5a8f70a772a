//===- stop_signals.cpp - Signals that ask the run to stop ----------------===//

#include "base/stop_signals.h"

#include <atomic>
#include <csignal>
#include <cstring>

namespace ppopt::train {
namespace {

struct StopSignal {
  int number;
  bool endsAtOnceLater; ///< whether a second one ends the process
};
// When a terminal closes, both the system and the shell send SIGHUP. Each line
// to a closed pipe raises SIGPIPE.
constexpr StopSignal kSignals[] = {{SIGTERM, true}, {SIGUSR1, true},
                                   {SIGINT, true},  {SIGALRM, true},
                                   {SIGHUP, false}, {SIGPIPE, false}};

std::atomic<int> lastSignal{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may not take a lock");

void noteSignal(int signal) { lastSignal.store(signal); }

/// Keeps SIGHUP (nohup) and SIGPIPE ignored if they are. Handles the others
/// even if ignored: shells ignore SIGINT for what they start in the background.
void setHandler(const StopSignal &signal, void (*handler)(int)) {
  struct sigaction action = {};
  if (!signal.endsAtOnceLater &&
      (::sigaction(signal.number, nullptr, &action) != 0 ||
       action.sa_handler == SIG_IGN))
    return;
  action = {};
  action.sa_handler = handler;
  // Restart interrupted reads and writes of files.
  action.sa_flags = SA_RESTART | (signal.endsAtOnceLater ? SA_RESETHAND : 0);
  ::sigaction(signal.number, &action, nullptr);
}

} // namespace

StopSignals::StopSignals() {
  for (const StopSignal &signal : kSignals)
    setHandler(signal, noteSignal);
}

StopSignals::~StopSignals() {
  // Keep the handlers of SIGPIPE and SIGHUP: a late one finds a run that has
  // ended.
  for (const StopSignal &signal : kSignals)
    if (signal.endsAtOnceLater)
      setHandler(signal, SIG_DFL);
}

int StopSignals::noted() { return lastSignal.load(); }

std::string signalName(int signal) {
  const char *name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

} // namespace ppopt::train
