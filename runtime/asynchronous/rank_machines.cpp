//===- rank_machines.cpp - The protocol of one rank -----------------------===//

#include "asynchronous/rank_machines.h"

#include "asynchronous/expect.h"

#include <algorithm>
#include <utility>

namespace ppopt::asynchronous {

namespace {

/// Returns the buckets of the owners that a member exchanges data with.
std::vector<int> bucketsOf(const Shape &shape, int member) {
  std::vector<int> buckets;
  for (int trainer = 0; trainer < shape.trainers; ++trainer)
    buckets.push_back(shape.buckets[shape.rankOf(trainer, member)]);
  return buckets;
}

} // namespace

RankMachines::RankMachines(const Shape &ranks, int rank, int64_t first,
                           int64_t arrivals)
    : shape(ranks), rank(rank), self(shape.trainerOf(rank)),
      member(shape.memberOf(rank)), theTrainer(self, bucketsOf(shape, member)),
      theOwner(shape.trainers, shape.buckets[rank], shape.bound, arrivals) {
  if (rank == 0) {
    master.emplace(shape.trainers, shape.members, first);
    agreement.emplace(shape.ranks());
  }
  std::vector<int> buckets = bucketsOf(shape, member);
  int most = *std::max_element(buckets.begin(), buckets.end());
  own.reserve(most + 2);
  // The most that one event causes: the pushes of a step, the pulls of the next
  // and what this owner does with its own; an answer and an update for each of
  // its buckets and trainers; on rank 0 a message to each rank.
  size_t actions = 8 + shape.ranks();
  for (int count : buckets)
    actions += count + 2;
  actions += shape.trainers * 2 * (shape.buckets[rank] + 2);
  asked.reserve(actions);
  out.reserve(actions);
}

void RankMachines::follow(const ReplayLog &log) {
  std::vector<std::vector<BucketOrder>> orders;
  for (const RecordedRound &round : log.rounds)
    orders.push_back(round.orders[rank]);
  theOwner.follow(std::move(orders));
  if (!master)
    return;
  std::vector<std::vector<int64_t>> tickets(shape.trainers);
  for (const RecordedRound &round : log.rounds)
    for (int trainer = 0; trainer < shape.trainers; ++trainer)
      for (const StepRecord &step : round.steps[shape.rankOf(trainer, 0)])
        tickets[trainer].push_back(step.ticket);
  master->follow(std::move(tickets), log.end());
}

const Actions &RankMachines::beginRound(int64_t end) {
  out.clear();
  theOwner.beginRound();
  if (master) {
    agreement->beginRound();
    master->beginRound(end, asked);
  }
  theTrainer.beginRound(asked);
  return route();
}

bool RankMachines::accepts(Link link, int peer) const {
  switch (link) {
  case Link::ToMaster:
    return peer != rank && agreement && agreement->awaits(peer);
  case Link::FromMaster:
    return rank != 0 && peer == 0 && theTrainer.awaitsMaster();
  case Link::ToOwner:
    return peer != self && theOwner.accepts(peer);
  case Link::FromOwner:
    return peer != self && theTrainer.awaitsAnswer(peer);
  }
  return false;
}

const Actions &RankMachines::receive(Link link, int peer,
                                     const Message &message) {
  out.clear();
  switch (link) {
  case Link::ToMaster:
    toMaster(peer, message);
    break;
  case Link::FromMaster:
    toSelf(message);
    break;
  case Link::ToOwner:
    theOwner.receive(peer, message, asked);
    break;
  case Link::FromOwner:
    theTrainer.answered(peer, message, asked);
    break;
  }
  return route();
}

const Actions &RankMachines::sent(int peer, const Message &answer) {
  out.clear();
  theOwner.sent(peer, answer.bucket, asked);
  return route();
}

const Actions &RankMachines::computed(bool good) {
  out.clear();
  theTrainer.computed(good, asked);
  return route();
}

/// Machines append to `asked` while it is read, so what they cause comes after
/// what caused it.
const Actions &RankMachines::route() {
  for (size_t next = 0; next < asked.size() || !own.empty();) {
    if (next < asked.size()) {
      Action action = asked[next++];
      if (action.kind == Action::Kind::Send)
        routeSend(action);
      else
        out.push_back(action);
    } else if (theOwner.accepts(self)) {
      Message message = own.front();
      own.erase(own.begin());
      theOwner.receive(self, message, asked);
    } else {
      break;
    }
  }
  asked.clear();
  return out;
}

void RankMachines::routeSend(const Action &action) {
  switch (action.link) {
  case Link::ToMaster: {
    Action report = action;
    report.message.signal = theSignal;
    if (rank == 0)
      toMaster(rank, report.message);
    else
      out.push_back(report);
    return;
  }
  case Link::FromMaster:
    return toRanks(action.peer, action.message);
  case Link::ToOwner:
    if (action.peer == self)
      own.push_back(action.message);
    else
      out.push_back(action);
    return;
  case Link::FromOwner:
    if (action.peer != self) {
      out.push_back(action);
      return;
    }
    // A copy is done when the driver comes to it.
    out.push_back({Action::Kind::Copy, Link::FromOwner, self, action.message});
    theOwner.sent(self, action.message.bucket, asked);
    theTrainer.answered(self, action.message, asked);
    return;
  }
}

void RankMachines::toMaster(int from, const Message &message) {
  expect(master.has_value(), "rank 0 hands out tickets");
  agreement->note(message.signal);
  if (message.signal != 0)
    master->stop();
  if (message.kind == Message::Kind::Request)
    master->request(shape.trainerOf(from), asked);
  else
    agreement->drained(from, master->roundEnd(), asked);
}

/// Sends what the master or the agreement says to all ranks that it concerns.
void RankMachines::toRanks(int trainer, const Message &message) {
  bool isForAll = message.kind == Message::Kind::Proceed;
  for (int to = 0; to < shape.ranks(); ++to) {
    if (!isForAll && shape.trainerOf(to) != trainer)
      continue;
    if (to == rank)
      toSelf(message);
    else
      out.push_back({Action::Kind::Send, Link::FromMaster, to, message});
  }
}

void RankMachines::toSelf(const Message &message) {
  theTrainer.receive(message, asked);
  if (message.kind == Message::Kind::Proceed)
    asked.push_back({Action::Kind::Agree, Link::FromMaster, rank, message});
}

} // namespace ppopt::asynchronous
