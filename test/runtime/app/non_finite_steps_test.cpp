//===- non_finite_steps_test.cpp - What is said of a step that is bad -----===//

#include "app/non_finite_steps.h"

#include "comm/thread_transport.h"
#include "executor/gather_tasks.h"
#include "host_at.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ppopt;
using namespace ppopt::runtime;

namespace {

TEST(NonFiniteSteps, SayWhatWentIntoACollectiveOfATask) {
  Program program = readProgram(gather_tasks::program(2, 5).dump());
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, gather_tasks::tasks, &transport, {});
    auto *weights = reinterpret_cast<double *>(
        hostAt(rank, rank.places.own.parameters[0].address));
    if (rank.index == 1)
      weights[2] = INFINITY;
    StepResult result = runStep(rank, {}, {});
    ASSERT_TRUE(result.isBad);
    train::NonFiniteSteps(rank, /*allowed=*/1).look(0, {}, result);
    if (rank.index == 0)
      EXPECT_EQ(result.skipped,
                "the loss is inf. It began on rank 1 (dp 1): its part of the "
                "all-gather of 'b0' in s0_B, microbatch 0, is inf at element "
                "2; the loss of its rows is inf; parameter 'w' was inf at [2] "
                "before the step");
  });
}

} // namespace
