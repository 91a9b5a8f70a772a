//===- Goodput.h - Failures and slow ranks, and what they cost ------------===//

#ifndef PPOPT_SCHEDULE_GOODPUT_H
#define PPOPT_SCHEDULE_GOODPUT_H

#include "ppopt/Schedule/StageGraph.h"

#include <optional>

namespace ppopt::schedule {

/// Failures of a job, and what it does about them. Failures come at a constant
/// rate, also during checkpoints and restarts; each takes the job back to its
/// last checkpoint. Times are in any one unit.
struct Failures {
  double meanTime = 0;   ///< between two failures of the job
  double checkpoint = 0; ///< training stands still to save
  double restart = 0;    ///< from a failure until training goes on
};

/// Returns the expected share of time in which a job makes progress that is not
/// lost, if it saves each time after it has worked for `interval`.
double getUsefulShare(const Failures &failures, double interval);

/// Returns the interval with the largest useful share.
double findBestInterval(const Failures &failures);

/// The best interval of whole steps.
struct CheckpointInterval {
  double steps = 1;
  double usefulShare = 0;
};
CheckpointInterval findBestInterval(const Failures &failures, double step);

/// Returns the mean time between failures with which the best interval of whole
/// steps has this useful share, which must be below 1.
double findMeanTime(Failures failures, double step, double usefulShare);

/// A place one rank of which works slowly. All ranks of its row of the
/// schedule wait for it.
struct SlowPlace {
  int place = 0;
  double factor = 1; ///< its work takes so many times as long

  double getFactor(int of) const { return of == place ? factor : 1; }
};

/// Returns the graph with the slow place's stages. What they wait for
/// collectives takes as long as before.
StageGraph slowDown(StageGraph graph, const SlowPlace &slow);

/// Trainers that compute steps beside each other, one of which is slow.
struct SlowTrainer {
  int64_t trainers = 1;
  double step = 0, slowStep = 0; ///< the times of their steps
  /// By how many steps the others may be ahead; unlimited if there is none.
  std::optional<int64_t> bound;

  /// Returns the steps of all trainers per unit of time, in the long run.
  double getRate() const;
  /// Returns which of their steps, counted from 0 where all begin together, is
  /// the first that the others wait with; nothing if they never wait.
  std::optional<int64_t> getFirstWait() const;
};

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_GOODPUT_H
