//===- faults.cpp - Says who touched memory that is not theirs ------------===//

#include "device/fake/faults.h"

#include "base/earlier_handler.h"
#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace ppopt::fake {
namespace {

struct Range {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0}; ///< 0: not to be read
  int64_t bytes;
  int rank;
  char what[64];
  const LastOperations *last;
};

// Read by the handler, so without locks or allocations.
std::array<Range, 1024> ranges;
thread_local const char *running = nullptr;
thread_local int runningRank = -1;
struct sigaction earlier; ///< the previous handler of SIGSEGV

/// Formats into memory of its own and writes: safe in a handler, unlike stdio.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args &&...args) {
  char line[512];
  auto end =
      fmt::format_to_n(line, sizeof line, format, std::forward<Args>(args)...);
  ssize_t written =
      ::write(STDERR_FILENO, line, std::min<size_t>(end.size, sizeof line));
  static_cast<void>(written); // nothing can be done about it
}

void onFault(int signal, siginfo_t *info, void *context) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Range &range : ranges) {
    uintptr_t begin = range.begin.load();
    if (info->si_code <= 0 || begin == 0 || address < begin ||
        address >= begin + range.bytes)
      continue;
    say("error: fake device: the host accesses device memory");
    if (range.rank >= 0)
      say(" of rank {}", range.rank);
    say(": byte {} of {}; copy it (Device::copyIn, copyOut)", address - begin,
        static_cast<const char *>(range.what));
    if (running)
      say("; while running {}", running);
    say("\nthe last operations that were enqueued:\n");
    range.last->print();
    _exit(faultStatus);
  }
  if (info->si_code > 0 && running) {
    say("error: fake device");
    if (runningRank >= 0)
      say(", rank {}", runningRank);
    say(": {} touches memory that is not there ({:#x}): host memory of a copy "
        "must live until Device::synchronize\n",
        running, address);
    _exit(faultStatus);
  }
  runtime::passOn(earlier, signal, info, context);
}

bool installHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (::sigaction(SIGSEGV, &action, &earlier) != 0)
    throw runtime::Error("fake device: cannot handle SIGSEGV: {}",
                         std::strerror(errno));
  return true;
}

} // namespace

void LastOperations::add(const std::string &line) {
  std::array<char, width> &to = text[added++ % lines];
  to[line.copy(to.data(), width - 1)] = 0;
}

void LastOperations::print() const {
  for (size_t i = std::max(added, lines) - lines; i < added; ++i)
    say("  {}\n", static_cast<const char *>(text[i % lines].data()));
}

GuardedRange::GuardedRange(int rank, const std::string &what, uintptr_t begin,
                           int64_t bytes, const LastOperations &last) {
  static const bool installed = installHandler();
  static_cast<void>(installed);
  for (slot = 0; slot < ranges.size(); ++slot)
    if (!ranges[slot].taken.exchange(true))
      break;
  if (slot == ranges.size())
    throw runtime::Error("fake device: more than {} allocations",
                         ranges.size());
  Range &range = ranges[slot];
  range.bytes = bytes;
  range.rank = rank;
  range.what[what.copy(range.what, sizeof range.what - 1)] = 0;
  range.last = &last;
  range.begin = begin;
}

GuardedRange::~GuardedRange() {
  ranges[slot].begin = 0;
  ranges[slot].taken = false;
}

Running::Running(int rank, const char *operation) {
  running = operation;
  runningRank = rank;
}

Running::~Running() { running = nullptr; }

} // namespace ppopt::fake
