//===- communicator_test.cpp - A communicator of another kind -------------===//
//
// The executor knows communicators by their interface alone: with this one, of
// which it has never heard, programs compute what they do with the runtime's.
// Ranks leave copies of their data on a board, and whoever waits takes the
// copies of all members and computes the result.
//
//===----------------------------------------------------------------------===//

#include "executor/communicator.h"

#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "gather_program.h"
#include "gather_tasks.h"
#include "host_at.h"
#include "pipeline_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>

using namespace ppopt;
using namespace ppopt::runtime;
using device::DevicePointer;
using geometry::Collective;

namespace {

using Numbers = std::vector<double>;
/// Channel, members, and which of their operations it is.
using Key = std::tuple<int, std::vector<int>, int64_t>;

class Board {
public:
  void put(const Key &key, int member, Numbers numbers) {
    std::lock_guard<std::mutex> guard(lock);
    parts[key][member] = std::move(numbers);
    isNew.notify_all();
  }
  /// Blocks until so many members have put theirs.
  std::map<int, Numbers> take(const Key &key, size_t members) {
    std::unique_lock<std::mutex> guard(lock);
    isNew.wait(guard, [&] { return parts[key].size() == members; });
    return parts[key];
  }

private:
  std::mutex lock;
  std::condition_variable isNew;
  std::map<Key, std::map<int, Numbers>> parts;
};

class BoardCommunicator final : public Communicator {
public:
  BoardCommunicator(const CommunicatorSettings &settings, Board &board)
      : mesh(settings.program.plan.getMesh()), board(board) {}

  int define(const CollectivePart &part) override {
    if (part.type != comm::ElementType::F64)
      throw std::invalid_argument("a board has f64 only");
    Operation operation;
    operation.group = mesh.members(part.group, part.rank);
    operation.channel = part.channel;
    operation.kind = part.kind;
    operation.elements = part.elements;
    operation.in = operation.out = static_cast<double *>(part.data);
    return add(operation);
  }
  int define(const TransferEnd &end) override {
    Operation operation;
    int from = end.sends ? end.rank : end.peer;
    operation.group.ranks = {from, end.sends ? end.peer : end.rank};
    operation.group.position = end.sends ? 0 : 1;
    operation.channel = end.channel;
    operation.isTransfer = true;
    operation.elements = int64_t(end.bytes / sizeof(double));
    operation.in = operation.out = static_cast<double *>(end.data);
    return add(operation);
  }
  void open(int) override {}

  std::optional<int64_t> start(int operation) override {
    Operation &started = operations.at(size_t(operation));
    auto [begin, end] = chunkOf(started);
    put(started, started.in, started.kind == Collective::AllGather ? begin : 0,
        started.kind == Collective::AllGather ? end : started.elements);
    started.isWhole = true;
    return std::nullopt;
  }
  Copied start(int operation, DevicePointer in, DevicePointer out,
               DevicePointer) override {
    Operation &started = operations.at(size_t(operation));
    auto [begin, end] = chunkOf(started);
    started.out = static_cast<double *>(out.opaque());
    put(started, static_cast<double *>(in.opaque()), 0,
        started.kind == Collective::AllGather ? end - begin : started.elements);
    started.isWhole = false;
    return {};
  }
  Copied wait(int operation) override {
    Operation &ended = operations.at(size_t(operation));
    if (!ended.isStarted)
      throw std::logic_error("nothing is in flight");
    ended.isStarted = false;
    if (ended.isTransfer && ended.group.position == 0)
      return {};
    size_t parts = ended.isTransfer ? 1 : ended.group.ranks.size();
    Numbers result = combine(ended, board.take(ended.key, parts));
    if (ended.kind != Collective::ReduceScatter || ended.isTransfer) {
      std::copy(result.begin(), result.end(), ended.out);
      return {};
    }
    auto [begin, end] = chunkOf(ended);
    std::copy(result.begin() + begin, result.begin() + end,
              ended.out + (ended.isWhole ? begin : 0));
    return {};
  }
  bool isStarted(int operation) const override {
    return operations.at(size_t(operation)).isStarted;
  }
  void waitForAll() override {
    for (size_t number = 0; number < operations.size(); ++number)
      if (operations[number].isStarted)
        wait(int(number));
  }
  void synchronize(bool) override {}
  void observe(comm::OperationObserver *) override {}
  int64_t bytesStarted() const override { return 0; }

private:
  struct Operation {
    geometry::Members group; ///< of a transfer: sender and receiver
    int channel = 0;
    bool isTransfer = false, isStarted = false;
    bool isWhole = false; ///< memory of the whole, in place
    Collective kind = Collective::AllReduce;
    int64_t elements = 0;
    double *in = nullptr, *out = nullptr;
    Key key;
  };
  int add(const Operation &operation) {
    operations.push_back(operation);
    return int(operations.size()) - 1;
  }
  static std::pair<int64_t, int64_t> chunkOf(const Operation &of) {
    int64_t n = of.group.size(), i = of.group.position;
    return {geometry::chunkBegin(of.elements, n, i),
            geometry::chunkBegin(of.elements, n, i + 1)};
  }
  void put(Operation &operation, const double *from, int64_t begin,
           int64_t end) {
    if (operation.isStarted)
      throw std::logic_error("the operation is in flight");
    operation.isStarted = true;
    // All members count the same starts.
    int64_t &count = counts[{operation.channel, operation.group.ranks}];
    operation.key = {operation.channel, operation.group.ranks, count++};
    if (!operation.isTransfer || operation.group.position == 0)
      board.put(operation.key, operation.group.position,
                Numbers(from + begin, from + end));
  }
  static Numbers combine(const Operation &of,
                         const std::map<int, Numbers> &parts) {
    Numbers result;
    for (const auto &[member, part] : parts) {
      if (of.kind == Collective::AllGather)
        result.insert(result.end(), part.begin(), part.end());
      else if (result.empty())
        result = part; // of a transfer or a broadcast: the only one that counts
      else if (geometry::reduces(of.kind))
        std::transform(part.begin(), part.end(), result.begin(), result.begin(),
                       std::plus<double>());
    }
    return result;
  }

