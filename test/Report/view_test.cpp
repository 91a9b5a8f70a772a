//===- view_test.cpp - Timelines as text and as a trace -------------------===//

#include "Schedule/graphs.h"
#include "ppopt/Report/Pebble.h"
#include "ppopt/Report/SchedulePage.h"
#include "ppopt/Report/Trace.h"

#include <nlohmann/json.hpp>

#include <map>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// Transfers of 1.
Timeline time(const StageGraph &graph, const Table &table) {
  return simulate(table, graph, {/*latency=*/0, /*bytesPerUnit=*/1});
}

std::string draw(const StageGraph &graph, const Table &table, int width,
                 double nanosecondsPerUnit = 0) {
  return "\n" +
         drawPebbles(time(graph, table), graph, {width, nanosecondsPerUnit});
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Pebble, Transfers) {
  StageGraph graph = makeLine(3, 2, 2, 2, 1);
  EXPECT_EQ(draw(graph, makeTable("1f1b", graph, 3), 80), R"(
         |0             |10            |20            |30
place 0  F0-F1-F2-..................B0----...B1----......B2----  idle 50.0 %
            >> >> >>
place 1  ....F0--F1-........B0----F2--B1----.....B2-----.......  idle 50.0 %
                >> >>             << >>    <<          <<
place 2  .........F0-B0----F1-B1----...F2-B2----...............  idle 50.0 %
                           <<       <<          <<

F forward, B backward, with the microbatch where it fits
. idle; > < X sends to a later place, an earlier one, both
a column is 0.667, all of it 36
)");
}

Table parse(std::string_view csv) {
  Result<Table> table = parseCsv(csv);
  if (!table) {
    ADD_FAILURE() << table.error;
    return {};
  }
  return *table;
}

TEST(Pebble, SplitBackward) {
  StageGraph graph = makeLine(2);
  Table table = parse("0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n"
                      "1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n");
  EXPECT_EQ(check(table, graph), "");
  EXPECT_EQ(draw(graph, table, 60, 1e6), R"(
         |0             |5 ms
place 0  F0-F1-...I0-W0-F2-I1-W1-I2-W2-  idle 10.0 %
            >  >           >
place 1  ...F0-I0-F1-I1-W0-F2-I2-W1-W2-  idle 10.0 %
                  <     <        <

F forward, I backward for inputs, W backward for weights, with the microbatch where it fits
. idle; > < X sends to a later place, an earlier one, both
a column is 0.333 ms, all of it 10 ms
)");
}

/// Stages 0 and 3 on one place: a row each, and dots in both where it is idle.
TEST(Pebble, SeveralStagesOfAPlace) {
  StageGraph graph = makeChain({0, 1, 1, 0}, 1, 1, 1, 1);
  Table table = parse("0F0,0F1,3F0,3B0,3F1,3B1,0B0,0B1\n"
                      "1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n");
  EXPECT_EQ(check(table, graph), "");
  EXPECT_EQ(draw(graph, table, 80, 1e3), R"(
            |0                  |10 us
place 0 s0  F0F1......            ......B0--....B1--  idle 40.0 %
        s3      ......F0B0--F1B1--......    ....
              >>>>          >>    >>
place 1 s1  ....F0  F1  ......    B0--    B1--......  idle 40.0 %
        s2  ....  F0  F1......B0--    B1--    ......
                    <<  <<            <<      <<

F forward, B backward, with the microbatch where it fits
. idle; > < X sends to a later place, an earlier one, both
a column is 0.5 us, all of it 20 us
)");
}

/// What fills most of a column.
TEST(Pebble, MoreCellsThanColumns) {
  StageGraph graph = makeLine(3, 2, 2, 2, 1);
  EXPECT_EQ(draw(graph, makeTable("1f1b", graph, 40), 60, 1), R"(
         |0          |100 ns     |200 ns
place 0  F.BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB  idle 22.1 %
         > >>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>
place 1  ..BFBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB.  idle 22.1 %
         > XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX<
place 2  .BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB.  idle 22.1 %
          <<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<

F forward, B backward, with the microbatch where it fits
. idle; > < X sends to a later place, an earlier one, both
a column is 8.32 ns, all of it 308 ns
)");
}

TEST(Pebble, NothingRuns) {
  EXPECT_EQ(draw(makeLine(3), {1, {{}, {}, {}}}, 60, 1), R"(
         |0
place 0  .  idle 0.0 %
place 1  .  idle 0.0 %
place 2  .  idle 0.0 %

. idle
a column is 1 ns, all of it 0 ns
)");
}

