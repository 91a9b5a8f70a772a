//===- task_trace_test.cpp - Collectives inside tasks in a trace ----------===//

#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/gather_tasks.h"
#include "observe/trace_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>

using namespace ppopt;
using nlohmann::json;

namespace {

/// Returns the events of a step of two ranks; the second begins late.
json eventsOfAStep(bool tracesLaunches = false) {
  const std::string path =
      testing::TempDir() + "task_trace." + std::to_string(::getpid());
  runtime::Program program =
      runtime::readProgram(gather_tasks::program(2, 5, 1).dump());
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, gather_tasks::tasks, &transport, {});
    std::optional<int64_t> launches;
    if (tracesLaunches)
      launches = rank.predicted.launches;
    runtime::StepTrace trace(program, rank.places.actions, 1, launches);
    train::CommonClock clock(rank);
    runtime::ExecutorOptions options;
    options.trace = &trace;
    if (rank.index == 1)
      ::usleep(20000);
    runStep(rank, {}, options);
    writeTrace(rank, trace, clock, path);
  });
  std::ifstream file(path);
  json document = json::parse(file);
  std::remove(path.c_str());
  return document["traceEvents"];
}

TEST(TaskTrace, HasCollectivesInTheirLanesAndWaitsInTheirRuns) {
  std::map<int64_t, std::string> lanes;
  std::map<std::string, json> ofRank0; // by lane and name
  for (const json &event : eventsOfAStep())
    if (event["pid"] == 0 && event["name"] == "thread_name")
      lanes[event["tid"]] = event["args"]["name"];
    else if (event["pid"] == 0 && event["ph"] == "X")
      ofRank0[lanes.at(event["tid"]) + ": " +
              event["name"].get<std::string>()] = event;
  auto begin = [&](const char *name) {
    return ofRank0.at(name)["ts"].get<double>();
  };
  auto end = [&](const char *name) {
    return begin(name) + ofRank0.at(name)["dur"].get<double>();
  };
  EXPECT_EQ(lanes[3000001], "in tasks dp");
  EXPECT_EQ(lanes[3000002], "in tasks dp");
  const char *gather = "in tasks dp: all-gather dp b0",
             *scatter = "in tasks dp: reduce-scatter dp b0",
             *count = "in tasks dp: dp count", *run = "compute: B s0 mb0",
             *wait = "compute: wait dp count";
  EXPECT_EQ(ofRank0.at(gather)["cat"], "all-gather");
  EXPECT_EQ(ofRank0.at(gather)["args"]["bytes"], 80);
  EXPECT_EQ(ofRank0.at(gather)["args"]["task"], "s0_B");
  EXPECT_FALSE(ofRank0.at(gather)["args"].contains("hidden"));
  EXPECT_NEAR(ofRank0.at(count)["args"]["exposed"],
              ofRank0.at(wait)["dur"].get<double>(), 0.002);
  EXPECT_EQ(ofRank0.at(gather)["tid"], 3000001);
  EXPECT_EQ(ofRank0.at(count)["tid"], 3000002);
  EXPECT_LE(end(gather), begin(scatter));
  // It waits for rank 1 first for the count.
  EXPECT_EQ(ofRank0.at(wait)["cat"], "wait");
  EXPECT_EQ(ofRank0.at(wait)["args"], json({{"bytes", 8}}));
  EXPECT_GT(ofRank0.at(wait)["dur"], 10000);
  EXPECT_GT(end(count), end(wait) - 1000);
  EXPECT_LE(begin(run), begin(wait));
  EXPECT_GE(end(run), end(wait));
}

bool contains(const json &outer, const json &inner) {
  auto end = [](const json &event) {
    return event["ts"].get<double>() + event["dur"].get<double>();
  };
  return outer["ts"] <= inner["ts"] && end(inner) <= end(outer) + 0.002;
}

TEST(TaskTrace, HasLaunchesAndStartsInTheirRuns) {
  std::map<std::string, json> runs; // of rank 0, by task
  std::vector<json> calls;
  for (const json &event : eventsOfAStep(/*tracesLaunches=*/true)) {
    if (event["pid"] != 0 || event["ph"] != "X")
      continue;
    if (event["cat"] == "kernel" || event["cat"] == "start")
      calls.push_back(event);
    else if (event["cat"] == "backward")
      runs["s0_B"] = event;
    else if (event["cat"] == "update")
      runs["p0_U"] = event;
  }
  std::sort(calls.begin(), calls.end(), [](const json &a, const json &b) {
    return a["ts"].get<double>() < b["ts"].get<double>();
  });
  std::vector<std::string> names;
  for (const json &call : calls) {
    names.push_back(call["name"]);
    EXPECT_EQ(call["tid"], 1);
    EXPECT_TRUE(contains(runs.at(call["args"]["task"]), call)) << call;
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "start all-gather dp b0", "prepare", "start dp count",
                       "differentiate", "start reduce-scatter dp b0",
                       "accumulate", "add"}));
}

/// The kernel `prepare` runs while the gather is in flight, and nothing but
/// the wait while the count is.
TEST(TaskTrace, SaysWhatLaunchesHide) {
  std::map<std::string, json> ofRank0; // by category and name
  for (const json &event : eventsOfAStep(/*tracesLaunches=*/true))
    if (event["pid"] == 0 && event["ph"] == "X")
      ofRank0[event["cat"].get<std::string>() + ": " +
              event["name"].get<std::string>()] = event;
  const json &gather = ofRank0.at("all-gather: all-gather dp b0"),
             &count = ofRank0.at("sum: dp count"),
             &prepare = ofRank0.at("kernel: prepare"),
             &wait = ofRank0.at("wait: wait dp count");
  ASSERT_TRUE(contains(gather, prepare));
  EXPECT_NEAR(gather["args"]["hidden"], prepare["dur"].get<double>(), 0.002);
  EXPECT_EQ(count["args"]["hidden"], 0);
  EXPECT_NEAR(count["args"]["exposed"], wait["dur"].get<double>(), 0.002);
}

} // namespace
