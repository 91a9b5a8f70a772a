//===- guarded_copy.cpp - Copying from a file that may shrink -------------===//

#include "data/guarded_copy.h"

#include "base/error.h"

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace ppopt::train {
namespace {

/// The copy that a thread is making.
struct Copy {
  const char *from;
  size_t bytes;
  sigjmp_buf failed;

  bool reads(const void *address) const {
    return address >= from && address < from + bytes;
  }
};

thread_local Copy *volatile current = nullptr;
struct sigaction earlier; ///< who handled SIGBUS before

/// As if this handler had never been. Only calls that are safe in a handler.
void passOn(int signal, siginfo_t *info, void *context) {
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(signal, info, context);
  } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(signal);
  } else {
    // On return what failed fails again; a signal that was sent does not.
    ::sigaction(signal, &earlier, nullptr);
    if (info->si_code <= 0)
      ::raise(signal);
  }
}

void onBusError(int signal, siginfo_t *info, void *context) {
  Copy *copy = current;
  if (copy && info->si_code > 0 && copy->reads(info->si_addr))
    siglongjmp(copy->failed, 1);
  passOn(signal, info, context);
}

bool installHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGBUS, &action, &earlier) != 0)
    throw runtime::Error("cannot handle SIGBUS: {}", std::strerror(errno));
  return true;
}

} // namespace

bool guardedCopy(void *to, const void *from, size_t bytes) {
  static const bool installed = installHandler();
  static_cast<void>(installed);
  Copy copy;
  copy.from = static_cast<const char *>(from);
  copy.bytes = bytes;
  // With the mask of signals: those that are blocked while one is handled must
  // not stay so, for the handler does not return.
  if (sigsetjmp(copy.failed, /*savemask=*/1) != 0) {
    current = nullptr;
    return false;
  }
  current = &copy;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current = nullptr;
  return true;
}

} // namespace ppopt::train
