//===- replay_log_test.cpp - The file that a run is repeated from ---------===//

#include "asynchronous/rank_machines.h"
#include "asynchronous/replay_log.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace ppopt::asynchronous;

namespace {

const char *const text = "ppopt run order 3\n"
                         "trainers 2\n"
                         "members 1\n"
                         "bound 1\n"
                         "buckets 1 2\n"
                         "first 4\n"
                         "arrivals 3\n"
                         "fact steps 200\n"
                         "fact data corpus with spaces/\n"
                         "round 6\n"
                         "order 0 0 p0.0 p1.0 a1.0#1f a0.0\n"
                         "step 0 0 4 good 3 3 3\n"
                         "order 1 1 p1.0\n"
                         "step 1 0 5 bad 3#ff 3 3\n"
                         "end\n";

/// Returns the message of the text with `from` replaced by `to`.
std::string errorOf(const std::string &from, const std::string &to) {
  std::string changed = text;
  changed.replace(changed.find(from), from.size(), to);
  try {
    parseReplayLog("run.order", changed);
  } catch (const ppopt::runtime::Error &error) {
    return error.what();
  }
  return "";
}

TEST(ReplayLog, IsRead) {
  ReplayLog log = parseReplayLog("run.order", text);
  EXPECT_EQ(log.shape.trainers, 2);
  EXPECT_EQ(log.shape.bound, 1);
  EXPECT_EQ(log.shape.buckets, (std::vector<int>{1, 2}));
  EXPECT_EQ(log.first, 4);
  EXPECT_EQ(log.arrivals, 3);
  EXPECT_EQ(log.end(), 6);
  ASSERT_EQ(log.facts.size(), 2u);
  EXPECT_EQ(log.facts[1].first, "data");
  EXPECT_EQ(log.facts[1].second, "corpus with spaces/");
  ASSERT_EQ(log.rounds.size(), 1u);
  const BucketOrder &order = log.rounds[0].orders[0][0];
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order[1].line, 11);
  EXPECT_EQ(order[1].kind, OrderEntry::Kind::Answered);
  EXPECT_EQ(order[2].kind, OrderEntry::Kind::Applied);
  EXPECT_EQ(order[2].trainer, 1);
  EXPECT_EQ(order[2].digest, 0x1fu);
  EXPECT_EQ(log.rounds[0].orders[1][1].size(), 1u);
  const StepRecord &step = log.rounds[0].steps[1][0];
  EXPECT_EQ(step.ticket, 5);
  EXPECT_EQ(step.line, 14);
  EXPECT_EQ(log.rounds[0].line, 10);
  EXPECT_FALSE(step.isGood);
  EXPECT_EQ(step.versions, (std::vector<int64_t>{3, 3, 3}));
  EXPECT_EQ(step.digests, (std::vector<uint64_t>{0xff, 0, 0}));
}

TEST(ReplayLog, IsWrittenAsItIsRead) {
  ReplayLog log = parseReplayLog("run.order", text);
  std::string again = printHeader(log);
  for (const RecordedRound &round : log.rounds) {
    again += printRound(round.end);
    for (int rank = 0; rank < log.shape.ranks(); ++rank) {
      Recorder recorder(rank, log.shape.buckets[rank]);
      for (int bucket = 0; bucket < log.shape.buckets[rank]; ++bucket)
        for (const OrderEntry &entry : round.orders[rank][bucket])
          recorder.add(entry.kind, bucket, entry.trainer, entry.step,
                       entry.digest);
      for (const StepRecord &step : round.steps[rank])
        recorder.add(step);
      again += recorder.takeLines();
      EXPECT_EQ(recorder.takeLines(), "");
    }
  }
  EXPECT_EQ(again + printEnd(), text);
}

TEST(ReplayLog, LongOrdersHaveSeveralLines) {
  Recorder recorder(0, 1);
  for (int64_t step = 0; step < 40; ++step)
    recorder.add(OrderEntry::Kind::Applied, 0, 0, step);
  ReplayLog header;
  header.shape.buckets = {1};
  std::string lines = recorder.takeLines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  ReplayLog log = parseReplayLog("x", printHeader(header) + printRound(40) +
                                          lines + printEnd());
  EXPECT_EQ(log.shape.bound, std::nullopt);
  ASSERT_EQ(log.rounds[0].orders[0][0].size(), 40u);
  EXPECT_EQ(log.rounds[0].orders[0][0][39].step, 39);
}

