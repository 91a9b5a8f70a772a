//===- task_collectives_test.cpp - Collectives inside tasks ---------------===//

#include "base/error.h"
#include "comm/thread_transport.h"
#include "device/conformance/devices.h"
#include "device/host_access.h"
#include "executor/executor.h"
#include "gather_tasks.h"
#include "message_of.h"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>

using namespace ppopt;
using namespace ppopt::runtime;
using comm::test::messageOf;
using nlohmann::json;

namespace {

void onRanks(const json &document, const ppopt_task_fn *tasks,
             const std::function<void(ppopt_rank &)> &body) {
  Program program = readProgram(document.dump());
  comm::runThreadRanks(int(program.plan.ranks()), [&](comm::Transport &t) {
    ppopt_rank rank(program, tasks, &t, {});
    body(rank);
  });
}

StepResult step(ppopt_rank &rank, bool poison = false) {
  ExecutorOptions options;
  options.checkPredicted = true;
  options.poison = poison;
  return runStep(rank, {}, options);
}

std::vector<double> chunkOfWeights(const ppopt_rank &rank) {
  std::vector<double> chunk;
  device::readPieces(*rank.device, rank.compute, rank.parameters[0].data,
                     8 * gather_tasks::chunkOf(&rank),
                     [&](const char *piece, int64_t, int64_t bytes) {
                       auto *data = reinterpret_cast<const double *>(piece);
                       chunk.insert(chunk.end(), data, data + bytes / 8);
                     });
  return chunk;
}

/// Ranks, elements of a chunk, seed of the fake device or -1.
using Case = std::tuple<int, int, int>;

class TaskCollectivesOn : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (std::get<2>(GetParam()) >= 0)
      settings =
          std::make_unique<device::FakeSettings>(std::get<2>(GetParam()));
  }
  int ranks() const { return std::get<0>(GetParam()); }
  int chunk() const { return std::get<1>(GetParam()); }

  /// Takes steps and checks loss, bytes and weights.
  void train(int steps, bool poison) const {
    onRanks(gather_tasks::program(ranks(), chunk()), gather_tasks::tasks,
            [&](ppopt_rank &rank) {
              gather_tasks::Expected expected(ranks(), chunk());
              for (int i = 0; i < steps; ++i) {
                EXPECT_EQ(step(rank, poison).loss, expected.step());
                auto own = expected.weights.begin() + rank.index * chunk();
                ASSERT_EQ(chunkOfWeights(rank),
                          std::vector<double>(own, own + chunk()))
                    << "rank " << rank.index << " step " << i;
              }
            });
  }

private:
  std::unique_ptr<device::FakeSettings> settings;
};
std::string nameOf(const testing::TestParamInfo<Case> &info) {
  auto [ranks, chunk, seed] = info.param;
  return fmt::format("{}_ranks{}_chunk{}",
                     seed < 0 ? "cpu" : fmt::format("fake{}", seed), ranks,
                     chunk);
}
INSTANTIATE_TEST_SUITE_P(All, TaskCollectivesOn,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(1, 5, 1152, 70001),
                                          testing::Values(-1, 1, 2)),
                         nameOf);

TEST_P(TaskCollectivesOn, GatherAndSum) { train(4, /*poison=*/false); }

} // namespace
