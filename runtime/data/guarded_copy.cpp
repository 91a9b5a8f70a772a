//===- guarded_copy.cpp - Copying from a file that may shrink -------------===//

#include "data/guarded_copy.h"

#include "base/earlier_handler.h"
#include "base/error.h"

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace ppopt::train {
namespace {

/// The current copy of a thread.
struct Copy {
  const char *from;
  size_t bytes;
  sigjmp_buf failed;

  bool reads(const void *address) const {
    return address >= from && address < from + bytes;
  }
};

thread_local Copy *volatile current = nullptr;
struct sigaction earlier; ///< the previous handler of SIGBUS

void onBusError(int signal, siginfo_t *info, void *context) {
  Copy *copy = current;
  if (copy && info->si_code > 0 && copy->reads(info->si_addr))
    siglongjmp(copy->failed, 1);
  runtime::passOn(earlier, signal, info, context);
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
  // Save the signal mask: the handler does not return, so signals that are
  // blocked in it must be unblocked.
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
