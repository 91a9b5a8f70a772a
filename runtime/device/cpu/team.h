//===- team.h - The threads of a rank -------------------------------------===//
//
// Teams of GNU OpenMP's runtime, called through its ABI rather than by pragmas.
// oneDNN uses that runtime; clang's -fopenmp would add a second one, whose
// thread pool competes for the same cores. A pool belongs to the calling
// thread, so ranks that are threads have one each.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TEAM_H
#define PPOPT_RUNTIME_DEVICE_CPU_TEAM_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace ppopt {

/// The stack of each thread. Kernels have some 320 KiB of scratch memory there
/// (the threshold scratch-bytes), libraries may need more than `ulimit -s` or
/// OMP_STACKSIZE give. Untouched pages take no memory.
constexpr size_t threadStackBytes = size_t{8} << 20;

/// Sets up the threads of a program: their stacks, and how long they spin. Runs
/// `body` on a thread with such a stack, and returns what it returns. Call this
/// first in main.
///
/// GNU OpenMP's threads spin for milliseconds before they sleep. If other
/// programs need the cores, the spinning takes time from the very threads that
/// they wait for. The library reads the spin time and the size of stacks from
/// the environment when it is loaded. So this restarts the program with
/// spinning limited to about 50 µs, unless the environment already sets it
/// (OMP_WAIT_POLICY, GOMP_SPINCOUNT), and with larger stacks if the environment
/// asks for smaller ones. A program that is instrumented (LD_PRELOAD, as
/// valgrind does) is not restarted; small stacks are an error there.
int runMain(char **argv, const std::function<int()> &body);

/// Returns whether the value of OMP_STACKSIZE is one of at least
/// threadStackBytes.
bool isLargeStack(std::string_view value);

/// Calls `body(context, member, size)` on every member of a team of `threads`
/// (the caller is member 0) and returns when all calls have returned. `size` is
/// what the runtime granted, at most `threads`. Exceptions must not leave
/// `body`.
void runTeam(int threads, void (*body)(void *context, int member, int size),
             void *context);

/// Sets the team size of library calls from this thread.
void setTeamSize(int threads);

/// Returns the team size that `setTeamSize` last set in this thread, or the
/// default.
int teamSize();

/// Sets the calling thread's team size, for which oneDNN plans, and restores it
/// in the destructor.
class TeamSizeScope {
public:
  explicit TeamSizeScope(int threads) : previous(teamSize()) {
    setTeamSize(threads);
  }
  ~TeamSizeScope() { setTeamSize(previous); }
  TeamSizeScope(const TeamSizeScope &) = delete;
  TeamSizeScope &operator=(const TeamSizeScope &) = delete;

private:
  int previous;
};

/// The share [begin, end) of member `member` of `count` items. Shares are
/// contiguous, and their sizes differ by at most one.
struct Share {
  int64_t begin, end;
};
inline Share shareOf(int64_t count, int member, int size) {
  int64_t quotient = count / size, rest = count % size;
  int64_t begin = quotient * member + (member < rest ? member : rest);
  return {begin, begin + quotient + (member < rest ? 1 : 0)};
}

/// Calls `body(begin, end)` for the shares of [0, count). Uses the caller alone
/// if `threads` or `count` is 1.
template <typename Body>
void parallelFor(int threads, int64_t count, const Body &body) {
  if (threads <= 1 || count <= 1) {
    if (count > 0)
      body(int64_t{0}, count);
    return;
  }
  struct Call {
    const Body &body;
    int64_t count;
  } call{body, count};
  runTeam(
      threads,
      [](void *context, int member, int size) {
        const Call &call = *static_cast<Call *>(context);
        Share share = shareOf(call.count, member, size);
        if (share.begin < share.end)
          call.body(share.begin, share.end);
      },
      &call);
}

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_TEAM_H
