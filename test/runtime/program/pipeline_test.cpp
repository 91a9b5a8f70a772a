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
    {"/transfers/0/to", "2", "transfers[0].to is 2, not in [0, 1]"},
    {"/transfers/0/bytes", "0", "transfers[0].bytes is 0, less than 1"},
    {"/transfers/1/gradient_of", "2",
     "transfers[1].gradient_of is 2, not in [0, 1]"},
    {"/transfers/0/from_stage", "2",
     "transfers[0].from_stage is 2, not in [0, 1]"},
    {"/places/0/actions/8/transfer", "2",
     "places[0].actions[8].transfer is 2, not in [0, 1]"},
    {"/places/0/actions/8/peer", "2",
     "places[0].actions[8].peer is 2, not in [0, 1]"},
    {"/places/0/actions/8/microbatch", "1",
     "places[0].actions[8].microbatch is 1, not in [0, 0]"},
    {"/places/0/actions/8/offset", "4096",
     "places[0].actions[8].offset is 4096: 768 bytes there end outside the "
     "arena of 4096"},
    {"/places/0/actions/8/channel", "-1",
     "places[0].actions[8].channel is -1, not in [0, 2147483647]"},
    {"/places/0/actions/7/dead/0/bytes", "4096",
     "places[0].actions[7].dead[0].offset is 4032: 4096 bytes there end "
     "outside the arena of 4096"},
    {"/places/0/actions/7/dead/0", "[1]",
     "places[0].actions[7].dead[0] is not an object"},
    {"/places/0/actions/6/op", "\"all_reduce\"",
     "places[0].actions[6].axes is missing"},
    {"/places/0/actions/6", "{\"do\": \"copy\"}",
     "places[0].actions[6].do is 'copy', not one of run, zero, start, wait"},
    {"/places/0/actions/17/among", "[0, 2]",
     "places[0].actions[17].among[1] is 2, not in [0, 1]"},
};
INSTANTIATE_TEST_SUITE_P(All, PipelineErrors,
                         testing::ValuesIn(wrongTransfers));

class LocalErrors : public testing::TestWithParam<Wrong> {};

TEST_P(LocalErrors, NameTheField) {
  expectMessage(next_token_pipeline::program(1, 1, /*local=*/true), GetParam());
}

// 4 zeros of each place; 8 run; 9, 10 start, 11, 12 wait; 13 run; 14
// recv, 15 send, 16, 17 wait; ...
const Wrong wrongLocals[] = {
    {"/local", "", "local is missing"},
    {"/places/1/place", "0", "places[1].place is 0, out of order"},
    {"/local/actions/8/place", "2",
     "local.actions[8].place is 2, not in [0, 1]"},
    {"/local/actions/9/do", "\"sum\"",
     "local.actions[9].do is 'sum', not one of run, zero, start, wait"},
    {"/local/actions/10/place", "2",
     "local.actions[10].place is 2, not in [0, 1]"},
    {"/local/actions/9/type", "\"i1\"",
     "local.actions[9].type is 'i1', not one of f32, f64, bf16, i32, i64"},
    {"/local/actions/15/id", "100",
     "local.actions[15].id is 100 a second time"},
    {"/local/actions/15/id", "", "local.actions[15].id is missing"},
};
INSTANTIATE_TEST_SUITE_P(All, LocalErrors, testing::ValuesIn(wrongLocals));

} // namespace
