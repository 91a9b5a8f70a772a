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

/// Beside a program that keeps a core busy, threads are moved, and may run
/// afterwards where they might before.
TEST(Team, BesideABusyCore) {
  auto allowed = [] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    return cores;
  };
  std::thread([&] {
    cpu_set_t before = allowed(), one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    std::atomic<bool> ends{false};
    std::thread busy([&] {
      EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      while (!ends)
        continue;
    });
    for (int round = 0; round < 30; ++round)
      expectEachOnce(1);
    ends = true;
    busy.join();
    std::atomic<int> moved{0};
    for (int round = 0; round < 30; ++round)
      parallelForMembers(5, 5, 1, [&](int, int64_t, int64_t) {
        cpu_set_t now = allowed();
        moved += !CPU_EQUAL(&now, &before);
      });
    EXPECT_EQ(moved, 0);
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
