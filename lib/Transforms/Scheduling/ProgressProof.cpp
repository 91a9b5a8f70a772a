//===- ProgressProof.cpp - No rank of the schedules waits forever ---------===//
//
// The ranks of a place differ only in their other coordinates. They run one
// table, their transfers go to ranks with the same coordinates, and each
// collective includes all of them or one of each place. So all ranks of a place
// can do at a moment what one of them can, and a sum over dp is complete when
// the one rank that represents the place has started it. The proof therefore
// uses one rank per place, numbered as the place.
//
// A collective inside a task is over ranks of one place, which run the task's
// collectives in one order.
//
// A local schedule is taken apart into the actions of each place.
//
// Steps that carry gathers over to what follows are proved in rounds, one after
// the other: a step, the step after it, an evaluation, another one. Each begins
// with all gathers in flight, or with none (the first, and after an
// evaluation), so these rounds are all cases. The end waits for them too.
//
//===----------------------------------------------------------------------===//

#include "ProgressProof.h"

#include "ppopt/Schedule/Rendezvous.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace schedule = ppopt::schedule;

namespace {

/// Fills the lists that the proof is about.
class ListBuilder {
public:
  explicit ListBuilder(const ScheduleIndex &index)
      : index(index), places(index.places) {
    lists.ranks.resize(places);
  }

  /// Adds the next round of a schedule's places.
  LogicalResult add(ScheduleOp schedule, int64_t round);
  /// Waits at the end for what is in flight.
  void finish();
  const schedule::ActionLists &get() const { return lists; }

private:
  int getTransfer(TransferOp transfer, int64_t microbatch, int64_t round);
  FailureOr<int> getCollective(StartOp start, int64_t round);
  LogicalResult addRun(RunOp run);
  LogicalResult checkChannel(Operation *op, GroupAttr group, int64_t channel);

