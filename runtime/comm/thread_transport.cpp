//===- thread_transport.cpp - Ranks that are threads of one process -------===//
//
// Each ordered pair of ranks has a list of transfers that only one side has
// posted. The side that posts the second half takes the first off the list,
// copies outside the lock, and marks both complete.
//
//===----------------------------------------------------------------------===//

#include "comm/thread_transport.h"

#include "comm/watch.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace ppopt::comm {
namespace {

enum class Kind { Send, Receive };

/// `Posted` → `Copying` happens under the pair's lock. The copying side sets
/// `Copying` → `Done`. The owner makes the other changes.
enum class State { Free, Posted, Copying, Done };

struct Pair;

/// One half of a transfer. Its address is stable, because the peer links to it.
struct Half {
  std::atomic<State> state{State::Free};
  Kind kind = Kind::Send;
  int owner = 0;
  int channel = 0;
  size_t bytes = 0;
  char *data = nullptr; ///< a Send only reads it
  Pair *pair = nullptr;
  Half *next = nullptr;
};

/// Transfers from one rank to another that wait for their other half.
struct Pair {
  std::mutex lock;
  Half *first = nullptr;
  Half *last = nullptr;

  /// Removes and returns the oldest half of kind `wanted` on the channel, or
  /// null.
  Half *take(Kind wanted, int channel) {
    Half *before = nullptr;
    for (Half *half = first; half; before = half, half = half->next)
      if (half->kind == wanted && half->channel == channel) {
        unlink(before, half);
        return half;
      }
    return nullptr;
  }

  void append(Half *half) {
    half->next = nullptr;
    (last ? last->next : first) = half;
    last = half;
  }

  void remove(Half *wanted) {
    Half *before = nullptr;
    for (Half *half = first; half; before = half, half = half->next)
      if (half == wanted)
        return unlink(before, half);
  }

private:
  void unlink(Half *before, Half *half) {
    (before ? before->next : first) = half->next;
    if (last == half)
      last = before;
  }
};

/// Yields the core's resources to its other hardware thread for a moment.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Counts a rank's completions and wakes it.
struct Events {
  std::atomic<uint64_t> completions{0};
  std::atomic<bool> sleeping{false};
  std::mutex lock;
  std::condition_variable wake;
};

/// The state that the ranks share.
class World {
public:
  explicit World(int size)
      : size(size), pairs(static_cast<size_t>(size) * size), events(size),
        finished(size), ownActivities(size) {}

  /// Returns the activities by rank.
  Activities activities() {
    Activities all;
    for (int rank = 0; rank < size; ++rank)
      all[rank] = &ownActivities[rank];
    return all;
  }
  Activity &activityOf(int rank) { return ownActivities[rank]; }

  Pair &pair(int from, int to) {
    return pairs[static_cast<size_t>(from) * size + to];
  }

  void completed(int rank) {
    Events &of = events[rank];
    of.completions.fetch_add(1);
    if (of.sleeping.load()) {
      std::lock_guard<std::mutex> guard(of.lock);
      of.wake.notify_one();
    }
  }

  void sleep(int rank, uint64_t seen) {
    Events &of = events[rank];
    auto changed = [&] { return of.completions.load() != seen || failed; };
    for (int spin = 0; spin < spins; ++spin) {
      if (changed())
        return;
      relax();
    }
    std::unique_lock<std::mutex> guard(of.lock);
    of.sleeping.store(true);
    of.wake.wait(guard, changed);
    of.sleeping.store(false);
  }

  /// Keeps the first failure and wakes all ranks.
  void fail(int rank, const std::string &why) {
    {
      std::lock_guard<std::mutex> guard(failureLock);
      if (failed)
        return;
      failure = std::make_unique<RankFailure>(rank, why);
      failed = true;
    }
    for (Events &of : events) {
      std::lock_guard<std::mutex> guard(of.lock);
      of.wake.notify_all();
    }
    std::lock_guard<std::mutex> guard(barrierLock);
    barrierOpens.notify_all();
  }

  void throwIfFailed() {
    if (!failed)
      return;
    std::lock_guard<std::mutex> guard(failureLock);
    throw RankFailure(*failure);
  }

  /// Returns what RankFailure says; empty if no rank has failed.
  std::string describeFailed() {
    std::lock_guard<std::mutex> guard(failureLock);
    return failure ? failure->what() : "";
  }

  bool hasFinished(int rank) const { return finished[rank].load(); }

