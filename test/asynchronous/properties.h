//===- properties.h - What must hold of every trace of events -------------===//
//
// Stated from what is seen outside of the state machines: which tickets ranks
// begin, what the memory of a bucket contains, what is read from it. Knows
// nothing of how owners and trainers work.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_PROPERTIES_H
#define PPOPT_TEST_ASYNCHRONOUS_PROPERTIES_H

#include "asynchronous/rank_machines.h"

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ppopt::asynchronous::test {

/// A run to explore.
struct Scenario {
  Shape shape;
  std::vector<int64_t> rounds;   ///< the ticket before which each ends
  std::vector<int64_t> bad = {}; ///< tickets whose gradients are not finite
  bool hasSignal = false; ///< the last rank may receive a signal, at any time

  bool isBad(int64_t ticket) const;
};

/// Thrown when a trace breaks a property; says which.
class Violation : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int mostTrainers = 8;

/// What half of a bucket contains of this round: by trainer, the last step
/// whose update it has, plus one.
using Half = std::array<int16_t, mostTrainers>;
/// A bucket's memory. An update and a transfer are not one moment: each does
/// the first half at its beginning and the second at its end.
struct Contents {
  Half halves[2] = {};
  /// Of all updates of the run in their order. Recorded, but no part of a
  /// state: it follows from the past and decides nothing.
  uint64_t digests[2] = {1, 1};

  uint64_t digest() const { return digests[0] * 3 + digests[1]; }
};

class Properties {
public:
  /// `record`: of the run that this one must repeat; null: any run will do.
  Properties(const Scenario &scenario, const ReplayLog *record);

  /// From now on nothing is a violation: something else looks at the run.
  void shutEyes() { isBlind = true; }

  // Events. Each throws Violation.

  /// A rank begins to compute a step, on what it has pulled.
  void began(int rank, int64_t step, int64_t ticket);
  /// `contents` of a bucket have arrived in the working copy of a rank, which
  /// pulls for its step `step`.
  void pulled(int rank, int owner, int bucket, int64_t step,
              const Contents &contents);
  /// A push of a trainer has arrived at another trainer's rank.
  void arrived(int owner, int bucket, int trainer);
  /// An owner adds the gradient of a trainer's step to `half` of a bucket,
  /// which contains `has`. `pushed` is the step that it takes the gradient for.
  void applies(int owner, int bucket, int trainer, int64_t step, int64_t pushed,
               const Half &has);
  /// An owner begins to send a bucket to a trainer that pulls for `step`.
  void answers(int owner, int bucket, int trainer, int64_t step);
  /// Rank 0 knows of a signal.
  void stops(int64_t handedOut);
  /// A rank has reached an agreement after `tickets` tickets. `quiet`: no pull,
  /// push or answer is under way, here or between ranks. `contents` are of all
  /// buckets of this rank, and `arrivals` the updates that it counts in them.
  void agreed(int rank, int64_t tickets, int32_t signal, bool quiet,
              const std::vector<Contents> &contents,
              const std::vector<int64_t> &arrivals);
  /// Nothing more can happen.
  void ended() const;

  /// Returns whether all ranks have agreed on this round: what they contain
  /// counts anew.
  bool isRoundOver() const { return agreements == 0; }

  template <typename V, typename T> static void visitState(V &f, T &self) {
    f(self.round);
    f(self.begin);
    f(self.agreements);
    f(self.agreedOn);
    f(self.limit);
    f(self.isOver);
    f(self.begun);
    for (auto &trainer : self.trainers) {
      f(trainer.tickets);
      f(trainer.badSteps);
    }
    for (auto &rank : self.ranks) {
      f(rank.begun);
      f(rank.pulledFor);
      f(rank.followed);
      f(rank.arrived);
    }
  }

private:
  struct TrainerState {
    /// Of steps with an even and an odd number: ranks of a trainer are at most
    /// one step apart.
    std::vector<int64_t> tickets;
    std::vector<bool> badSteps;
  };
  struct RankState {
    int64_t begun = 0; ///< steps
    int64_t pulledFor =
        -1; ///< the largest step that it has pulled a bucket for
    std::vector<size_t> followed; ///< by own bucket: entries of the record
    /// Bucket and trainer of pushes that wait, in the order of arrival.
    std::vector<int> arrived;
  };

  void fail(const std::string &what) const;
  bool isBadStep(int trainer, int64_t step) const;
  int64_t lastGoodStep(int trainer, int64_t before) const;
  void endRound(int64_t tickets, int32_t signal);
  void resetRound();
  void follow(OrderEntry::Kind kind, int owner, int bucket, int trainer,
              int64_t step);

  const Scenario &scenario;
  const ReplayLog *const record;
  const Shape &shape;
  size_t round = 0;
  int64_t begin = 0;     ///< the round's first ticket
  int agreements = 0;    ///< ranks that have agreed on this round
  int64_t agreedOn = -1; ///< what the first of them said
  int64_t limit = -1;    ///< tickets from here on come after a signal
  bool isOver = false;   ///< the run
  bool isBlind = false;
  std::vector<bool> begun; ///< tickets of the round
  std::vector<TrainerState> trainers;
  std::vector<RankState> ranks;
};

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_PROPERTIES_H