  const ScheduleIndex &index;
  int64_t places;
  schedule::ActionLists lists;
  /// By the transfer, the microbatch and the round.
  std::map<std::tuple<Operation *, int64_t, int64_t>, int> transfers;
  /// By the value, the group, the kind, whether it is of shards, the place if
  /// the group has only one, and the round.
  std::map<std::tuple<const void *, const void *, ppopt::geometry::Collective,
                      bool, int64_t, int64_t>,
           int>
      collectives;
  /// The first that uses a channel, and its group.
  DenseMap<int64_t, std::pair<Operation *, GroupAttr>> firstOnChannel;
  /// What is in flight when a round ends, by place and id.
  std::map<std::pair<int64_t, int64_t>, int> carried;
};

/// Returns the number of a transfer; one queue per ordered pair of places.
int ListBuilder::getTransfer(TransferOp transfer, int64_t microbatch,
                             int64_t round) {
  auto [it, isNew] = transfers.try_emplace({transfer, microbatch, round},
                                           lists.communications.size());
  if (isNew) {
    int from = transfer.getFrom(), to = transfer.getTo();
    std::string text = "@" + transfer.getSymName().str() + " (" +
                       transfer.getValue().str() + ") of microbatch " +
                       std::to_string(microbatch) + ", place " +
                       std::to_string(from) + " to " + std::to_string(to);
    lists.communications.push_back(
        {{from, to}, static_cast<int>(from * places + to), std::move(text)});
  }
  return it->second;
}

/// Checks that a channel belongs to one group; channel 0 is for transfers.
LogicalResult ListBuilder::checkChannel(Operation *op, GroupAttr group,
                                        int64_t channel) {
  if (channel == 0)
    return op->emitOpError("is on channel 0, which is for transfers");
  auto [it, isNew] = firstOnChannel.insert({channel, {op, group}});
  if (isNew || it->second.second == group)
    return success();
  InFlightDiagnostic diag = op->emitOpError("is on channel ")
                            << channel << ", which belongs to another group";
  diag.attachNote(it->second.first->getLoc()) << "that group's start is here";
  return diag;
}

/// Adds a run, and what its task starts and waits for. Each is waited for at
/// once here: a task that waits later waits for less.
LogicalResult ListBuilder::addRun(RunOp run) {
  using schedule::RankAction;
  int64_t place = index.uses.getPlace(run);
  std::vector<RankAction> &actions = lists.ranks[place];
  std::string text = "@" + run.getTask().str() + " on microbatch " +
                     std::to_string(run.getMicrobatch());
  actions.push_back({RankAction::Run, -1, text});
  TaskOp task = index.uses.getTask(run);
  for (TaskCollectiveAttr collective : task.getCollectiveList()) {
    if (failed(
            checkChannel(task, collective.getGroup(), collective.getChannel())))
      return failure();
    int number = lists.communications.size();
    schedule::Communication communication;
    communication.queue = places * places + collective.getChannel();
    communication.ranks = {int(place)};
    llvm::raw_string_ostream(communication.text)
        << "the "
        << ppopt::geometry::wordOf(collective.getCollective().getKind())
        << " of '" << collective.getWhat() << "' in " << text;
    lists.communications.push_back(std::move(communication));
    actions.push_back({RankAction::Start, number, ""});
    actions.push_back({RankAction::Wait, number, ""});
  }
  return success();
}

/// Returns the number of a collective. The queues of channels come after those
/// of transfers, one per channel.
FailureOr<int> ListBuilder::getCollective(StartOp start, int64_t round) {
  if (failed(checkChannel(start, start.getGroup(), start.getChannel())))
    return failure();
  int64_t place = SlotUses::getPlace(start);
  std::vector<int64_t> members =
      index.mesh.placesOf(start.getGroup().getGeometry(), place);
  bool spansPlaces = members.size() > 1;
  auto key =
      std::make_tuple(start.getWhat().getAsOpaquePointer(),
                      start.getGroup().getAsOpaquePointer(), start.getKind(),
                      start.getShard(), spansPlaces ? -1 : place, round);
  auto [it, isNew] = collectives.try_emplace(key, lists.communications.size());
  if (!isNew)
    return it->second;
  schedule::Communication communication;
  communication.queue = places * places + start.getChannel();
  communication.ranks.assign(members.begin(), members.end());
  llvm::raw_string_ostream(communication.text)
      << "the " << ppopt::geometry::wordOf(start.getKind()) << " of "
      << start.getWhat();
  lists.communications.push_back(std::move(communication));
  return it->second;
}

LogicalResult ListBuilder::add(ScheduleOp schedule, int64_t round) {
  using schedule::RankAction;
  struct Started {
    int64_t place = 0;
    int communication = 0;
  };
  std::map<int64_t, Started> started; // by id
  auto add = [&](int64_t place, RankAction action) {
    lists.ranks[place].push_back(std::move(action));
  };
  auto start = [&](int64_t id, int64_t place, int communication) {
    started[id] = {place, communication};
    add(place, {RankAction::Start, communication, ""});
  };
  const SlotUses &uses = index.uses;
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      if (failed(addRun(run)))
        return failure();
    } else if (auto send = dyn_cast<SendOp>(action)) {
      start(send.getId(), uses.getPlace(send),
            getTransfer(uses.getTransfer(send.getTransferAttr()),
                        send.getMicrobatch(), round));
    } else if (auto recv = dyn_cast<RecvOp>(action)) {
      start(recv.getId(), uses.getPlace(recv),
            getTransfer(uses.getTransfer(recv.getTransferAttr()),
                        recv.getMicrobatch(), round));
    } else if (auto collective = dyn_cast<StartOp>(action)) {
      FailureOr<int> number = getCollective(collective, round);
      if (failed(number))
        return failure();
      start(collective.getId(), SlotUses::getPlace(collective), *number);
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      int64_t id = wait.getId();
      if (!wait.getCarried()) {
        add(started[id].place,
            {RankAction::Wait, started[id].communication, ""});
        started.erase(id);
      } else if (auto found = carried.find({schedule.getPlace(), id});
                 found != carried.end()) {
        add(schedule.getPlace(), {RankAction::Wait, found->second, ""});
        carried.erase(found);
      }
    }
  }
  for (auto &[id, each] : started)
    carried[{each.place, id}] = each.communication;
  return success();
}

void ListBuilder::finish() {
  for (auto &[key, communication] : carried)
    lists.ranks[key.first].push_back(
        {schedule::RankAction::Wait, communication, ""});
}

/// Returns whether a schedule waits for what an earlier one has started.
bool isCarried(ScheduleOp schedule) {
  return llvm::any_of(schedule.getOps<WaitOp>(),
                      [](WaitOp wait) { return wait.getCarried(); });
}

/// Proves rounds that follow one another.
LogicalResult prove(ArrayRef<ArrayRef<ScheduleOp>> rounds, StringRef what,
                    const ScheduleIndex &index) {
  ListBuilder builder(index);
  for (auto [round, schedules] : llvm::enumerate(rounds))
    for (ScheduleOp schedule : schedules)
      if (failed(builder.add(schedule, round)))
        return failure();
  builder.finish();
  std::string wrong = schedule::proveProgress(builder.get());
  if (wrong.empty())
    return success();
  PlanOp plan = index.plan;
  return mlir::emitError(plan.getLoc())
         << "the " << what
         << "schedules of the places do not fit together (rank N stands for "
         << (plan.getLaunch() == Launch::local ? "" : "all of ")
         << "place N): " << wrong;
}

} // namespace

LogicalResult pp::proveSchedules(ArrayRef<ScheduleOp> training,
                                 ArrayRef<ScheduleOp> evaluation,
                                 const ScheduleIndex &index) {
  if (llvm::any_of(training, isCarried))
    return prove({training, training, evaluation, evaluation, training}, "",
                 index);
  return success(succeeded(prove(training, "", index)) &&
                 succeeded(prove(evaluation, "evaluation's ", index)));
}
