//===- serving.h - Drives a rank of asynchronous training -----------------===//
//
// The state machines of runtime/asynchronous decide, and this does what they
// ask for: messages, copies, updates (docs/asynchronous.md). There is no
// progress thread: it is part of the rank's background.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_SERVING_H
#define PPOPT_RUNTIME_EXECUTOR_SERVING_H

#include "asynchronous/rank_machines.h"
#include "comm/transport.h"
#include "executor/background.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::runtime {

/// The memory of a rank and its updates. A bucket has a chunk for each trainer,
/// its owner; all are of one size.
class ServedBuckets {
public:
  virtual ~ServedBuckets() = default;
  struct Bucket {
    size_t parameterBytes = 0, gradientBytes = 0; ///< of a chunk
  };
  virtual const std::vector<Bucket> &buckets() const = 0;
  /// The parameters that the step reads, and the gradients that it computes:
  /// the chunk of a trainer.
  virtual void *working(int bucket, int owner) = 0;
  virtual void *gradient(int bucket, int owner) = 0;
  /// The parameters that this rank owns.
  virtual void *master(int bucket) = 0;
  /// Where a gradient of another trainer arrives.
  virtual void *inbox(int trainer) = 0;
  /// Updates the master. `push` has clip scale and learning rate, and the
  /// number of this update as `version`, from 1.
  virtual void update(int bucket, const void *gradient,
                      const asynchronous::Message &push) = 0;
};

/// What each rank tells rank 0 of its steps, in memory of one size.
struct ServedReports {
  size_t bytes = 0;
  const void *none = nullptr; ///< where there is nothing to tell; is copied
  /// Called on rank 0, with the rank as the job numbers it.
  std::function<void(int rank, const void *report)> receive;
};

class Serving final : public BackgroundWork {
public:
  using Clock = std::chrono::steady_clock;

  /// Channels from `firstChannel` on, one per asynchronous::Link, are nobody
  /// else's. `jobRanks`: the ranks of the job, as `shape` numbers them.
  /// `transport` may be null if there is one rank. The run begins with ticket
  /// `first`, and each bucket contains `arrivals` updates.
  Serving(comm::Transport *transport, int firstChannel,
          const asynchronous::Shape &shape, std::vector<int> jobRanks,
          int jobRank, ServedBuckets &buckets, int64_t first, int64_t arrivals,
          ServedReports reports);
  /// Cancels what is in flight: destroy it before the buckets' memory.
  ~Serving() override;
  Serving(const Serving &) = delete;
  Serving &operator=(const Serving &) = delete;

  // Before the first round:
  /// Repeats a recorded run.
  void follow(const asynchronous::ReplayLog &log) { machines.follow(log); }
  /// Records what the rank does from now on.
  void record() { recorder.emplace(self, int(memory.buckets().size())); }

  /// Begins a round, which ends before ticket `end`. All ranks say the same.
  void beginRound(int64_t end);
  /// Returns what is recorded of the round that has ended.
  std::string takeRecord() { return recorder->takeLines(); }

  /// Does what can be done now, without blocking. Returns at once if it was
  /// just called, or is called from within an update. Throws RankFailure if a
  /// rank has failed, and std::logic_error if the protocol is broken.
  void progress() override;
  void progressBeforeBlocking() override;
  bool isPending() const override { return true; }
  /// Serves until `condition` holds; blocks while nothing arrives.
  template <typename Condition> void serveUntil(const Condition &condition) {
    block(
        [](const void *context) {
          return (*static_cast<const Condition *>(context))();
        },
        &condition);
  }
  /// Serves until the gradients of the last step have left: they may change.
  void waitForPushes() {
    serveUntil([this] { return pushesInFlight == 0; });
  }

  /// Call it in phase Computes, when the step's gradients are there. If they
  /// are not `good`, they are dropped. Rank 0 gets `report` with the next
  /// message.
  void computed(bool good, double clipScale, double learningRate,
                const void *report);
  /// Stops the run at the next agreement; 0: no signal.
  void signal(int32_t number) {
    if (number != 0)
      machines.signal(number);
  }

  asynchronous::Trainer::Phase phase() const {
    return machines.trainer().phase();
  }
  /// Of the step that is computed.
  int64_t ticket() const { return machines.trainer().ticket(); }
  const asynchronous::Staleness &staleness() const {
    return machines.trainer().staleness();
  }
  /// Of the step that is computed, in seconds.
  struct Waits {
    double ticket = 0;  ///< for rank 0
    double answers = 0; ///< for owners
    double held = 0;    ///< of these: because of the bound, or another update
  };
  Waits waits() const;
  /// The last agreement: `ticket` is where the round ended, `signal` not 0 if
  /// the run stops.
  const asynchronous::Message &agreement() const { return agreed; }
  /// Returns how many updates the bucket contains.
  int64_t version(int bucket) const {
    return machines.owner().arrivals(bucket);
  }
  uint64_t bytesBesideSteps() const override { return sentBytes; }

private:
  using Message = asynchronous::Message;
  using Link = asynchronous::Link;
  using Phase = asynchronous::Trainer::Phase;

  /// Receives the messages of one rank on one link.
  struct Port {
    Link link;
    int peer;    ///< as the machines number it
    int jobRank; ///< the same rank
    enum class Stage { Idle, Header, Data } stage = Stage::Idle;
    Message message;
    comm::Request request;
    std::vector<char> report;
  };
  /// A message that may not have left.
  struct Outgoing {
    bool isUsed = false, isPush = false;
    std::optional<int> answered; ///< the trainer that an Answer is to
    Message message;
    comm::Request header, data;
    std::vector<char> report;
  };

  void addPorts();
  bool pass();
  bool testSends();
  bool testReceives();
  void deliver(Port &port);
  void *dataOf(const Port &port, size_t &bytes);
  void perform(const asynchronous::Actions &actions);
  void send(const asynchronous::Action &action);
  void apply(const asynchronous::Action &action);
  void copy(const asynchronous::Action &action);
  void block(bool (*holds)(const void *), const void *context);
  void addWait(Phase phase, Clock::duration time);
  int findAwaited() const;
  void recordStep(bool good);

  comm::Transport *const transport;
  const int firstChannel;
  const asynchronous::Shape shape;
  const std::vector<int> jobRanks;
  const int self, trainer, member; ///< as the machines number them
  ServedBuckets &memory;
  const ServedReports reports;
  asynchronous::RankMachines machines;
  std::optional<asynchronous::Recorder> recorder;
  std::vector<Port> ports;
  std::vector<Outgoing> outgoing;
  std::vector<char> report; ///< for rank 0; `none` after it has left
  std::vector<Clock::time_point> pulledAt; ///< by trainer
  Message ownPush; ///< clip scale and rate of this rank's last step
  Message agreed;
  int pushesInFlight = 0;
  bool isBusy = false; ///< an update must not serve
  Clock::time_point last;
  Waits current;
  uint64_t sentBytes = 0;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_SERVING_H