/// Every width gives lines that fit, down to the least.
TEST(Pebble, Widths) {
  StageGraph graph = makeLine(4, 1.1, 1.7, 0.9, 1);
  Table table = makeTable("1f1b", graph, 8);
  for (int width = 60; width <= 250; ++width) {
    std::string text = draw(graph, table, width);
    size_t longest = 0, begin = 0;
    for (size_t end = text.find("\n\n"), at = 0; at < end; ++at)
      if (text[at] == '\n') {
        longest = std::max(longest, at - begin);
        begin = at + 1;
      }
    EXPECT_LE(longest, static_cast<size_t>(width));
    EXPECT_GE(longest, width * 0.6);
  }
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

TEST(Trace, OneMicrobatch) {
  StageGraph graph = makeLine(2, 1, 1, 1, 1);
  TraceOptions options;
  options.nanosecondsPerUnit = 1500;
  options.edgeNames = {"x0", "x1"};
  std::string text =
      writeTrace(time(graph, makeTable("naive", graph, 1)), graph, options);
  EXPECT_EQ("\n" + text, R"json(
{"displayTimeUnit": "ms", "traceEvents": [
{"name":"process_name","ph":"M","pid":1000000,"tid":1,"args":{"name":"place 0 (predicted)"}},
{"name":"process_sort_index","ph":"M","pid":1000000,"tid":1,"args":{"sort_index":0}},
{"name":"thread_name","ph":"M","pid":1000000,"tid":1,"args":{"name":"compute"}},
{"name":"thread_sort_index","ph":"M","pid":1000000,"tid":1,"args":{"sort_index":1}},
{"name":"thread_name","ph":"M","pid":1000000,"tid":1000001,"args":{"name":"send to 1"}},
{"name":"thread_sort_index","ph":"M","pid":1000000,"tid":1000001,"args":{"sort_index":1000001}},
{"name":"thread_name","ph":"M","pid":1000000,"tid":2000001,"args":{"name":"receive from 1"}},
{"name":"thread_sort_index","ph":"M","pid":1000000,"tid":2000001,"args":{"sort_index":2000001}},
{"name":"process_name","ph":"M","pid":1000001,"tid":1,"args":{"name":"place 1 (predicted)"}},
{"name":"process_sort_index","ph":"M","pid":1000001,"tid":1,"args":{"sort_index":1000000}},
{"name":"thread_name","ph":"M","pid":1000001,"tid":1,"args":{"name":"compute"}},
{"name":"thread_sort_index","ph":"M","pid":1000001,"tid":1,"args":{"sort_index":1}},
{"name":"thread_name","ph":"M","pid":1000001,"tid":1000000,"args":{"name":"send to 0"}},
{"name":"thread_sort_index","ph":"M","pid":1000001,"tid":1000000,"args":{"sort_index":1000000}},
{"name":"thread_name","ph":"M","pid":1000001,"tid":2000000,"args":{"name":"receive from 0"}},
{"name":"thread_sort_index","ph":"M","pid":1000001,"tid":2000000,"args":{"sort_index":2000000}},
{"name":"step","cat":"step","ph":"X","pid":1000000,"tid":1,"ts":0,"dur":12,"args":{}},
{"name":"F s0 mb0","cat":"forward","ph":"X","pid":1000000,"tid":1,"ts":0,"dur":1.5,"args":{"stage":0,"microbatch":0}},
{"name":"B s0 mb0","cat":"backward","ph":"X","pid":1000000,"tid":1,"ts":9,"dur":3,"args":{"stage":0,"microbatch":0}},
{"name":"step","cat":"step","ph":"X","pid":1000001,"tid":1,"ts":0,"dur":12,"args":{}},
{"name":"F s1 mb0","cat":"forward","ph":"X","pid":1000001,"tid":1,"ts":3,"dur":1.5,"args":{"stage":1,"microbatch":0}},
{"name":"B s1 mb0","cat":"backward","ph":"X","pid":1000001,"tid":1,"ts":4.5,"dur":3,"args":{"stage":1,"microbatch":0}},
{"name":"x0 mb0","cat":"send","ph":"X","pid":1000000,"tid":1000001,"ts":1.5,"dur":1.5,"args":{"transfer":"x0","microbatch":0,"bytes":1}},
{"name":"x0 mb0","cat":"receive","ph":"X","pid":1000001,"tid":2000000,"ts":1.5,"dur":1.5,"args":{"transfer":"x0","microbatch":0,"bytes":1}},
{"name":"x0","cat":"transfer","ph":"s","pid":1000000,"tid":1000001,"ts":1.5,"id":"x0 mb0"},
{"name":"x0","cat":"transfer","ph":"f","bp":"e","pid":1000001,"tid":2000000,"ts":2.999,"id":"x0 mb0"},
{"name":"x1 mb0","cat":"send","ph":"X","pid":1000001,"tid":1000000,"ts":7.5,"dur":1.5,"args":{"transfer":"x1","microbatch":0,"bytes":1}},
{"name":"x1 mb0","cat":"receive","ph":"X","pid":1000000,"tid":2000001,"ts":7.5,"dur":1.5,"args":{"transfer":"x1","microbatch":0,"bytes":1}},
{"name":"x1","cat":"transfer","ph":"s","pid":1000001,"tid":1000000,"ts":7.5,"id":"x1 mb0"},
{"name":"x1","cat":"transfer","ph":"f","bp":"e","pid":1000000,"tid":2000001,"ts":8.999,"id":"x1 mb0"}
]}
)json");
}

/// docs/trace.md: lanes are introduced, slices of a lane do not overlap, and
/// In flight from 1 to 3 of a run, waited for from 2 to 3.
StageCollective makeGather() {
  StageCollective gather;
  gather.kind = "all-gather";
  gather.group = "dp";
  gather.value = "b0";
  gather.name = "all-gather dp b0";
  gather.task = "s0_B";
  gather.channel = 4;
  gather.bytes = 64;
  gather.start = 1;
  gather.end = gather.waitEnd = 3;
  gather.waitStart = 2;
  gather.hidden = 1;
  return gather;
}

/// The backward begins at 1.
TEST(Trace, CollectivesInsideARun) {
  StageGraph graph = makeLine(1, 1, 2, 2);
  graph.stages[0].inBackward = {makeGather()};
  TraceOptions options;
  options.nanosecondsPerUnit = 1000;
  std::string text =
      writeTrace(time(graph, makeTable("naive", graph, 1)), graph, options);
  for (
      const char *line :
      {R"({"name":"thread_name","ph":"M","pid":1000000,"tid":3000004,"args":{"name":"in tasks dp"}})",
       R"({"name":"all-gather dp b0","cat":"all-gather","ph":"X","pid":1000000,"tid":3000004,"ts":2,"dur":2,"args":{"bytes":64,"exposed":1,"hidden":1,"task":"s0_B"}})",
       R"({"name":"wait dp b0","cat":"wait","ph":"X","pid":1000000,"tid":1,"ts":3,"dur":1,"args":{"bytes":64}})"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  // Short waits are left out.
  options.nanosecondsPerUnit = 999;
  text = writeTrace(time(graph, makeTable("naive", graph, 1)), graph, options);
  EXPECT_EQ(text.find("wait dp"), std::string::npos) << text;
}

/// every send has its receive.
TEST(Trace, Form) {
  StageGraph graph = makeLine(4, 2, 2, 2, 3);
  Timeline timeline = time(graph, makeTable("zb-h1", graph, 6));
  auto events =
      nlohmann::json::parse(writeTrace(timeline, graph, {})).at("traceEvents");
  std::map<std::pair<int, int>, double> ends;
  std::map<std::string, int> counts;
  std::map<std::string, double> flows;
  std::map<std::pair<int, int>, std::string> lanes;
  for (const auto &event : events) {
    std::pair<int, int> lane = {event.at("pid"), event.at("tid")};
    std::string phase = event.at("ph"), name = event.at("name");
    if (phase == "M") {
      if (name == "thread_name")
        lanes[lane] = event.at("args").at("name");
      continue;
    }
    EXPECT_TRUE(lanes.count(lane)) << event;
    std::string category = event.at("cat");
    ++counts[category + " " + phase];
    if (phase == "s")
      flows[event.at("id")] = event.at("ts");
    if (phase == "f") {
      ASSERT_TRUE(flows.count(event.at("id"))) << event;
      EXPECT_NEAR(double(event.at("ts")) - flows[event.at("id")], 0.002, 1e-9);
    }
    if (phase != "X" || category == "step")
      continue;
    double start = event.at("ts"), duration = event.at("dur");
    EXPECT_GE(start, ends[lane] - 1e-9) << event;
    ends[lane] = start + duration;
    if (category == "send")
      EXPECT_EQ(lanes[lane].rfind("send to ", 0), 0u) << event;
    if (category == "receive")
      EXPECT_EQ(lanes[lane].rfind("receive from ", 0), 0u) << event;
  }
  // Three links, both ways, six microbatches.
  std::map<std::string, int> expected = {{"step X", 4},
                                         {"forward X", 24},
                                         {"backward_input X", 24},
                                         {"backward_weight X", 24},
                                         {"send X", 36},
                                         {"receive X", 36},
                                         {"transfer s", 36},
                                         {"transfer f", 36}};
  EXPECT_EQ(counts, expected);
}

//===----------------------------------------------------------------------===//
// Page: what a browser shows is page.test's
//===----------------------------------------------------------------------===//

/// Names cannot end the script or the title, nor break a string.
TEST(Page, NamesAreEscaped) {
  StageGraph graph = makeLine(2);
  Page page;
  page.title = "</title><script>a&b\"\\";
  page.subtitle = "two\nlines";
  page.graph = graph;
  page.timeline = time(graph, makeTable("1f1b", graph, 2));
  page.edgeNames = {"</script>"};
  std::string text = writePage(page);
  EXPECT_EQ(text.find("</title><script>a"), std::string::npos);
  EXPECT_EQ(text.find("@PLAN@"), std::string::npos);
  EXPECT_EQ(text.find("</script>"), text.rfind("</script>"));
  size_t begin = text.find("const plan = ") + 13;
  auto plan = nlohmann::json::parse(
      text.substr(begin, text.find(";\n", begin) - begin));
  EXPECT_EQ(plan.at("title"), page.title);
  EXPECT_EQ(plan.at("subtitle"), page.subtitle);
  EXPECT_EQ(plan.at("edges").at(0).at("name"), "</script>");
  EXPECT_EQ(plan.at("edges").at(1).at("name"), "s1>s0");
  EXPECT_EQ(plan.at("places").at(0).at("cells").size(), 4u * 5);
}

} // namespace
