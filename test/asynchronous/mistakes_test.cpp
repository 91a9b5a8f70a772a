//===- mistakes_test.cpp - Planted mistakes are found ---------------------===//
//
// By the exploration, with a shortest run that shows the mistake, and by the
// check of recorded runs.
//
//===----------------------------------------------------------------------===//

#include "asynchronous/trace_check.h"
#include "explore.h"
#include "walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <exception>

using namespace ppopt::asynchronous;
using namespace ppopt::asynchronous::test;
using Kind = Message::Kind;

namespace {

class AppliedTwice final : public Mistake {
  int applications(const Message &update) const override {
    return update.ticket == 1 ? 2 : 1;
  }
};

class SentIsNotAwaited final : public Mistake {
  bool takesAnswersForSent() const override { return true; }
};

class HalfUpdate final : public Mistake {
  bool leavesUpdatesHalf() const override { return true; }
};

class BoundPlusOne final : public Mistake {
  std::optional<int64_t> bound(std::optional<int64_t> right) const override {
    return *right + 1;
  }
};

/// The machines count the last update, and it is not done.
class LastPushIsLost final : public Mistake {
public:
  explicit LastPushIsLost(int64_t end) : end(end) {}

private:
  int applications(const Message &update) const override {
    return update.ticket == end - 1 ? 0 : 1;
  }
  int64_t end;
};

/// A push does not arrive.
class PushIsLostOnTheWay final : public Mistake {
  int deliveries(const Message &message) const override {
    return message.kind == Kind::Push && message.ticket == 1 ? 0 : 1;
  }
};

/// One rank counts for two.
class DrainedTwice final : public Mistake {
  int deliveries(const Message &message) const override {
    return message.kind == Kind::Drained ? 2 : 1;
  }
};

class TicketTwice final : public Mistake {
  void change(Message &message) const override {
    if (message.kind == Kind::Ticket && message.ticket == 2)
      message.ticket = 1;
  }
};

class RecordForgotten final : public Mistake {
  bool forgetsRecord() const override { return true; }
};

/// Expects that the exploration finds `text`, and prints the shortest run.
void expectFound(const char *name, const Scenario &scenario,
                 const Mistake &mistake, const std::string &text,
                 const ReplayLog *repeated = nullptr) {
  Exploration found =
      explore(scenario, mistake, 1'000'000, Orders::All, repeated);
  std::printf("%s: %s, after %zu events (%zu states)\n", name,
              found.violation.c_str(), found.trace.size(), found.states);
  for (const std::string &event : found.trace)
    std::printf("  %s\n", event.c_str());
  EXPECT_NE(found.violation.find(text), std::string::npos) << found.violation;
  EXPECT_FALSE(found.trace.empty());
}

/// Expects that a check of the record of some random run finds `text`.
void expectInRecord(const Scenario &scenario, const Mistake &mistake,
                    const std::string &text) {
  std::string problems;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::string record = walk(scenario, mistake, seed, nullptr, true);
    for (const TraceProblem &each :
         checkTrace(parseReplayLog("record", record)).problems) {
      if (each.text.find(text) != std::string::npos)
        return;
      problems += each.text + "\n";
    }
  }
  ADD_FAILURE() << "no run shows '" << text << "'; others show:\n"
                << problems.substr(0, 2000);
}

Scenario threeTrainers(std::optional<int64_t> bound, int64_t tickets) {
  return {{3, 1, bound, {1, 0, 0}}, {tickets}};
}

TEST(Mistake, AppliedTwice) {
  Scenario scenario = {{3, 1, 1, {1, 1, 0}}, {3, 6}};
  expectFound("an update applied twice", scenario, AppliedTwice(),
              "is applied twice");
  expectInRecord(scenario, AppliedTwice(), "is applied twice");
}

TEST(Mistake, TwoVersionsInOnePull) {
  Scenario scenario = threeTrainers({}, 3);
  expectFound("a bucket that changes while it is sent", scenario,
              SentIsNotAwaited(), "mixes two versions");
  expectInRecord(scenario, SentIsNotAwaited(), "has other bits");
  expectFound("an update that is half done", scenario, HalfUpdate(),
              "mixes two versions");
  expectInRecord(scenario, HalfUpdate(), "has other bits");
}

TEST(Mistake, BoundOffByOne) {
  for (int64_t bound = 0; bound < 3; ++bound) {
    Scenario scenario = threeTrainers(bound, 6);
    std::string name =
        "the bound off by one, where it is " + std::to_string(bound);
    expectFound(name.c_str(), scenario, BoundPlusOne(), "the bound");
    expectInRecord(scenario, BoundPlusOne(), "the bound");
  }
}

TEST(Mistake, PushLostAtTheEnd) {
  Scenario scenario = threeTrainers(1, 6);
  expectFound("the last push lost", scenario, LastPushIsLost(6),
              "agrees without an update");
  expectInRecord(scenario, LastPushIsLost(6), "is lost");
  // Before an evaluation.
  scenario.rounds = {3, 6};
  expectFound("a push lost before an evaluation", scenario, LastPushIsLost(3),
              "agrees without an update");
}

TEST(Mistake, PushLostOnTheWay) {
  expectFound("a push that does not arrive", threeTrainers(1, 3),
              PushIsLostOnTheWay(), "each step of a trainer arrives once");
}

TEST(Mistake, AgreementTooEarly) {
  expectFound("a rank that counts for two", threeTrainers({}, 3),
              DrainedTwice(), "while something is under way");
}

TEST(Mistake, TicketTwice) {
  Scenario scenario = threeTrainers({}, 3);
  expectFound("a ticket twice", scenario, TicketTwice(), "computed twice");
  expectInRecord(scenario, TicketTwice(), "is taken twice");
}

TEST(Mistake, RecordForgotten) {
  Scenario scenario = threeTrainers({}, 6);
  ReplayLog log =
      parseReplayLog("record", walk(scenario, Mistake(), /*seed=*/1));
  expectFound("a replay in another order", scenario, RecordForgotten(),
              "than in the recorded run", &log);
}

} // namespace
