//===- serving_test.cpp - Ranks serve each other, on threads --------------===//
//
// Each update adds one to every element of a chunk, so that a chunk is equal
// numbers, and what a bucket contains is how many updates it has had.
//
//===----------------------------------------------------------------------===//

#include "asynchronous/replay_log.h"
#include "asynchronous/trace_check.h"
#include "comm/thread_transport.h"
#include "executor/serving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ppopt;
using asynchronous::Message;
using asynchronous::Trainer;
using runtime::ServedBuckets;
using runtime::ServedReports;
using runtime::Serving;

/// What is wrong on purpose.
enum class Plant {
  Nothing,
  UpdateTwice,
  UpdateLost,
  UpdateHalf,       ///< the other half comes with the next update
  GradientsChanged, ///< while they are being sent
};

constexpr size_t chunkElements[] = {3, 500, 1};
constexpr int firstChannel = 5;

class Memory final : public ServedBuckets {
public:
  Memory(int trainers, int self, Plant plant)
      : trainers(trainers), self(self), plant(plant) {
    for (size_t elements : chunkElements) {
      size_t bytes = elements * sizeof(int64_t);
      sizes.push_back({bytes, bytes});
      whole.emplace_back(elements * size_t(trainers), -1);
      gradients.emplace_back(elements * size_t(trainers));
      masters.emplace_back(elements, 0);
    }
    inboxes.assign(size_t(trainers), std::vector<int64_t>(500));
  }

  const std::vector<Bucket> &buckets() const override { return sizes; }
  void *working(int bucket, int owner) override {
    return &whole[size_t(bucket)][size_t(owner) * chunkElements[bucket]];
  }
  void *gradient(int bucket, int owner) override {
    return &gradients[size_t(bucket)][size_t(owner) * chunkElements[bucket]];
  }
  void *master(int bucket) override { return masters[size_t(bucket)].data(); }
  void *inbox(int trainer) override { return inboxes[size_t(trainer)].data(); }
  void update(int bucket, const void *gradient, const Message &push) override {
    auto values = static_cast<const int64_t *>(gradient);
    std::vector<int64_t> &chunk = masters[size_t(bucket)];
    EXPECT_EQ(push.learningRate, 0.5);
    bool isPlanted = ++updates % 7 == 0;
    size_t half = plant == Plant::UpdateHalf ? chunk.size() / 2 : 0;
    for (size_t i = half; i < chunk.size(); ++i)
      chunk[i] += plant == Plant::UpdateLost && isPlanted ? 0 : values[i];
    for (size_t i = 0; i < half; ++i)
      chunk[i] = push.version - 1;
    if (plant == Plant::UpdateTwice && isPlanted)
      for (size_t i = 0; i < chunk.size(); ++i)
        chunk[i] += values[i];
  }

  /// Returns whether a pull was of one version of each chunk.
  bool isWhole() {
    bool is = true;
    for (int bucket = 0; bucket < int(sizes.size()); ++bucket)
      for (int owner = 0; owner < trainers; ++owner) {
        auto begin = static_cast<int64_t *>(working(bucket, owner));
        is &=
            *begin >= 0 && std::all_of(begin, begin + chunkElements[bucket],
                                       [&](int64_t x) { return x == *begin; });
      }
    return is;
  }

  const int trainers, self;
  const Plant plant;
  std::vector<Bucket> sizes;
  std::vector<std::vector<int64_t>> whole, gradients, masters, inboxes;
  int updates = 0;
};

struct Case {
  int trainers = 2, members = 1;
  std::optional<int64_t> bound;
  Plant plant = Plant::Nothing;
  unsigned seed = 1;
  std::optional<asynchronous::ReplayLog> follows = std::nullopt;
};

struct Outcome {
  std::string record;
  bool isWhole = true, isComplete = true;
  int64_t reports = 0;
};

constexpr int64_t rounds = 3, batches = 6;

/// The job of one rank: some rounds, each step with a random delay.
class Rank {
public:
  Rank(const Case &setup, const asynchronous::Shape &shape,
       comm::Transport &transport, Outcome &outcome, std::mutex &lock)
      : setup(setup),
        memory(setup.trainers, transport.rank() / setup.members, setup.plant),
        random(setup.seed * 100 + unsigned(transport.rank())), lock(lock),
        outcome(outcome),
        serving(&transport, firstChannel, shape, identity(shape.ranks()),
                transport.rank(), memory, 0, 0,
                ServedReports{sizeof none, &none, [&](int, const void *text) {
                                if (*static_cast<const int64_t *>(text) >= 0)
                                  ++outcome.reports;
                              }}) {}