TEST(ReplayLog, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf("ppopt run order 3", "ppopt run order 2"),
            "run.order:1: this record is of version 2, and this ppopt reads "
            "version 3: record the run again");
  EXPECT_EQ(errorOf("ppopt run order 3", "ppopt model"),
            "run.order:1: this is no record of a run that --record wrote: the "
            "first line is not 'ppopt run order 3'");
  EXPECT_EQ(errorOf("trainers 2", "trainers 0"),
            "run.order:2: expected trainers, and there is '0'");
  EXPECT_EQ(errorOf("trainers 2", "trainers"),
            "run.order:2: expected trainers");
  EXPECT_EQ(errorOf("members 1", "member 1"),
            "run.order:3: expected 'members'");
  EXPECT_EQ(errorOf("bound 1", "bound some"),
            "run.order:4: expected a bound or 'none', and there is 'some'");
  EXPECT_EQ(errorOf("bound 1", "bound  1"),
            "run.order:4: expected a bound, and there are two spaces");
  EXPECT_EQ(errorOf("buckets 1 2", "buckets 1"),
            "run.order:5: expected a number of buckets");
  EXPECT_EQ(errorOf("buckets 1 2", "buckets 1 2 3"),
            "run.order:5: expected the end of the line, and there is '3'");
  EXPECT_EQ(errorOf("first 4", "first 5"),
            "run.order:6: the first ticket is not a multiple of the trainers");
  EXPECT_EQ(errorOf("round 6", "round 7"),
            "run.order:10: a round's end is not a multiple of the trainers");
  EXPECT_EQ(errorOf("round 6", "round 2"),
            "run.order:10: expected where the round ends, and there is '2'");
  EXPECT_EQ(errorOf("round 6\n", ""),
            "run.order:10: 'order' is not expected here");
  EXPECT_EQ(errorOf("order 1 1", "order 2 1"),
            "run.order:13: expected a rank, and there is '2'");
  EXPECT_EQ(errorOf("order 0 0", "order 0 1"),
            "run.order:11: expected a bucket of the rank, and there is '1'");
  EXPECT_EQ(errorOf("p0.0", "q0.0"),
            "run.order:11: expected an entry such as a0.3 or p0.3, and there "
            "is 'q0.0'");
  EXPECT_EQ(errorOf("p0.0", "p9.0"),
            "run.order:11: expected a trainer, and there is '9'");
  EXPECT_EQ(errorOf("p0.0", "p0.x"),
            "run.order:11: expected a step, and there is 'x'");
  EXPECT_EQ(errorOf("#1f", "#0"),
            "run.order:11: expected a digest, and there is '0'");
  EXPECT_EQ(errorOf("good", "fine"), "run.order:12: expected 'good' or 'bad'");
  EXPECT_EQ(errorOf("good 3 3 3", "good 3 3"),
            "run.order:12: expected a version of each bucket");
  EXPECT_EQ(errorOf("end\n", "end"),
            "run.order: the file is cut: it has 14 lines, and the last one is "
            "not 'end'");
  EXPECT_EQ(errorOf("end\n", "end\nmore\n"),
            "run.order:16: there is a line after the last one");
}

/// Whatever a file has, it is read or refused with its name.
TEST(ReplayLog, SurvivesChangedFiles) {
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = text;
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      size_t at = random() % changed.size();
      switch (random() % 3) {
      case 0:
        changed[at] = " \n#.0129-apx"[random() % 12];
        break;
      case 1:
        changed.erase(at, 1 + random() % 4);
        break;
      case 2:
        changed.insert(at, changed.substr(random() % changed.size(), 3));
        break;
      }
      if (changed.empty())
        changed = " ";
    }
    try {
      parseReplayLog("run.order", changed);
      ++read;
    } catch (const ppopt::runtime::Error &error) {
      EXPECT_EQ(std::string(error.what()).rfind("run.order", 0), 0u);
    }
  }
  EXPECT_GT(read, 100);
}

/// A run that differs from its record ends with an error, not with a wait.
TEST(ReplayLog, ARunThatIsNotTheRecordedOneEnds) {
  auto repeat = [](const std::string &order, bool isGood) -> std::string {
    ReplayLog log = parseReplayLog(
        "x", "ppopt run order 3\ntrainers 1\nmembers 1\nbound none\n"
             "buckets 1\nfirst 0\narrivals 0\nround 1\norder 0 0 " +
                 order + "\nstep 0 0 0 good 0\nend\n");
    RankMachines machines(log.shape, 0);
    machines.follow(log);
    try {
      machines.beginRound(1);
      machines.computed(isGood);
    } catch (const ppopt::runtime::Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(repeat("p0.0 a0.0", true), "");
  EXPECT_EQ(repeat("p0.0 a0.0", false),
            "the run is not the recorded one: trainer 0 has ended step 0 of "
            "round 0, and the record has an update first");
  EXPECT_EQ(repeat("p0.0", true),
            "the run is not the recorded one: it has more updates or pulls "
            "than round 0 of the record");
}

} // namespace
