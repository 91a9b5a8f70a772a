//===- ActionListBuilder.h - Schedules as lists of actions ----------------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_ACTIONLISTBUILDER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_ACTIONLISTBUILDER_H

#include "ScheduleIndex.h"

#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Schedule/Rendezvous.h"

#include <map>

namespace mlir::pp {

/// Fills the lists of actions that the proof of progress is about, from the
/// schedules of all places.
class ActionListBuilder {
public:
  /// With `oneQueue` all communication of a rank is in one queue, else in that
  /// of its ends or group. `times` (may be null) has the times of runs; without
  /// it they are 0.
  ActionListBuilder(const ScheduleIndex &index, bool oneQueue,
                    const TaskTimes *times = nullptr)
      : index(index), oneQueue(oneQueue), times(times), places(index.places) {
    lists.ranks.resize(places);
    ops.resize(places);
  }

  /// Adds the next round of a schedule's places. Reports a channel that belongs
  /// to two groups.
  LogicalResult add(ScheduleOp schedule, int64_t round);
  /// Waits at the end for what is in flight.
  void finish();
  const ::ppopt::schedule::ActionLists &get() const { return lists; }
  /// Returns the op of each action of a place: of a collective inside a task
  /// the run; null for the waits of finish().
  ArrayRef<Operation *> getOps(int64_t place) const { return ops[place]; }

private:
  int getTransfer(const StepCopy &copy, int64_t microbatch, int64_t round);
  FailureOr<int> getCollective(StartOp start, int64_t round);
  void add(int64_t place, Operation *op, ::ppopt::schedule::RankAction action);
  int addCommunication(int queue, std::vector<int> ranks, std::string text);
  LogicalResult addRun(RunOp run);
  void addCopy(Operation *op, const StepCopy &copy, int64_t microbatch,
               int64_t round);
  LogicalResult checkAllStarted(WaitOp wait, int number, ScheduleOp schedule);
  LogicalResult checkChannel(Operation *op, GroupAttr group, int64_t channel);

  const ScheduleIndex &index;
  const bool oneQueue;
  const TaskTimes *times;
  DenseMap<Operation *, double> timeOf; ///< by task
  int64_t places;
  ::ppopt::schedule::ActionLists lists;
  SmallVector<SmallVector<Operation *>> ops; ///< by place
  /// Which places have started which communications.
  DenseSet<std::pair<int64_t, int>> startedOn;
  /// By the copy, the microbatch and the round.
  std::map<std::tuple<int64_t, int64_t, int64_t>, int> transfers;
  /// By the value, the group, the kind, whether it is of shards, the place if
  /// the group has only one, and the round.
  std::map<std::tuple<const void *, const void *, ::ppopt::geometry::Collective,
                      bool, int64_t, int64_t>,
           int>
      collectives;
  /// The first that uses a channel, and its group.
  DenseMap<int64_t, std::pair<Operation *, GroupAttr>> firstOnChannel;
  /// What is in flight when a round ends, by place and the token's number.
  std::map<std::pair<int64_t, int64_t>, int> carried;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_ACTIONLISTBUILDER_H