  /// Returns the lines of each round.
  std::vector<std::string> run() {
    if (setup.follows)
      serving.follow(*setup.follows);
    serving.record();
    std::vector<std::string> lines;
    for (int64_t round = 1; round <= rounds; ++round) {
      serving.beginRound(round * batches * setup.trainers);
      while (nextStep())
        compute();
      EXPECT_EQ(serving.agreement().ticket, round * batches * setup.trainers);
      lines.push_back(serving.takeRecord());
    }
    for (const std::vector<int64_t> &chunk : memory.masters)
      for (int64_t value : chunk)
        if (value != rounds * batches * setup.trainers) {
          std::lock_guard<std::mutex> guard(lock);
          outcome.isComplete = false;
        }
    return lines;
  }

private:
  static std::vector<int> identity(int count) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i)
      ranks.push_back(i);
    return ranks;
  }

  bool nextStep() {
    using Phase = Trainer::Phase;
    serving.serveUntil([&] {
      return serving.phase() == Phase::Computes ||
             serving.phase() == Phase::Between;
    });
    return serving.phase() == Phase::Computes;
  }

  void compute() {
    if (!memory.isWhole()) {
      std::lock_guard<std::mutex> guard(lock);
      outcome.isWhole = false;
    }
    if (setup.plant != Plant::GradientsChanged)
      serving.waitForPushes();
    for (auto &bucket : memory.gradients)
      std::fill(bucket.begin(), bucket.end(), 1);
    for (unsigned i = random() % 4; i > 0; --i) {
      std::this_thread::sleep_for(std::chrono::microseconds(30));
      serving.progress();
    }
    int64_t report = serving.ticket();
    serving.computed(true, 1, 0.5, &report);
    if (setup.plant == Plant::GradientsChanged)
      for (auto &bucket : memory.gradients)
        std::fill(bucket.begin(), bucket.end(), 1000);
  }

  const Case &setup;
  const int64_t none = -1;
  Memory memory;
  std::mt19937 random;
  std::mutex &lock;
  Outcome &outcome;
  Serving serving;
};

Outcome run(const Case &setup) {
  asynchronous::ReplayLog log;
  log.shape.trainers = setup.trainers;
  log.shape.members = setup.members;
  log.shape.bound = setup.bound;
  log.shape.buckets.assign(size_t(log.shape.ranks()),
                           int(std::size(chunkElements)));
  Outcome outcome;
  std::mutex lock;
  std::vector<std::vector<std::string>> lines(size_t(log.shape.ranks()));
  comm::runThreadRanks(log.shape.ranks(), [&](comm::Transport &transport) {
    Rank rank(setup, log.shape, transport, outcome, lock);
    lines[size_t(transport.rank())] = rank.run();
    transport.barrier(); // all have what was sent to them
  });
  outcome.record = printHeader(log);
  for (int64_t round = 0; round < rounds; ++round) {
    outcome.record +=
        asynchronous::printRound((round + 1) * batches * setup.trainers);
    for (const auto &own : lines)
      outcome.record += own[size_t(round)];
  }
  outcome.record += asynchronous::printEnd();
  return outcome;
}

void expectRight(const Outcome &outcome, const Case &setup) {
  EXPECT_TRUE(outcome.isWhole);
  EXPECT_TRUE(outcome.isComplete);
  EXPECT_EQ(outcome.reports, rounds * batches * setup.trainers * setup.members);
  auto facts = asynchronous::checkTrace(
      asynchronous::parseReplayLog("record", outcome.record));
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front().text;
  EXPECT_GT(facts.comparedDigests, 0);
}

TEST(Serving, KeepsTheProtocolAndRepeatsRuns) {
  for (int trainers : {2, 3, 4})
    for (int members : {1, 2})
      for (std::optional<int64_t> bound :
           {std::optional<int64_t>(), std::optional<int64_t>(1),
            std::optional<int64_t>(2)}) {
        SCOPED_TRACE(testing::Message()
                     << trainers << " trainers of " << members << ", bound "
                     << bound.value_or(-1));
        Case setup{trainers, members, bound};
        Outcome first = run(setup);
        expectRight(first, setup);
        setup.follows = asynchronous::parseReplayLog("record", first.record);
        setup.seed = 2;
        Outcome again = run(setup);
        expectRight(again, setup);
        EXPECT_EQ(again.record, first.record);
      }
}

TEST(Serving, OneRankNeedsNoTransport) {
  Memory memory(1, 0, Plant::Nothing);
  asynchronous::Shape shape;
  shape.buckets = {int(std::size(chunkElements))};
  int64_t none = -1, reports = 0;
  Serving serving(
      nullptr, 0, shape, {0}, 0, memory, 0, 0,
      ServedReports{sizeof none, &none, [&](int, const void *) { ++reports; }});
  serving.beginRound(5);
  while (serving.phase() == Trainer::Phase::Computes) {
    for (auto &bucket : memory.gradients)
      std::fill(bucket.begin(), bucket.end(), 1);
    int64_t report = serving.ticket();
    serving.computed(true, 1, 0.5, &report);
  }
  EXPECT_EQ(serving.phase(), Trainer::Phase::Between);
  EXPECT_EQ(memory.masters[1][499], 5);
  EXPECT_EQ(reports, 5);
}

TEST(Serving, MistakesAreSeen) {
  for (Plant plant : {Plant::UpdateTwice, Plant::UpdateLost, Plant::UpdateHalf,
                      Plant::GradientsChanged}) {
    Outcome outcome = run(Case{3, 1, std::nullopt, plant});
    EXPECT_FALSE(outcome.isWhole && outcome.isComplete) << int(plant);
  }
}

} // namespace
