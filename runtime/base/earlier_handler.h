//===- earlier_handler.h - Handlers of signals that others installed ------===//

#ifndef PPOPT_RUNTIME_BASE_EARLIER_HANDLER_H
#define PPOPT_RUNTIME_BASE_EARLIER_HANDLER_H

#include <csignal>

namespace ppopt::runtime {

/// Handles the signal of a fault as `earlier`, the handler before the calling
/// one, would. Uses only calls that are safe in a signal handler.
inline void passOn(const struct sigaction &earlier, int signal, siginfo_t *info,
                   void *context) {
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(signal, info, context);
  } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(signal);
  } else {
    // On return, a faulting access faults again; a signal that was sent does
    // not recur.
    ::sigaction(signal, &earlier, nullptr);
    if (info->si_code <= 0)
      ::raise(signal);
  }
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_EARLIER_HANDLER_H
