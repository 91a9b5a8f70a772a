//===- team_test.cpp - Items that threads take in turn --------------------===//

#include "device/cpu/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>
#include <vector>

using namespace ppopt;

namespace {

/// Calls for each item once, with chunks and members in their range.
void expectEachOnce(int threads, int64_t count, int64_t chunk) {
  SCOPED_TRACE(testing::Message()
               << threads << " threads, " << count << " by " << chunk);
  std::vector<std::atomic<int>> calls(count);
  std::atomic<int> wrong{0};
  parallelForMembers(threads, count, chunk,
                     [&](int member, int64_t begin, int64_t end) {
                       wrong += member < 0 || member >= threads;
                       wrong += begin >= end || end - begin > chunk;
                       for (int64_t i = begin; i < end; ++i)
                         ++calls[i];
                     });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(std::all_of(calls.begin(), calls.end(),
                          [](const auto &number) { return number == 1; }));
}

void expectEachOnce(int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (int threads : {2, 1, 5, 3}) // grows, and runs with fewer than it has
      for (int64_t count : {0, 1, 2, 7, 100})
        for (int64_t chunk : {1, 3, 200})
          expectEachOnce(threads, count, chunk);
}

TEST(Team, TakesEachItemOnce) { expectEachOnce(100); }

/// Ranks that are threads have a team each, more threads than cores.
TEST(Team, OfSeveralCallers) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([] { expectEachOnce(30); });
  for (std::thread &caller : callers)
    caller.join();
}

/// All of its threads on one core.
TEST(Team, OnOneCore) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    expectEachOnce(30);
  }).join();
}

/// On two cores, one of which another program keeps busy, threads are moved,
/// and may run afterwards where they might before.
TEST(Team, BesideABusyCore) {
  using namespace std::chrono_literals;
  std::thread([] {
    cpu_set_t all, two, one;
    CPU_ZERO(&two);
    CPU_ZERO(&one);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2)
      GTEST_SKIP() << "one core";
    for (int core = 0; CPU_COUNT(&two) < 2; ++core)
      if (CPU_ISSET(core, &all)) {
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        CPU_SET(core, &two);
      }
    ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);
    std::atomic<bool> ends{false};
    std::thread busy([&] {
      EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      while (!ends)
        continue;
    });
    std::atomic<int> calls{0};
    for (int job = 0; job < 200; ++job)
      parallelForMembers(2, 16, 1, [&](int, int64_t, int64_t) {
        auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - begin < 100us)
          continue;
        ++calls;
      });
    ends = true;
    busy.join();
    EXPECT_EQ(calls, 200 * 16);
    // Another thread may just have moved one of them.
    bool isBothAsBefore = false;
    for (int job = 0; job < 100'000 && !isBothAsBefore; ++job) {
      std::atomic<bool> isAsBefore[2] = {false, false};
      parallelForMembers(2, 16, 1, [&](int member, int64_t, int64_t) {
        cpu_set_t now;
        isAsBefore[member] = sched_getaffinity(0, sizeof now, &now) == 0 &&
                             CPU_EQUAL(&now, &two);
      });
      isBothAsBefore = isAsBefore[0] && isAsBefore[1];
    }
    EXPECT_TRUE(isBothAsBefore);
  }).join();
}

/// Workers sleep between jobs, and the caller while a worker has its last item.
TEST(Team, SleepsAndWakes) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> done{0};
    parallelForMembers(3, 3, 1, [&](int member, int64_t, int64_t) {
      if (member > 0)
        std::this_thread::sleep_for(2ms);
      ++done;
    });
    EXPECT_EQ(done, 3);
    std::this_thread::sleep_for(1ms);
  }
}

/// What a member has not begun others do, so that one that is held up does not
/// hold up the team by more than what it has in hand.
TEST(Team, DoesTheWorkOfAMemberThatIsHeldUp) {
  using namespace std::chrono_literals;
  constexpr int items = 200;
  std::atomic<int> heldUp{0}, done{0};
  parallelForMembers(2, items, 1, [&](int member, int64_t, int64_t) {
    if (member == 1) {
      ++heldUp;
      while (done < items - 1) // only the caller can
        std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(100us);
    }
    ++done;
  });
  EXPECT_EQ(done, items);
  EXPECT_LE(heldUp, 1);
}

} // namespace
