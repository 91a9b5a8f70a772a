//===- signals_blocked.h - Threads that do not handle signals -------------===//

#ifndef PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H
#define PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H

#include <csignal>

namespace ppopt::train {

/// While it lives, this thread and the threads that it starts, which inherit
/// its mask, leave signals to the other threads of the process. Signals that a
/// thread's own faults raise are not blocked.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H