  void barrier(int rank) {
    std::unique_lock<std::mutex> guard(barrierLock);
    if (finishedCount > 0) {
      guard.unlock();
      fail(rank, "waits at a barrier for a rank that has finished");
      throwIfFailed();
    }
    uint64_t now = barrierNumber;
    if (++arrived == size) {
      arrived = 0;
      ++barrierNumber;
      barrierOpens.notify_all();
      return;
    }
    barrierOpens.wait(guard, [&] { return barrierNumber != now || failed; });
    bool opened = barrierNumber != now;
    guard.unlock();
    if (!opened)
      throwIfFailed();
  }

  /// The rank's body has returned. Ranks that wait for it, now or later, fail.
  void finish(int rank) {
    finished[rank].store(true);
    for (int peer = 0; peer < size; ++peer) {
      failIfAwaited(pair(peer, rank), peer, rank);
      failIfAwaited(pair(rank, peer), peer, rank);
    }
    std::unique_lock<std::mutex> guard(barrierLock);
    ++finishedCount;
    bool awaited = arrived > 0;
    guard.unlock();
    if (awaited)
      fail(rank, "has finished while others wait at a barrier");
  }

  std::string waitsInVain(Kind kind, int channel, int peer) const {
    return std::string(kind == Kind::Send ? "sends to" : "waits for") +
           " rank " + std::to_string(peer) + " on channel " +
           std::to_string(channel) + ", which has finished";
  }

  Events &eventsOf(int rank) { return events[rank]; }

private:
  void failIfAwaited(Pair &pair, int peer, int rank) {
    std::string why;
    {
      std::lock_guard<std::mutex> guard(pair.lock);
      for (Half *half = pair.first; half; half = half->next)
        if (half->owner == peer) {
          why = waitsInVain(half->kind, half->channel, rank);
          break;
        }
    }
    if (!why.empty())
      fail(peer, why);
  }

  int size;
  std::deque<Pair> pairs;
  std::deque<Events> events;
  std::deque<std::atomic<bool>> finished;
  std::deque<Activity> ownActivities;

  std::atomic<bool> failed{false};
  std::mutex failureLock;
  std::unique_ptr<RankFailure> failure;

  std::mutex barrierLock;
  std::condition_variable barrierOpens;
  uint64_t barrierNumber = 0;
  int arrived = 0;
  int finishedCount = 0;

  /// About 50 µs if each rank can have a core. None otherwise, because spinning
  /// would keep the awaited rank from running.
  const int spins =
      static_cast<unsigned>(size) <= std::thread::hardware_concurrency() ? 1000
                                                                         : 0;
};

class ThreadTransport final : public Transport {
public:
  ThreadTransport(World &world, int rank, int size)
      : Transport(rank, size, world.activityOf(rank)), world(world) {
    reserve(initialRequests);
  }

  ~ThreadTransport() override {
    for (size_t i = 0; i < halves.size(); ++i) {
      Request request{static_cast<int>(i)};
      cancel(request);
    }
  }

  const char *kind() const override { return "threads"; }
  bool sharesProcess() const override { return true; }
  int maxChannel() const override { return INT32_MAX; }

  void throwIfFailed() override { world.throwIfFailed(); }

  bool test(Request &request) override {
    if (!request.pending())
      return true;
    Half &half = halves[request.index];
    if (half.state.load(std::memory_order_acquire) != State::Done) {
      world.throwIfFailed();
      return false;
    }
    release(request);
    return true;
  }

  uint64_t completions() override {
    world.throwIfFailed();
    return world.eventsOf(rank()).completions.load();
  }

  void awaitCompletion(uint64_t seen) override {
    world.sleep(rank(), seen);
    world.throwIfFailed();
  }

  void cancel(Request &request) noexcept override {
    if (!request.pending())
      return;
    Half &half = halves[request.index];
    if (half.state == State::Free)
      return;
    {
      std::lock_guard<std::mutex> guard(half.pair->lock);
      if (half.state == State::Posted) {
        half.pair->remove(&half);
        half.state = State::Done;
      }
    }
    while (half.state.load(std::memory_order_acquire) != State::Done)
      std::this_thread::yield();
    release(request);
  }

  void barrier() override {
    Activity::Wait wait(activity());
    wait.on(Activity::WaitsIn::Barrier, -1, Activity::anyRank);
    world.throwIfFailed();
    world.barrier(rank());
  }

  [[noreturn]] void abort(const std::string &reason) override {
    world.fail(rank(), reason);
    world.throwIfFailed();
    std::terminate(); // unreachable: fail() makes throwIfFailed throw
  }

