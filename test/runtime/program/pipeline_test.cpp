//===- pipeline_test.cpp - Wrong documents of several places --------------===//

#include "pipeline_program.h"
#include "wrong_document.h"

using namespace wrong_document;

namespace {

// Of a place's actions in training: 4 zeros, (place 1: the prologue), start and
// wait; place 0: 6 recv, 7 run, 8 send, ...; place 1: 7 recv, ...
class PipelineErrors : public testing::TestWithParam<Wrong> {};

TEST_P(PipelineErrors, NameTheField) {
  expectMessage(next_token_pipeline::program(1, 1), GetParam());
}

const Wrong wrongTransfers[] = {
    {"/plan/tied", "\"each\"", "plan.tied is 'each', not one of sum, owner"},
    {"/plan/launch", "\"threads\"",
     "plan.launch is 'threads', not one of ranks, local"},
    {"/stages/1/place", "0",
     "transfers[0].to_stage is 1, which is not on place 1"},
    {"/transfers/0/to", "2", "transfers[0].to is 2, not in [0, 1]"},
    {"/transfers/0/bytes", "0", "transfers[0].bytes is 0, less than 1"},
    {"/transfers/0/requires_grad", "false",
     "transfers[1].gradient_of is 0 ('x0'), which requires no gradient"},
    {"/transfers/0/gradient_of", "0",
     "transfers[0].gradient_of is 0 ('x0'), which does not go the other way"},
    {"/transfers/1/gradient_of", "null",
     "transfers[0].requires_grad is true, and no transfer is its gradient"},
    {"/tasks/1/place", "1",
     "places[0].actions[7].task is 1 ('s0_F'), which belongs to place 1"},
    {"/places/0/actions/8/transfer", "2",
     "places[0].actions[8].transfer is 2, not in [0, 1]"},
    {"/places/0/actions/8/transfer", "1",
     "places[0].actions[8].transfer is 1 ('x1'), which place 1 sends"},
    {"/places/1/actions/7/transfer", "1",
     "places[1].actions[7].transfer is 1 ('x1'), which place 0 receives"},
    {"/places/0/actions/8/peer", "2",
     "places[0].actions[8].peer is 2, not in [0, 1]"},
    {"/places/0/actions/8/peer", "0",
     "places[0].actions[8].peer is 0, and the other end of 'x0' is 1"},
    {"/places/0/actions/8/microbatch", "1",
     "places[0].actions[8].microbatch is 1, not in [0, 0]"},
    {"/places/0/actions/8/bytes", "760",
     "places[0].actions[8].bytes is 760, and 'x0' has 768"},
    {"/places/0/actions/8/offset", "4096",
     "places[0].actions[8].offset is 4096: 768 bytes there end outside the "
     "arena of 4032"},
    {"/places/0/actions/8/channel", "-1",
     "places[0].actions[8].channel is -1, not in [0, 2147483647]"},
    {"/places/0/actions/7/dead/0/bytes", "4096",
     "places[0].actions[7].dead[0].offset is 3968: 4096 bytes there end "
     "outside the arena of 4032"},
    {"/places/0/actions/7/dead/0", "[1]",
     "places[0].actions[7].dead[0] is not an object"},
    {"/places/0/actions/6/op", "\"all_reduce\"",
     "places[0].actions[6].axes is missing"},
    {"/places/0/actions/6", "{\"do\": \"copy\"}",
     "places[0].actions[6].do is 'copy', not one of run, zero, start, wait"},
    {"/places/0/actions/17/among", "[0, 2]",
     "places[0].actions[17].among[1] is 2, not in [0, 1]"},
    {"/places/0/actions/17/among", "[1, 0]",
     "places[0].actions[17].among[1] is 0, not in ascending order"},
    {"/places/0/actions/17/among", "[1]",
     "places[0].actions[17].among lacks 0, the place itself"},
    {"/places/0/actions/17/axes/0", "\"dp\"",
     "places[0].actions[17].among is there, and pp is not one of the axes"},
    {"/places/1/actions/7/channel", "1",
     "actions has, as message 0 from place 0 to place 1 on channel 0, x0 of "
     "microbatch 0 where it is sent and nothing where it is received"},
};
INSTANTIATE_TEST_SUITE_P(All, PipelineErrors,
                         testing::ValuesIn(wrongTransfers));

TEST(PipelineErrors, OrdersThatDiffer) {
  json document = next_token_pipeline::program(1, 3);
  json &actions = document["places"][1]["actions"];
  std::vector<json *> receives;
  for (json &action : actions)
    if (action["do"] == "start" && action["op"] == "recv")
      receives.push_back(&action);
  ASSERT_EQ(receives.size(), 3u);
  std::swap(*receives[1], *receives[2]);
  EXPECT_EQ(errorOf(document),
            "program: actions has, as message 1 from place 0 to place 1 on "
            "channel 0, x0 of microbatch 1 where it is sent and x0 of "
            "microbatch 2 where it is received; the executable does not fit "
            "its runtime: "
            "compile it again");
}

class LocalErrors : public testing::TestWithParam<Wrong> {};

TEST_P(LocalErrors, NameTheField) {
  expectMessage(next_token_pipeline::program(1, 1, /*local=*/true), GetParam());
}

// 4 zeros of each place; 8 run; 9, 10 start, 11, 12 wait; 13 run; 14
// recv, 15 send, 16, 17 wait; ...
const Wrong wrongLocals[] = {
    {"/local", "", "local is missing"},
    {"/plan/mesh/0/size", "2", "plan.launch is local, and the mesh has dp=2"},
    {"/local/actions/8/place", "2",
     "local.actions[8].place is 2, not in [0, 1]"},
    {"/local/actions/9/do", "\"sum\"",
     "local.actions[9].do is 'sum', not one of run, zero, start, wait"},
    {"/local/actions/9/axes/0", "\"x\"",
     "local.actions[9].axes[0] is 'x', which the mesh does not have"},
    {"/local/actions/10/place", "2",
     "local.actions[10].place is 2, not in [0, 1]"},
    {"/local/actions/9/type", "\"i1\"",
     "local.actions[9].type is i1, which cannot be summed"},
    {"/local/actions/10/type", "\"i64\"",
     "local.actions[10] is matched with the start 0 on place 0, all_reduce of "
     "1 elements of f64"},
    {"/local/actions/10/op", "\"reduce_scatter\"",
     "local.actions[10] is matched with the start 0 on place 0, all_reduce of "
     "1 elements of f64"},
    {"/local/actions/10/channel", "5",
     "local.actions[11].id is 0, whose other ends are not all started before"},
    {"/local/actions/10/place", "0",
     "local.actions[11].id is 0, whose other ends are not all started before"},
    {"/local/actions/11/place", "1",
     "local.actions[11].place is 1, and 0 was started on place 0"},
    {"/local/actions/15/bytes", "8",
     "local.actions[15].bytes is 8, and 'x0' has 768"},
    {"/local/actions/15/place", "1",
     "local.actions[15].transfer is 0 ('x0'), which place 0 sends"},
    {"/local/actions/15/peer", "0",
     "local.actions[15].peer is 0, and the other end of 'x0' is 1"},
    {"/local/actions/15/channel", "5",
     "local.actions[16].id is 101, whose other ends are not all started "
     "before"},
    {"/local/actions/15/id", "100",
     "local.actions[15].id is 100 a second time"},
    {"/local/actions/15/id", "", "local.actions[15].id is missing"},
};
INSTANTIATE_TEST_SUITE_P(All, LocalErrors, testing::ValuesIn(wrongLocals));

TEST(LocalErrors, WaitBeforeTheOtherEnd) {
  json document = next_token_pipeline::program(1, 1, /*local=*/true);
  json &actions = document["local"]["actions"];
  std::swap(actions[15], actions[17]); // the send and the wait of the receive
  EXPECT_EQ(errorOf(document),
            "program: local.actions[15].id is 100, whose other ends are not "
            "all started before; the executable does not fit its runtime: "
            "compile it again");
}

TEST(LocalErrors, TransfersThatDiffer) {
  json document = next_token_pipeline::program(1, 2, /*local=*/true);
  json &actions = document["local"]["eval_actions"];
  json *last = nullptr;
  for (json &action : actions)
    if (action["do"] == "start" && action["op"] == "send")
      last = &action;
  (*last)["microbatch"] = 0;
  std::string error = errorOf(document);
  EXPECT_NE(error.find("is matched with the start 104 on place 1, which is of "
                       "x0 of microbatch 1; "),
            std::string::npos)
      << error;
}

} // namespace
