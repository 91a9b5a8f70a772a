//===- team.h - The threads of a rank -------------------------------------===//
//
// Teams of GNU OpenMP's runtime, called through its ABI rather than by pragmas:
// oneDNN uses that runtime, and clang's -fopenmp would bring a second one with
// a second pool of threads that competes for the same cores. The pool belongs
// to the calling thread, so that ranks that are threads have one each.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TEAM_H
#define PPOPT_RUNTIME_DEVICE_CPU_TEAM_H

#include <cstdint>

namespace ppopt {

/// To be called first in main. GNU OpenMP's threads spin for milliseconds
/// before they sleep, which takes the cores from whom they wait for where other
/// programs want them too; how long they spin is read from the environment when
/// the library is loaded. So, unless the environment says how to wait
/// (OMP_WAIT_POLICY, GOMP_SPINCOUNT), this starts the program anew with the
/// spinning limited to some 50 µs. A program that is watched from inside
/// (LD_PRELOAD, as valgrind does) stays as it is.
void limitSpinning(char **argv);

/// Calls `body(context, member, size)` on every member of a team of `threads`
/// (the caller is member 0) and returns when all have returned. `size` is what
/// the runtime granted, at most `threads`. Exceptions must not leave `body`.
void runTeam(int threads, void (*body)(void *context, int member, int size),
             void *context);

/// Team size that library calls from this thread use from now on.
void setTeamSize(int threads);

/// The team size that `setTeamSize` last set in this thread (or the default).
int teamSize();

/// oneDNN plans for the calling thread's team size: sets it, and puts back what
/// was there.
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

/// Member `member`'s share [begin, end) of `count` items: contiguous, sizes
/// differ by at most one.
struct Share {
  int64_t begin, end;
};
inline Share shareOf(int64_t count, int member, int size) {
  int64_t quotient = count / size, rest = count % size;
  int64_t begin = quotient * member + (member < rest ? member : rest);
  return {begin, begin + quotient + (member < rest ? 1 : 0)};
}

/// Calls `body(begin, end)` for the shares of [0, count), in the caller alone
/// where `threads` or `count` is 1.
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