  void reserve(int requests) override {
    for (int i = 0; i < requests; ++i) {
      halves.emplace_back();
      freeHalves.push_back(static_cast<int>(halves.size()) - 1);
    }
    freeHalves.reserve(halves.size());
  }

protected:
  Request postSend(const void *data, size_t bytes, int peer,
                   int channel) override {
    return post(Kind::Send, const_cast<void *>(data), bytes, peer, channel);
  }

  Request postReceive(void *data, size_t bytes, int peer,
                      int channel) override {
    return post(Kind::Receive, data, bytes, peer, channel);
  }

private:
  static constexpr int initialRequests = 64;

  Request post(Kind kind, void *data, size_t bytes, int peer, int channel) {
    world.throwIfFailed();
    bool sends = kind == Kind::Send;
    Pair &pair = sends ? world.pair(rank(), peer) : world.pair(peer, rank());
    Request request = acquire();
    Half &mine = halves[request.index];
    mine.kind = kind;
    mine.owner = rank();
    mine.channel = channel;
    mine.bytes = bytes;
    mine.data = static_cast<char *>(data);
    mine.pair = &pair;

    Half *other = nullptr;
    std::string wrong;
    {
      std::lock_guard<std::mutex> guard(pair.lock);
      other = pair.take(sends ? Kind::Receive : Kind::Send, channel);
      if (other && other->bytes != bytes) {
        // The other half stays `Posted`: its owner sees the failure, not a
        // completion.
        wrong = sizesDiffer(kind, bytes, other->bytes, peer, channel);
      } else if (other) {
        other->state = State::Copying;
      } else if (world.hasFinished(peer)) {
        wrong = world.waitsInVain(kind, channel, peer);
      } else {
        mine.state = State::Posted;
        pair.append(&mine);
      }
    }
    if (!wrong.empty()) {
      release(request);
      abort(wrong);
    }
    if (other) {
      Half &from = sends ? mine : *other;
      Half &to = sends ? *other : mine;
      if (bytes > 0)
        std::memcpy(to.data, from.data, bytes);
      int otherOwner = other->owner;
      mine.state.store(State::Done, std::memory_order_release);
      other->state.store(State::Done, std::memory_order_release);
      world.completed(otherOwner);
      world.completed(rank());
    }
    return request;
  }

  std::string sizesDiffer(Kind kind, size_t mine, size_t other, int peer,
                          int channel) const {
    bool sends = kind == Kind::Send;
    return std::string(sends ? "sends " : "expects ") + std::to_string(mine) +
           " bytes " + (sends ? "to" : "from") + " rank " +
           std::to_string(peer) + " on channel " + std::to_string(channel) +
           ", which " + (sends ? "expects " : "sends ") + std::to_string(other);
  }

  Request acquire() {
    if (freeHalves.empty())
      throw std::length_error("more than " + std::to_string(halves.size()) +
                              " transfers in flight: reserve() more");
    Request request{freeHalves.back()};
    freeHalves.pop_back();
    return request;
  }

  void release(Request &request) {
    halves[request.index].state = State::Free;
    freeHalves.push_back(request.index);
    request.index = -1;
  }

  World &world;
  std::deque<Half> halves;
  std::vector<int> freeHalves;
};

void runRank(World &world, int rank, int size,
             const std::function<void(Transport &)> &body) {
  try {
    ThreadTransport transport(world, rank, size);
    transport.tellFailuresBy(
        [&](const std::string &reason) { world.fail(rank, reason); });
    try {
      body(transport);
    } catch (...) {
      // The others must stop before this rank's transport is destroyed.
      world.fail(rank, describeFailure());
      return;
    }
    world.finish(rank);
  } catch (const std::exception &error) {
    world.fail(rank, error.what());
  }
}

} // namespace

void runThreadRanks(int ranks, const std::function<void(Transport &)> &body) {
  if (ranks < 1)
    throw std::invalid_argument("cannot run " + std::to_string(ranks) +
                                " ranks");
  World world(ranks);
  ThreadWatch watch(world.activities(), [&] { return world.describeFailed(); });
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank) {
    try {
      threads.emplace_back(
          [&world, rank, ranks, &body] { runRank(world, rank, ranks, body); });
    } catch (const std::exception &error) {
      world.fail(rank, std::string("cannot start its thread: ") + error.what());
      break;
    }
  }
  runRank(world, 0, ranks, body);
  for (std::thread &thread : threads)
    thread.join();
  world.throwIfFailed();
}

} // namespace ppopt::comm
