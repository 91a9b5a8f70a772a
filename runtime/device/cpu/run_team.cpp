//===- run_team.cpp - Items that the threads of a rank take in turn -------===//
//
// A pool of threads belongs to the thread that calls. A job is a number of
// items, of which each member takes chunks, first of its own share, then of the
// others'. Members that come late are not waited for: if another program has
// the core of one, the others do its work. So the caller waits only for those
// that have a chunk in hand.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/team.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ppopt {

namespace {

using Word = std::atomic<uint32_t>;

/// Sleeps unless the word has another value by now. May return early.
void sleepWhile(Word &word, uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr);
}

void wakeAll(Word &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/// Spins until `isDone()`; returns false if that takes longer than it takes to
/// sleep and to be woken.
template <typename IsDone> bool spinUntil(const IsDone &isDone) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds longest(50);
  for (Clock::time_point begin = Clock::now();;) {
    for (int i = 0; i < 16; ++i) {
      if (isDone())
        return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    if (Clock::now() - begin > longest)
      return false;
  }
}

class Team {
public:
  ~Team();
  void run(int threads, int64_t count, int64_t chunk, TeamBody body,
           void *context);

private:
  /// The items of a member's share that nobody has taken.
  struct alignas(64) Untaken {
    std::atomic<int64_t> next;
    int64_t end;
  };
  // In `joined`, beside the number of members.
  static constexpr uint32_t isOpen = 1u << 31, isAwaited = 1u << 30;

  void grow(int threads);
  void serve(int member);
  bool join();
  void leave();
  void work(int member);
  void leaveCallersCore();

  std::vector<std::thread> workers;
  /// Counts jobs. Workers sleep on it.
  alignas(64) Word jobs{0};
  std::atomic<int> sleeping{0};
  /// The workers in the job, and whether more may join. The job changes only
  /// while it is 0. The caller sleeps on it.
  alignas(64) Word joined{0};
  // The job.
  int callersCore = -1;
  int size = 1;
  int64_t chunk = 1;
  TeamBody body = nullptr; ///< null: the workers end
  void *context = nullptr;
  std::unique_ptr<Untaken[]> shares;
};

Team::~Team() {
  body = nullptr;
  joined.store(isOpen);
  jobs.fetch_add(1);
  wakeAll(jobs);
  for (std::thread &worker : workers)
    worker.join();
}

void Team::grow(int threads) {
  if (int(workers.size()) + 1 >= threads)
    return;
  shares = std::make_unique<Untaken[]>(threads);
  for (int member = int(workers.size()) + 1; member < threads; ++member)
    workers.emplace_back([this, member] { serve(member); });
}

void Team::run(int threads, int64_t count, int64_t chunkSize, TeamBody ofItems,
               void *ofBody) {
  grow(threads);
  callersCore = ::sched_getcpu();
  size = threads;
  chunk = chunkSize;
  body = ofItems;
  context = ofBody;
  for (int member = 0; member < threads; ++member) {
    Share share = shareOf(count, member, threads);
    shares[member].next.store(share.begin, std::memory_order_relaxed);
    shares[member].end = share.end;
  }
  joined.store(isOpen, std::memory_order_release);
  jobs.fetch_add(1);
  if (sleeping.load() > 0)
    wakeAll(jobs);
  work(0);
  if (joined.fetch_and(~isOpen, std::memory_order_acq_rel) == isOpen)
    return;
  auto isLeft = [&] { return joined.load(std::memory_order_acquire) == 0; };
  while (!spinUntil(isLeft)) {
    uint32_t value = joined.fetch_or(isAwaited) | isAwaited;
    if (value != isAwaited)
      sleepWhile(joined, value);
    joined.fetch_and(~isAwaited);
  }
}

void Team::serve(int member) {
  setTeamSize(1);
  for (uint32_t seen = 0;;) {
    auto isNew = [&] { return jobs.load(std::memory_order_acquire) != seen; };
    if (!spinUntil(isNew)) {
      sleeping.fetch_add(1);
      while (!isNew())
        sleepWhile(jobs, seen);
      sleeping.fetch_sub(1);
    }
    seen = jobs.load(std::memory_order_acquire);
    if (!join())
      continue;
    bool ends = !body;
    if (!ends && member < size) {
      leaveCallersCore();
      work(member);
    }
    leave();
    if (ends)
      return;
  }
}

bool Team::join() {
  uint32_t value = joined.load(std::memory_order_relaxed);
  while (value & isOpen)
    if (joined.compare_exchange_weak(value, value + 1,
                                     std::memory_order_acquire))
      return true;
  return false;
}

void Team::leave() {
  if (joined.fetch_sub(1, std::memory_order_release) == (isAwaited | 1))
    wakeAll(joined);
}

/// If another program keeps a core busy, the scheduler may leave two threads of
/// a team on one of the others for good, since moving one would not make the
/// cores more equal. The caller never waits for the team to begin, so they
/// would take turns at half the speed.
void Team::leaveCallersCore() {
  if (::sched_getcpu() != callersCore)
    return;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
      CPU_COUNT(&allowed) < 2)
    return;
  cpu_set_t others = allowed;
  CPU_CLR(callersCore, &others);
  if (::sched_setaffinity(0, sizeof others, &others) == 0)
    ::sched_setaffinity(0, sizeof allowed, &allowed);
}

void Team::work(int member) {
  for (int i = 0; i < size; ++i) {
    Untaken &share = shares[(member + i) % size];
    for (int64_t begin; (begin = share.next.fetch_add(
                             chunk, std::memory_order_relaxed)) < share.end;)
      body(context, member, begin, std::min(begin + chunk, share.end));
  }
}

} // namespace

void runTeam(int threads, int64_t count, int64_t chunk, TeamBody body,
             void *context) {
  if (threads <= 1 || count <= chunk) {
    for (int64_t begin = 0; begin < count; begin += chunk)
      body(context, 0, begin, std::min(begin + chunk, count));
    return;
  }
  static thread_local Team team;
  team.run(threads, count, chunk, body, context);
}

} // namespace ppopt
