//===- stop_signals.cpp - Signals that ask the run to stop ----------------===//

#include "train/stop_signals.h"

#include <atomic>
#include <csignal>
#include <cstring>

namespace ppopt::train {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGUSR1, SIGINT};

std::atomic<int> lastSignal{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may not take a lock");

void noteSignal(int signal) { lastSignal.store(signal); }

void setHandler(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // The second one finds the default. Reading and writing files go on.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

} // namespace

StopSignals::StopSignals() {
  for (int signal : kSignals)
    setHandler(signal, noteSignal);
}

StopSignals::~StopSignals() {
  for (int signal : kSignals)
    setHandler(signal, SIG_DFL);
}

int StopSignals::noted() { return lastSignal.load(); }

std::string signalName(int signal) {
  const char *name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

} // namespace ppopt::train
