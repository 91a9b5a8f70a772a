//===- system.cpp - All ranks of a run, and the network between them ------===//

#include "system.h"

#include <algorithm>

namespace ppopt::asynchronous::test {

namespace {

using Kind = Message::Kind;

constexpr int links = 4;
constexpr int32_t someSignal = 15;

std::string describe(const Message &message) {
  std::string step = " of step " + std::to_string(message.step);
  std::string bucket = " of bucket " + std::to_string(message.bucket);
  std::string ticket = std::to_string(message.ticket);
  switch (message.kind) {
  case Kind::Request:
    return message.signal ? "Request with a signal" : "Request";
  case Kind::Drained:
    return "Drained";
  case Kind::Ticket:
    return "Ticket " + ticket;
  case Kind::Stop:
    return "Stop after " + ticket + " tickets";
  case Kind::Proceed:
    return "Proceed after " + ticket + " tickets";
  case Kind::Pull:
    return "Pull" + step;
  case Kind::Push:
    return "Push" + bucket + step;
  case Kind::Drop:
    return "Drop" + step;
  case Kind::Done:
    return "Done after " + std::to_string(message.step) + " steps";
  case Kind::Answer:
    return "Answer" + bucket + step;
  }
  return "";
}

} // namespace

System::System(const Scenario &scenario, const Mistake &mistake,
               const ReplayLog *repeated, RunRecord *record)
    : scenario(scenario), shape(scenario.shape), mistake(mistake),
      record(record), properties(scenario, repeated),
      queues(links * shape.ranks() * shape.ranks()) {
  Shape given = shape;
  given.bound = mistake.bound(shape.bound);
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    ranks.emplace_back(RankMachines(given, rank));
    ranks.back().inbox.assign(shape.trainers, -1);
    ranks.back().memory.resize(shape.buckets[rank]);
    for (int owner = 0; owner < shape.trainers; ++owner)
      ranks[rank].digests.emplace_back(
          shape.buckets[shape.rankOf(owner, shape.memberOf(rank))], 0);
    if (repeated && !mistake.forgetsRecord())
      ranks[rank].machines.follow(*repeated);
  }
  for (int from = 0; from < shape.ranks(); ++from)
    for (int to = 0; to < shape.ranks(); ++to) {
      if (from == to)
        continue;
      if (to == 0)
        usedQueues.push_back(indexOf(Link::ToMaster, from, to));
      if (from == 0)
        usedQueues.push_back(indexOf(Link::FromMaster, from, to));
      if (shape.memberOf(from) != shape.memberOf(to))
        continue;
      usedQueues.push_back(indexOf(Link::ToOwner, from, to));
      usedQueues.push_back(indexOf(Link::FromOwner, from, to));
    }
  for (int rank = 0; rank < shape.ranks(); ++rank)
    beginRound(rank);
}

size_t System::indexOf(Link link, int from, int to) const {
  return (static_cast<size_t>(link) * shape.ranks() + from) * shape.ranks() +
         to;
}

/// Returns how machines call rank `from` on a link.
int System::peerOf(Link link, int from) const {
  bool isRank = link == Link::ToMaster || link == Link::FromMaster;
  return isRank ? from : shape.trainerOf(from);
}

void System::listEvents(std::vector<Event> &events) const {
  events.clear();
  for (int link = 0; link < links; ++link)
    for (int from = 0; from < shape.ranks(); ++from)
      for (int to = 0; to < shape.ranks(); ++to) {
        const Queue &flights = queue(Link(link), from, to);
        auto next = std::find_if(
            flights.begin(), flights.end(),
            [](const Flight &flight) { return !flight.hasArrived; });
        if (next != flights.end() &&
            ranks[to].machines.accepts(Link(link), peerOf(Link(link), from)))
          events.push_back({Event::Kind::Arrive, Link(link), from, to,
                            int(next - flights.begin())});
        if (Link(link) == Link::FromOwner)
          for (size_t i = 0; i < flights.size(); ++i)
            if (!flights[i].hasLeft)
              events.push_back(
                  {Event::Kind::Leave, Link(link), from, to, int(i)});
      }
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    if (mayCompute(rank))
      events.push_back({Event::Kind::Compute, Link::ToMaster, rank, rank, 0});
    if (ranks[rank].agrees)
      events.push_back({Event::Kind::Agree, Link::ToMaster, rank, rank, 0});
  }
  int last = shape.ranks() - 1;
  if (scenario.hasSignal && !signalled && !ranks[last].isOver)
    events.push_back({Event::Kind::Signal, Link::ToMaster, last, last, 0});
}

/// A trainer's ranks compute a step together: none ends it before all have
/// begun it.
bool System::mayCompute(int rank) const {
  const Trainer &mine = ranks[rank].machines.trainer();
  if (mine.phase() != Trainer::Phase::Computes)
    return false;
  int trainer = shape.trainerOf(rank);
  for (int member = 0; member < shape.members; ++member) {
    const Trainer &other =
        ranks[shape.rankOf(trainer, member)].machines.trainer();
    bool hasBegun = other.step() > mine.step() ||
                    (other.step() == mine.step() &&
                     other.phase() == Trainer::Phase::Computes);
    if (!hasBegun)
      return false;
  }
  return true;
}

