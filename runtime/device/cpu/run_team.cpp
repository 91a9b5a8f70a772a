//===- run_team.cpp - Items that the threads of a rank take in turn -------===//
//
// A pool of threads belongs to the thread that calls. A job is a number of
// items, of which each member takes chunks, first of its own share, then of the
// others'. Members that come late are not waited for: if another program has
// the core of one, the others do its work. So the caller waits only for those
// that have a chunk in hand. A thread that would sleep while another program
// keeps the one it waits for from its core gives that one its own.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/team.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <deque>
#include <linux/futex.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace ppopt {

namespace {

using Word = std::atomic<uint32_t>;

constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// Sleeps unless the word has another value by now. May return early.
void sleepWhile(Word &word, uint32_t value,
                std::chrono::nanoseconds most = forever) {
  timespec timeout{0, long(most.count())};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value,
            most == forever ? nullptr : &timeout);
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

/// The time for which a thread has had a core.
std::chrono::nanoseconds cpuTime(pthread_t thread) {
  clockid_t clock;
  timespec time{};
  if (::pthread_getcpuclockid(thread, &clock) == 0)
    ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

cpu_set_t affinity() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(0, sizeof cores, &cores);
  return cores;
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
  struct alignas(64) Worker {
    std::thread thread;
    std::atomic<bool> isInJob{false}, isAsleep{false};
  };
  enum class Where { To, AwayFrom };
  // In `joined`, beside the number of members.
  static constexpr uint32_t isOpen = 1u << 31, isAwaited = 1u << 30;
  static constexpr int crowdedFor = 1000; ///< jobs: some steps
  static constexpr std::chrono::microseconds untilNextLook{200};

  void grow(int threads);
  void serve(Worker &self, int member);
  bool join();
  void leave();
  void work(int member);
  void wakeWorkers();
  void move(pthread_t thread, int core, Where where);
  template <typename IsDone>
  bool lendCore(pthread_t thread, const IsDone &isDone);

  const pthread_t caller = ::pthread_self();
  /// Where the caller and its workers may run.
  const cpu_set_t allowed = affinity();
  std::deque<Worker> workers; ///< members from 1 on
  /// For how many jobs another program is taken to keep a core busy.
  std::atomic<int> crowdedJobs{0};
  std::atomic_flag isLending; ///< a worker, to the caller
  /// Counts jobs. Workers sleep on it.
  alignas(64) Word jobs{0};
  std::atomic<int> sleeping{0};
  std::atomic<int> callersCore{-1}; ///< when the last job began
  /// The workers in the job, and whether more may join. The job changes only
  /// while it is 0. The caller sleeps on it.
  alignas(64) Word joined{0};
  // The job.
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
  for (Worker &worker : workers)
    worker.thread.join();
}

void Team::grow(int threads) {
  if (int(workers.size()) + 1 >= threads)
    return;
  shares = std::make_unique<Untaken[]>(threads);
  for (int member = int(workers.size()) + 1; member < threads; ++member) {
    Worker &worker = workers.emplace_back();
    worker.thread = std::thread([&, this, member] { serve(worker, member); });
  }
}

void Team::run(int threads, int64_t count, int64_t chunkSize, TeamBody ofItems,
               void *ofBody) {
  grow(threads);
  callersCore.store(::sched_getcpu(), std::memory_order_relaxed);
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
    wakeWorkers();
  work(0);
  if (joined.fetch_and(~isOpen, std::memory_order_acq_rel) == isOpen)
    return;
  auto isLeft = [&] { return joined.load(std::memory_order_acquire) == 0; };
  Worker *debtor = nullptr;
  while (!spinUntil(isLeft)) {
    for (Worker &worker : workers)
      if (!debtor && worker.isInJob.load(std::memory_order_relaxed) &&
          lendCore(worker.thread.native_handle(), isLeft))
        debtor = &worker;
    uint32_t value = joined.fetch_or(isAwaited) | isAwaited;
    if (value != isAwaited)
      sleepWhile(joined, value, debtor ? forever : untilNextLook);
    joined.fetch_and(~isAwaited);
  }
  if (debtor) {
    crowdedJobs.store(crowdedFor, std::memory_order_relaxed);
    move(debtor->thread.native_handle(), ::sched_getcpu(), Where::AwayFrom);
  }
}

/// The caller does not wait for the team to begin. Where another program keeps
/// a core busy, the scheduler may leave a worker that wakes on the caller's,
/// behind the caller, since moving it would not make the cores more equal.
void Team::wakeWorkers() {
  wakeAll(jobs);
  if (crowdedJobs.load(std::memory_order_relaxed) == 0)
    return;
  crowdedJobs.fetch_sub(1, std::memory_order_relaxed);
  for (Worker &worker : workers)
    if (worker.isAsleep.load(std::memory_order_relaxed))
      move(worker.thread.native_handle(), ::sched_getcpu(), Where::AwayFrom);
}

void Team::serve(Worker &self, int member) {
  setTeamSize(1);
  for (uint32_t seen = 0;;) {
    auto isNew = [&] { return jobs.load(std::memory_order_acquire) != seen; };
    // It would keep the caller from its core by spinning.
    auto isBesideCaller = [&] {
      return ::sched_getcpu() == callersCore.load(std::memory_order_relaxed);
    };
    if (isBesideCaller() ? !isNew() : !spinUntil(isNew)) {
      if (!isBesideCaller() && !isLending.test_and_set()) {
        lendCore(caller, isNew);
        isLending.clear();
      }
      self.isAsleep.store(true, std::memory_order_relaxed);
      sleeping.fetch_add(1);
      while (!isNew())
        sleepWhile(jobs, seen);
      sleeping.fetch_sub(1);
      self.isAsleep.store(false, std::memory_order_relaxed);
    }
    seen = jobs.load(std::memory_order_acquire);
    if (isBesideCaller()) {
      crowdedJobs.store(crowdedFor, std::memory_order_relaxed);
      move(::pthread_self(), callersCore, Where::AwayFrom);
    }
    if (!join())
      continue;
    bool ends = !body;
    if (!ends && member < size) {
      self.isInJob.store(true, std::memory_order_relaxed);
      work(member);
      self.isInJob.store(false, std::memory_order_relaxed);
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

/// Makes a thread that has a core, or waits for one, go on elsewhere, if it may
/// run there.
void Team::move(pthread_t thread, int core, Where where) {
  cpu_set_t cores = allowed;
  if (where == Where::AwayFrom) {
    CPU_CLR(core, &cores);
  } else {
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
  }
  if (CPU_COUNT(&cores) > 0 &&
      ::pthread_setaffinity_np(thread, sizeof cores, &cores) == 0)
    ::pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}

/// Moves a thread here that has had no core for a while; the caller of this
/// function then sleeps. Else the scheduler would leave this core idle, and the
/// thread behind another program, for a time slice. Returns whether it did.
template <typename IsDone>
bool Team::lendCore(pthread_t thread, const IsDone &isDone) {
  std::chrono::nanoseconds before = cpuTime(thread);
  if (spinUntil(isDone) || cpuTime(thread) != before)
    return false;
  move(thread, ::sched_getcpu(), Where::To);
  return true;
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
