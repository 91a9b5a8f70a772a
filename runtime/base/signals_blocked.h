//===- signals_blocked.h - Threads that leave signals to others -----------===//

#ifndef PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H
#define PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H

#include <csignal>

namespace ppopt::comm {

/// While it lives, this thread and those that it starts, which keep its mask,
/// leave signals to the process's other threads, but for those that a thread's
/// own faults raise.
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

} // namespace ppopt::comm

#endif // PPOPT_RUNTIME_BASE_SIGNALS_BLOCKED_H