void System::perform(const Event &event) {
  finishUpdates(event.kind == Event::Kind::Leave ? event.from : event.to);
  Rank &rank = ranks[event.to];
  switch (event.kind) {
  case Event::Kind::Arrive:
    return arrive(event);
  case Event::Kind::Leave:
    return leave(event);
  case Event::Kind::Compute: {
    const Trainer &trainer = rank.machines.trainer();
    rank.gradient = trainer.step();
    bool isGood = !scenario.isBad(trainer.ticket());
    writeStep(event.to, isGood);
    return perform(event.to, rank.machines.computed(isGood));
  }
  case Event::Kind::Agree: {
    rank.agrees = false;
    expectNoReceives(event.to);
    int64_t tickets = rank.agreement.ticket;
    std::vector<int64_t> arrivals;
    for (int bucket = 0; bucket < shape.buckets[event.to]; ++bucket)
      arrivals.push_back(rank.machines.owner().arrivals(bucket));
    properties.agreed(event.to, tickets, rank.agreement.signal, isQuiet(),
                      rank.memory, arrivals);
    if (properties.isRoundOver() && record)
      record->endRound(tickets);
    if (properties.isRoundOver())
      for (Rank &each : ranks) {
        each.gradient = -1;
        for (Contents &bucket : each.memory)
          bucket.halves[0] = bucket.halves[1] = {};
      }
    rank.isOver =
        rank.agreement.signal != 0 || ++rank.round == scenario.rounds.size();
    rank.agreement = {};
    if (!rank.isOver)
      beginRound(event.to);
    return;
  }
  case Event::Kind::Signal:
    signalled = true;
    return rank.machines.signal(someSignal);
  }
}

void System::beginRound(int rank) {
  perform(rank,
          ranks[rank].machines.beginRound(scenario.rounds[ranks[rank].round]));
}

void System::arrive(const Event &event) {
  Queue &flights = queue(event.link, event.from, event.to);
  Flight &flight = flights[event.index];
  Message message = flight.message;
  Rank &to = ranks[event.to];
  flight.hasArrived = true;
  if (message.kind == Kind::Answer) {
    read(event.from, flight);
    pull(event.to, event.from, message, flight.contents);
  } else {
    flight.hasLeft = true;
  }
  if (flight.hasLeft)
    flights.erase(flights.begin() + event.index);
  if (message.kind == Kind::Push) {
    to.inbox[shape.trainerOf(event.from)] = ranks[event.from].gradient;
    properties.arrived(event.to, message.bucket, shape.trainerOf(event.from));
  }
  if (event.link == Link::ToMaster && message.signal != 0)
    properties.stops(to.machines.handedOut());
  perform(event.to, to.machines.receive(
                        event.link, peerOf(event.link, event.from), message));
}

void System::leave(const Event &event) {
  Queue &flights = queue(event.link, event.from, event.to);
  Flight &flight = flights[event.index];
  Message message = flight.message;
  read(event.from, flight);
  flight.hasLeft = true;
  if (flight.hasArrived)
    flights.erase(flights.begin() + event.index);
  perform(event.from,
          ranks[event.from].machines.sent(shape.trainerOf(event.to), message));
}

/// Reads what is left to read of an answer that is being sent.
void System::read(int owner, Flight &flight) {
  if (flight.isRead)
    return;
  flight.isRead = true;
  const Contents &memory = ranks[owner].memory[flight.message.bucket];
  flight.contents.halves[1] = memory.halves[1];
  flight.contents.digests[1] = memory.digests[1];
}

void System::perform(int rank, const Actions &actions) {
  Actions early;
  for (const Action &action : actions)
    switch (action.kind) {
    case Action::Kind::Send:
      send(rank, action);
      if (action.message.kind == Kind::Answer && mistake.takesAnswersForSent())
        early.push_back(action);
      break;
    case Action::Kind::Copy:
      answer(rank, shape.trainerOf(rank), action.message);
      pull(rank, rank, action.message,
           ranks[rank].memory[action.message.bucket]);
      break;
    case Action::Kind::Apply:
      apply(rank, action);
      break;
    case Action::Kind::Compute:
      properties.began(rank, action.message.step, action.message.ticket);
      ranks[rank].gradient = -1;
      break;
    case Action::Kind::Agree:
      ranks[rank].agrees = true;
      ranks[rank].agreement = action.message;
      break;
    }
  for (const Action &answer : early)
    perform(rank, ranks[rank].machines.sent(answer.peer, answer.message));
}

void System::send(int rank, const Action &action) {
  bool isRank =
      action.link == Link::ToMaster || action.link == Link::FromMaster;
  int to =
      isRank ? action.peer : shape.rankOf(action.peer, shape.memberOf(rank));
  Flight flight;
  flight.message = action.message;
  mistake.change(flight.message);
  if (action.message.kind == Kind::Answer) {
    answer(rank, action.peer, action.message);
    const Contents &memory = ranks[rank].memory[action.message.bucket];
    flight.contents.halves[0] = memory.halves[0];
    flight.contents.digests[0] = memory.digests[0];
    flight.hasLeft = mistake.takesAnswersForSent();
  }
  for (int left = mistake.deliveries(action.message); left > 0; --left)
    queue(action.link, rank, to).push_back(flight);
}

