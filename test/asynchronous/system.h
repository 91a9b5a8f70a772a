//===- system.h - All ranks of a run, and the network between them --------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_SYSTEM_H
#define PPOPT_TEST_ASYNCHRONOUS_SYSTEM_H

#include "asynchronous/rank_machines.h"
#include "properties.h"
#include "run_record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::asynchronous::test {

/// What may happen next.
struct Event {
  enum class Kind : uint8_t {
    Arrive,  ///< the oldest message from `from` to `to` on `link`
    Leave,   ///< owner `from` sees that its answer `index` to `to` has left
    Compute, ///< rank `to` has computed its step
    Agree,   ///< rank `to` is done with what the agreement was for
    Signal,  ///< rank `to` gets a signal
  };
  Kind kind = Kind::Arrive;
  Link link = Link::ToMaster;
  int from = 0, to = 0; ///< ranks
  int index = 0;
};

/// A mistake that a test plants: around the machines, not in them. This one
/// makes none.
class Mistake {
public:
  virtual ~Mistake() = default;
  /// The bound that the machines are given.
  virtual std::optional<int64_t> bound(std::optional<int64_t> right) const {
    return right;
  }
  /// How often an update is done.
  virtual int applications(const Message &update) const { return 1; }
  /// An owner takes an answer for sent as soon as it sends it.
  virtual bool takesAnswersForSent() const { return false; }
  /// An owner goes on before it has updated the second half of a bucket.
  virtual bool leavesUpdatesHalf() const { return false; }
  /// How often the network delivers a message.
  virtual int deliveries(const Message &message) const { return 1; }
  /// Changes a message that is sent.
  virtual void change(Message &message) const {}
  /// A run that should repeat a recorded one does not know the record.
  virtual bool forgetsRecord() const { return false; }
};

/// A message on its way.
struct Flight {
  Message message;
  // Of an Answer: sender and receiver see that it is complete in any order.
  bool hasArrived = false, hasLeft = false;
  bool isRead = false; ///< `contents` are complete
  Contents contents;
};

/// Does events one at a time, in any order that the network allows: messages of
/// one sender, receiver and link arrive in order, all others in any order. A
/// rank sees what has arrived between any two of its own actions. `properties`
/// sees each event.
class System {
public:
  /// `repeated`: the run that this one repeats; null: none. `record`: where to
  /// write what happens; null: nowhere.
  System(const Scenario &scenario, const Mistake &mistake,
         const ReplayLog *repeated = nullptr, RunRecord *record = nullptr);

  /// See Properties.
  void shutEyes() { properties.shutEyes(); }

  /// Lists what may happen next.
  void listEvents(std::vector<Event> &events) const;
  /// Throws Violation, or std::logic_error of a machine.
  void perform(const Event &event);
  /// Throws Violation if the run is not over. Call it if there are no events.
  void expectOver() const { properties.ended(); }
  std::string describe(const Event &event) const;

  template <typename V, typename T> static void visitState(V &f, T &self) {
    Properties::visitState(f, self.properties);
    for (auto &rank : self.ranks) {
      RankMachines::visitState(f, rank.machines);
      f(rank.round);
      f(rank.agreement.ticket);
      f(rank.agreement.signal);
      f(rank.agrees);
      f(rank.isOver);
      f(rank.gradient);
      f(rank.inbox);
      f(rank.half);
      for (auto &bucket : rank.memory)
        self.visitContents(f, bucket);
    }
    f(self.signalled);
    for (size_t used : self.usedQueues)
      f.list(self.queues[used], [&](auto &flight) {
        f(flight.message);
        if (flight.message.kind != Message::Kind::Answer)
          return;
        f(flight.hasArrived);
        f(flight.hasLeft);
        f(flight.isRead);
        self.visitContents(f, flight.contents);
      });
  }

private:
  struct Rank {
    explicit Rank(RankMachines machines) : machines(std::move(machines)) {}

    RankMachines machines;
    size_t round = 0;
    bool agrees = false; ///< and is not yet done with it
    Message agreement;
    bool isOver = false;          ///< it takes part in no further round
    int64_t gradient = -1;        ///< the step that its gradients are of
    std::vector<int64_t> inbox;   ///< by trainer: the step of the last push
    std::vector<Contents> memory; ///< by bucket
    /// Bucket, trainer and step of updates whose second half is missing.
    std::vector<int64_t> half;
    /// For the record: of the last pull, by owner and bucket.
    std::vector<std::vector<uint64_t>> digests;
  };
  using Queue = std::vector<Flight>;

  template <typename V, typename T>
  void visitContents(V &f, T &contents) const {
    for (auto &half : contents.halves)
      for (int trainer = 0; trainer < shape.trainers; ++trainer)
        f(half[trainer]);
  }

  Queue &queue(Link link, int from, int to) {
    return queues[indexOf(link, from, to)];
  }
  const Queue &queue(Link link, int from, int to) const {
    return queues[indexOf(link, from, to)];
  }
  size_t indexOf(Link link, int from, int to) const;
  int peerOf(Link link, int from) const;

  void arrive(const Event &event);
  void leave(const Event &event);
  void read(int owner, Flight &flight);
  void perform(int rank, const Actions &actions);
  void send(int rank, const Action &action);
  void apply(int rank, const Action &action);
  void update(Contents &bucket, int half, int trainer, int64_t step) const;
  void finishUpdates(int rank);
  void answer(int rank, int trainer, const Message &message);
  void pull(int rank, int owner, const Message &message,
            const Contents &contents);
  void writeStep(int rank, bool isGood);
  void expectNoReceives(int rank) const;
  bool isQuiet() const;
  bool mayCompute(int rank) const;
  void beginRound(int rank);

  const Scenario &scenario;
  const Shape &shape;
  const Mistake &mistake;
  RunRecord *const record;
  Properties properties;
  std::vector<Rank> ranks;
  std::vector<Queue> queues;
  std::vector<size_t> usedQueues; ///< those that the protocol has
  bool signalled = false;
};

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_SYSTEM_H
