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
json eventsOfAStep() {
  const std::string path =
      testing::TempDir() + "task_trace." + std::to_string(::getpid());
  runtime::Program program =
      runtime::readProgram(gather_tasks::program(2, 5, 1).dump());
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, gather_tasks::tasks, &transport, {});
    runtime::StepTrace trace(program, rank.actions, 1);
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
  EXPECT_EQ(lanes[3000001], "sum dp");
  EXPECT_EQ(lanes[3000002], "sum dp");
  const char *gather = "sum dp: all-gather dp b0",
             *scatter = "sum dp: reduce-scatter dp b0",
             *count = "sum dp: dp count", *run = "compute: B s0 mb0",
             *wait = "compute: wait dp count";
  EXPECT_EQ(ofRank0.at(gather)["cat"], "all-gather");
  EXPECT_EQ(ofRank0.at(gather)["args"], json({{"bytes", 80}}));
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

} // namespace