void System::apply(int rank, const Action &action) {
  finishUpdates(rank);
  Rank &owner = ranks[rank];
  const Message &message = action.message;
  bool isOwn = action.peer == shape.trainerOf(rank);
  int64_t pushed = isOwn ? owner.gradient : owner.inbox[action.peer];
  Contents &bucket = owner.memory[message.bucket];
  for (int to = 0; to < shape.ranks(); ++to)
    for (const Flight &flight : queue(Link::FromOwner, rank, to))
      if (!flight.hasLeft && flight.message.bucket == message.bucket)
        throw Violation("bucket " + std::to_string(message.bucket) +
                        " of rank " + std::to_string(rank) +
                        " changes while it is being sent");
  for (int times = mistake.applications(message); times > 0; --times) {
    properties.applies(rank, message.bucket, action.peer, message.step, pushed,
                       bucket.halves[0]);
    update(bucket, 0, action.peer, message.step);
    if (mistake.leavesUpdatesHalf())
      owner.half = {message.bucket, action.peer, message.step};
    else
      update(bucket, 1, action.peer, message.step);
    if (record)
      record->of(rank).add(OrderEntry::Kind::Applied, message.bucket,
                           action.peer, message.step, bucket.digest());
  }
  if (!isOwn)
    owner.inbox[action.peer] = -1;
}

void System::update(Contents &bucket, int half, int trainer,
                    int64_t step) const {
  bucket.halves[half][trainer] = static_cast<int16_t>(step + 1);
  uint64_t &digest = bucket.digests[half];
  digest = (digest * shape.trainers + trainer) * 1000003 + step;
}

/// A rank goes on after an update whose second half it has left out.
void System::finishUpdates(int rank) {
  std::vector<int64_t> &half = ranks[rank].half;
  if (half.empty())
    return;
  update(ranks[rank].memory[half[0]], 1, int(half[1]), half[2]);
  half.clear();
}

/// An owner begins to send a bucket.
void System::answer(int rank, int trainer, const Message &message) {
  properties.answers(rank, message.bucket, trainer, message.step);
  if (record)
    record->of(rank).add(OrderEntry::Kind::Answered, message.bucket, trainer,
                         message.step);
}

/// A bucket has arrived in a working copy.
void System::pull(int rank, int owner, const Message &message,
                  const Contents &contents) {
  properties.pulled(rank, owner, message.bucket, message.step, contents);
  ranks[rank].digests[shape.trainerOf(owner)][message.bucket] =
      contents.digest();
}

void System::writeStep(int rank, bool isGood) {
  if (!record)
    return;
  const Trainer &trainer = ranks[rank].machines.trainer();
  StepRecord step;
  step.step = trainer.step();
  step.ticket = trainer.ticket();
  step.isGood = isGood;
  step.versions = trainer.versions();
  for (const std::vector<uint64_t> &owner : ranks[rank].digests)
    step.digests.insert(step.digests.end(), owner.begin(), owner.end());
  record->of(rank).add(step);
}

/// At an agreement a rank waits for no message: whatever comes next, it has
/// posted no receive that would be left.
void System::expectNoReceives(int rank) const {
  for (int link = 0; link < links; ++link)
    for (int from = 0; from < shape.ranks(); ++from)
      if (ranks[rank].machines.accepts(Link(link), peerOf(Link(link), from)))
        throw Violation("rank " + std::to_string(rank) +
                        " agrees and waits for a message");
}

/// Returns whether nothing of a round is under way: then only Proceed, and what
/// ranks ask for the next round, may be on its way.
bool System::isQuiet() const {
  for (size_t i = 0; i < queues.size(); ++i)
    for (const Flight &flight : queues[i])
      if (flight.message.kind != Kind::Proceed &&
          flight.message.kind != Kind::Request)
        return false;
  return true;
}

std::string System::describe(const Event &event) const {
  std::string rank = "rank " + std::to_string(event.to);
  switch (event.kind) {
  case Event::Kind::Compute:
    return rank + " has computed step " +
           std::to_string(ranks[event.to].machines.trainer().step()) +
           " on ticket " +
           std::to_string(ranks[event.to].machines.trainer().ticket());
  case Event::Kind::Agree:
    return rank + " has done what the agreement was for";
  case Event::Kind::Signal:
    return rank + " gets a signal";
  case Event::Kind::Arrive:
  case Event::Kind::Leave:
    break;
  }
  std::string what = test::describe(
      queue(event.link, event.from, event.to)[event.index].message);
  std::string from = "rank " + std::to_string(event.from);
  if (event.kind == Event::Kind::Leave)
    return from + " sees that its " + what + " to " + rank + " has left";
  return rank + " receives " + what + " from " + from;
}

} // namespace ppopt::asynchronous::test
