//===- team.h - The threads of a rank -------------------------------------===//
//
// Our kernels and matmuls run on a pool of our own (run_team.cpp), whose
// members take items in turn. oneDNN runs on teams of GNU OpenMP's runtime,
// whose size is set through its ABI. Both pools belong to the calling thread,
// so ranks that are threads have one each.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TEAM_H
#define PPOPT_RUNTIME_DEVICE_CPU_TEAM_H

#include <algorithm>
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

/// The number of chunks that a member's share is taken in. The member that ends
/// last does so about one chunk after the first.
constexpr int64_t chunksOfShare = 16;

/// `member` is less than the size of the team; the caller is member 0.
using TeamBody = void (*)(void *context, int member, int64_t begin,
                          int64_t end);

/// Calls `body` for all of [0, count), in chunks of at most `chunk` items, on
/// up to `threads` members of a team, and returns when all calls have returned.
/// A member takes chunks of its own share, in order, then of those of others.
/// So which member takes a chunk depends on timing: what is computed must not
/// depend on it. Exceptions must not leave `body`, and it must not call this
/// function.
void runTeam(int threads, int64_t count, int64_t chunk, TeamBody body,
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

/// The share [begin, end) that number `member` of `size` has of `count` items.
/// Shares are contiguous, and their sizes differ by at most one.
struct Share {
  int64_t begin, end;
};
inline Share shareOf(int64_t count, int64_t member, int64_t size) {
  int64_t quotient = count / size, rest = count % size;
  int64_t begin = quotient * member + (member < rest ? member : rest);
  return {begin, begin + quotient + (member < rest ? 1 : 0)};
}

/// Calls `body(member, begin, end)` for chunks of [0, count), on the team.
template <typename Body>
void parallelForMembers(int threads, int64_t count, int64_t chunk,
                        const Body &body) {
  runTeam(
      threads, count, chunk,
      [](void *context, int member, int64_t begin, int64_t end) {
        (*static_cast<const Body *>(context))(member, begin, end);
      },
      const_cast<Body *>(&body));
}

/// Calls `body(begin, end)` for chunks of [0, count), on the team.
template <typename Body>
void parallelFor(int threads, int64_t count, const Body &body) {
  int64_t chunk = std::max<int64_t>(1, count / (threads * chunksOfShare));
  parallelForMembers(
      threads, count, chunk,
      [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_TEAM_H