  const geometry::Mesh mesh;
  Board &board;
  std::vector<Operation> operations;
  std::map<std::pair<int, std::vector<int>>, int64_t> counts;
};

void onRanks(const nlohmann::json &document, const ppopt_task_fn *tasks,
             const std::function<void(ppopt_rank &)> &body) {
  Program program = readProgram(document.dump());
  Board board;
  RankOptions options;
  options.communicator = [&](const CommunicatorSettings &settings) {
    return std::make_unique<BoardCommunicator>(settings, board);
  };
  comm::runThreadRanks(int(program.plan.ranks()), [&](comm::Transport &t) {
    ppopt_rank rank(program, tasks, &t, options);
    body(rank);
    t.barrier();
  });
}

TEST(AnotherCommunicator, RunsCollectivesOfTasks) {
  for (int ranks : {1, 2, 3})
    onRanks(gather_tasks::program(ranks, 5), gather_tasks::tasks,
            [&](ppopt_rank &rank) {
              gather_tasks::Expected expected(ranks, 5);
              for (int i = 0; i < 4; ++i) {
                EXPECT_EQ(runEvaluation(rank, {}, {}).loss, expected.loss());
                EXPECT_EQ(runStep(rank, {}, {}).loss, expected.loss());
                expected.update();
              }
            });
}

TEST(AnotherCommunicator, RunsWhatStepsLeaveInFlight) {
  onRanks(gather_program::program(3), gather_program::tasks,
          [](ppopt_rank &rank) {
            double all = 3 * gather_program::shard;
            int gather = int(rank.places.actions.back().operation);
            for (int i = 0; i < 4; ++i) {
              EXPECT_EQ(runStep(rank, {}, {}).loss, i * all);
              EXPECT_TRUE(rank.communicator->isStarted(gather));
              if (i == 1)
                finishSteps(rank);
              else
                EXPECT_EQ(runEvaluation(rank, {}, {}).loss, (i + 1) * all);
              EXPECT_FALSE(rank.communicator->isStarted(gather));
            }
          });
}

/// Losses of three steps of a model on two places, with the runtime's own
/// communicator and with this one.
TEST(AnotherCommunicator, RunsTransfers) {
  namespace pipeline = next_token_pipeline;
  auto train = [](ppopt_rank &rank) {
    for (const Buffer &input : rank.places.inputs) {
      auto *ids = reinterpret_cast<int32_t *>(hostAt(rank, input.data));
      for (int i = 0; i < next_token::rows * next_token::width; ++i)
        ids[i] = i * 37 % 256;
    }
    initializeParameters(rank, 1);
    Numbers losses;
    for (int64_t step = 0; step < 3; ++step) {
      StepSettings settings;
      settings.learningRate = 0.1;
      settings.step = settings.updates = step;
      losses.push_back(runStep(rank, settings, {}).loss);
    }
    return losses;
  };
  nlohmann::json document = pipeline::program(1, 3);
  const ppopt_task_fn *tasks = pipeline::Tasks<1, 3>::list;
  Numbers expected[2], losses[2];
  onRanks(document, tasks,
          [&](ppopt_rank &rank) { losses[rank.index] = train(rank); });
  Program program = readProgram(document.dump());
  comm::runThreadRanks(2, [&](comm::Transport &t) {
    ppopt_rank rank(program, tasks, &t, {});
    expected[rank.index] = train(rank);
  });
  EXPECT_NE(expected[0][2], expected[0][0]);
  for (int rank : {0, 1})
    EXPECT_EQ(losses[rank], expected[rank]);
}

//===----------------------------------------------------------------------===//
// What progresses meanwhile
//===----------------------------------------------------------------------===//

struct CountedWork : BackgroundWork {
  void progress() override { ++between; }
  void progressBeforeBlocking() override { ++blocking; }
  bool isPending() const override { return false; }

  int between = 0, blocking = 0;
};

/// Rank 1 is late, so that rank 0 blocks. Two tasks launch a kernel each.
TEST(Background, ProgressesBetweenLaunchesAndInWaits) {
  Program program = readProgram(gather_program::program(2).dump());
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, gather_program::tasks, &transport, {});
    runStep(rank, {}, {});
    if (rank.index == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CountedWork work;
    rank.background.add(work);
    runStep(rank, {}, {});
    rank.background.remove(work);
    EXPECT_EQ(work.between, 2);
    EXPECT_GE(work.blocking, 1);
    int before = work.blocking;
    runStep(rank, {}, {});
    finishSteps(rank);
    EXPECT_EQ(work.between, 2);
    EXPECT_EQ(work.blocking, before);
  });
}

} // namespace
