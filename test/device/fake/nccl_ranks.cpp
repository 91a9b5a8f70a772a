//===- nccl_ranks.cpp - The ranks of a communicator -----------------------===//

#include "fake/nccl_ranks.h"

#include <algorithm>

namespace ppopt::cuda::fake {
namespace {

constexpr DriverResult launchFailed{719};

/// Returns the operation that keeps one from running, or null.
const Operation *findBlocker(const Operation &operation) {
  for (const OperationRef &earlier : operation.after)
    if (!earlier->isDone) {
      const Operation *first = findBlocker(*earlier);
      return first ? first : earlier.get();
    }
  return nullptr;
}

const char *verbOf(Presence presence) {
  switch (presence) {
  case Presence::destroyed:
    return "has destroyed the communicator";
  case Presence::aborted:
    return "has aborted the communicator";
  case Presence::gone:
    return "is gone: its process has ended";
  case Presence::absent:
  case Presence::active:
    break;
  }
  return "";
}

} // namespace

RankGroup::RankGroup(std::string name, int size)
    : name(std::move(name)), members(size_t(size)) {}

std::string RankGroup::describe(int rank) const {
  return fmt::format("rank {} of {} ({})", rank, name, members[rank].gpu);
}

std::string RankGroup::describe(const Call &call) const {
  return fmt::format("call {} of rank {}, {} ({})", call.number, call.rank,
                     call.request.describe(), call.where);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

void RankGroup::join(int rank, int ranks, Member member) {
  if (failure)
    return;
  if (ranks != size())
    return breakDown(NcclResult::invalidUsage,
                     fmt::format("{}: rank {} ({}) expects {} ranks, and "
                                 "others expect {}",
                                 name, rank, member.gpu, ranks, size()));
  Member &own = members[size_t(rank)];
  if (own.presence != Presence::absent)
    return breakDown(NcclResult::invalidUsage,
                     fmt::format("{}: rank {} joins twice, on {} and {}", name,
                                 rank, own.gpu, member.gpu));
  for (int other = 0; other < size(); ++other)
    if (members[other].presence != Presence::absent &&
        members[other].uuid == member.uuid)
      return breakDown(NcclResult::invalidUsage,
                       fmt::format("{}: Duplicate GPU detected: rank {} and "
                                   "rank {} are both on {}",
                                   name, other, rank, member.gpu));
  own = std::move(member);
  own.presence = Presence::active;
  if (own.local)
    publish(joinEvent(rank));
}

Event RankGroup::joinEvent(int rank) const {
  Event event;
  event.kind = Event::Kind::join;
  event.rank = rank;
  event.ranks = size();
  event.gpu = members[rank].gpu;
  event.uuid = members[rank].uuid;
  return event;
}

bool RankGroup::isComplete() const {
  return std::all_of(members.begin(), members.end(), [](const Member &member) {
    return member.presence != Presence::absent;
  });
}

std::string RankGroup::describeAbsent() const {
  std::string text;
  for (int rank = 0; rank < size(); ++rank)
    if (members[rank].presence == Presence::absent)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  return text;
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

void RankGroup::announce(int rank, const Request &request) {
  bool isNew =
      members[rank].announced.insert({request.kind, request.peer}).second;
  if (!members[rank].local || !isNew)
    return;
  Event event;
  event.kind = Event::Kind::announce;
  event.rank = rank;
  event.request = request;
  publish(event);
}

bool RankGroup::isConnected(int rank, const Request &request) const {
  // The connections of a rank that has aborted are closed by the last abort of
  // its process.
  auto isOpen = [&](const Member &member) {
    return member.presence == Presence::active ||
           (member.presence == Presence::aborted && member.local &&
            members[rank].local);
  };
  auto hasAnnounced = [&](const Member &member, Request::Kind kind, int peer) {
    return !isOpen(member) || member.announced.count({kind, peer});
  };
  if (request.isTransfer())
    return hasAnnounced(members[request.peer],
                        request.kind == Request::Kind::send
                            ? Request::Kind::receive
                            : Request::Kind::send,
                        rank);
  return std::all_of(members.begin(), members.end(), [&](const Member &member) {
    return hasAnnounced(member, request.kind, request.peer);
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CallRef RankGroup::findSlot(int rank, const Request &request) {
  std::shared_ptr<Rendezvous> made;
  auto make = [&](size_t slots) {
    made = std::make_shared<Rendezvous>();
    made->calls.resize(slots);
    open.insert(made);
    return made;
  };
  if (!request.isTransfer()) {
    std::shared_ptr<Rendezvous> &of = collectives[members[rank].collectives];
    if (!of) {
      of = make(members.size());
      for (int each = 0; each < size(); ++each)
        of->calls[each].rank = each;
    }
    return {of, size_t(rank)};
  }
  bool isSend = request.kind == Request::Kind::send;
  size_t slot = isSend ? 0 : 1;
  int from = isSend ? rank : request.peer, to = isSend ? request.peer : rank;
  auto &queue = transfers[{from, to}];
  for (const std::shared_ptr<Rendezvous> &each : queue)
    if (!each->calls[slot].isIssued)
      return {each, slot};
  queue.push_back(make(2));
  made->calls[0].rank = from;
  made->calls[1].rank = to;
  return {made, slot};
}

CallRef RankGroup::issue(int rank, const Request &request, std::string where,
                         OperationRef start) {
  Member &own = members[rank];
  if (own.local) {
    Event event;
    event.kind = Event::Kind::issue;
    event.rank = rank;
    event.request = request;
    event.where = where;
    publish(event);
  }
  CallRef call = findSlot(rank, request);
  call->request = request;
  call->number = ++own.calls;
  call->collectives = own.collectives;
  call->where = std::move(where);
  call->isIssued = true;
  call->start = std::move(start);
  if (!request.isTransfer())
    ++own.collectives;
  own.lastCall = describe(*call);
  own.issued[call->number] = call;
  compare(call);

  std::vector<Call> &calls = call.of->calls;
  if (std::all_of(calls.begin(), calls.end(),
                  [](const Call &each) { return each.isIssued; })) {
    if (request.isTransfer()) {
      auto &queue = transfers[{calls[0].rank, calls[1].rank}];
      queue.erase(std::find(queue.begin(), queue.end(), call.of));
    } else {
      collectives.erase(call->collectives);
    }
  }
  return call;
}

/// Ends the communicator if a call does not fit those of others.
void RankGroup::compare(const CallRef &call) {
  if (failure)
    return;
  for (const Call &other : call.of->calls) {
    if (&other == &*call)
      continue;
    Presence presence = members[other.rank].presence;
    if (!other.isIssued) {
      if (presence == Presence::destroyed || presence == Presence::gone)
        return breakDown(NcclResult::remoteError,
                         fmt::format("{}: {} needs rank {}, which {}", name,
                                     describe(*call), other.rank,
                                     verbOf(presence)));
      continue;
    }
    std::string difference = findDifference(call->request, other.request);
    if (difference.empty() && call->collectives != other.collectives)
      difference = "orders of transfers and collectives";
    if (difference.empty())
      continue;
    // Maybe the other rank called the same, but at another time.
    std::string order;
    for (const auto &[number, later] : members[other.rank].issued)
      if (!call->request.isTransfer() && !later->request.isTransfer() &&
          number != other.number &&
          findDifference(call->request, later->request).empty())
        order =
            fmt::format(". Rank {} called that as its call {}: they call in "
                        "different orders",
                        other.rank, number);
    return breakDown(
        NcclResult::invalidUsage,
        fmt::format("{}: the {} of ranks differ: {}, and {}{}. All ranks must "
                    "call the operations of a communicator in one order",
                    name, difference, describe(*call), describe(other), order));
  }
}

void RankGroup::start(const CallRef &call, SentBytes sent) {
  Member &own = members[call->rank];
  if (own.local) {
    Event event;
    event.kind = Event::Kind::start;
    event.rank = call->rank;
    event.number = call->number;
    event.sent = sent;
    publish(event);
  }
  own.issued.erase(call->number);
  call->sent = std::move(sent);
  call->isStarted = true;
  call->start = nullptr;
  Rendezvous &of = *call.of;
  if (++of.started < of.calls.size())
    return;
  open.erase(call.of);
  for (Call &each : of.calls)
    release(each);
}

void RankGroup::release(Call &call) {
  if (call.isReleased)
    return;
  call.isReleased = true;
  if (call.end)
    Machine::get().unblock(call.end);
  call.end = nullptr;
}

std::string RankGroup::describeWait(const CallRef &call) const {
  std::string text;
  for (const Call &other : call.of->calls) {
    if (&other == &*call || other.isStarted)
      continue;
    const Member &member = members[other.rank];
    text += fmt::format("{}rank {} ({}), which ", text.empty() ? "" : ", and ",
                        other.rank, member.gpu);
    if (other.isIssued) {
      const Operation *blocker =
          other.start ? findBlocker(*other.start) : nullptr;
      text += fmt::format("calls it in {} {}", other.where,
                          blocker ? "after " + blocker->describe()
                                  : "and has not come to it");
    } else if (member.presence != Presence::active) {
      text += verbOf(member.presence);
    } else {
      text += "has not called it; its last call is " +
              (member.lastCall.empty() ? "none" : member.lastCall);
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Leaving
//===----------------------------------------------------------------------===//

void RankGroup::leave(int rank, Presence how) {
  Member &own = members[rank];
  own.presence = how;
  if (own.local) {
    Event event;
    event.kind = Event::Kind::leave;
    event.rank = rank;
    event.presence = how;
    publish(event);
  }
  if (how == Presence::aborted) {
    // Its operations end, and have received nothing.
    for (const std::shared_ptr<Rendezvous> &each : open)
      for (Call &call : each->calls)
        if (call.rank == rank)
          release(call);
    return;
  }
  if (!isComplete())
    return breakDown(
        NcclResult::remoteError,
        fmt::format("{}: rank {} ({}) {}, and these ranks have not "
                    "joined: {}",
                    name, rank, own.gpu, verbOf(how), describeAbsent()));
  for (const std::shared_ptr<Rendezvous> &each : open)
    for (const Call &call : each->calls) {
      if (call.rank != rank || call.isStarted ||
          (how == Presence::destroyed && call.isIssued))
        continue;
      auto waiting = std::find_if(
          each->calls.begin(), each->calls.end(), [&](const Call &other) {
            return other.isIssued && other.rank != rank &&
                   members[other.rank].presence != Presence::aborted;
          });
      if (waiting != each->calls.end())
        return breakDown(how == Presence::gone ? NcclResult::remoteError
                                               : NcclResult::invalidUsage,
                         fmt::format("{}: {} waits for rank {} ({}), which {}",
                                     name, describe(*waiting), rank, own.gpu,
                                     verbOf(how)));
    }
}

void RankGroup::apply(Event event, int link) {
  if (event.kind == Event::Kind::join) {
    Member member;
    member.gpu = std::move(event.gpu);
    member.uuid = std::move(event.uuid);
    member.link = link;
    return join(event.rank, event.ranks, std::move(member));
  }
  if (event.rank < 0 || event.rank >= size())
    return;
  Member &own = members[event.rank];
  switch (event.kind) {
  case Event::Kind::announce:
    return announce(event.rank, event.request);
  case Event::Kind::issue:
    issue(event.rank, event.request, std::move(event.where), nullptr);
    return;
  case Event::Kind::start:
    if (auto call = own.issued.find(event.number); call != own.issued.end())
      start(CallRef(call->second), std::move(event.sent));
    return;
  case Event::Kind::leave:
    if (own.presence == Presence::active)
      leave(event.rank, event.presence);
    return;
  case Event::Kind::join:
    return;
  }
}

void RankGroup::breakDown(NcclResult result, const std::string &message) {
  if (failure)
    return;
  Machine::get().say(message);
  failure = NcclFailure{result, message};
  for (const Member &member : members)
    if (isComplete() && member.local && member.presence == Presence::active &&
        !member.local->context->error)
      member.local->context->error = int(launchFailed);
  for (const std::shared_ptr<Rendezvous> &each : std::exchange(open, {}))
    for (Call &call : each->calls)
      release(call);
  Machine::get().notify();
}

std::vector<std::string> RankGroup::describeUnanswered() const {
  std::vector<std::string> lines;
  for (const std::shared_ptr<Rendezvous> &each : open)
    for (size_t slot = 0; slot < each->calls.size(); ++slot) {
      const Call &call = each->calls[slot];
      bool isAnswered = std::all_of(
          each->calls.begin(), each->calls.end(), [&](const Call &other) {
            return other.isIssued ||
                   members[other.rank].presence == Presence::aborted;
          });
      if (call.isIssued && !isAnswered &&
          members[call.rank].presence == Presence::active &&
          members[call.rank].local)
        lines.push_back(fmt::format("{}: {} waits for {}", name, describe(call),
                                    describeWait({each, slot})));
    }
  return lines;
}

} // namespace ppopt::cuda::fake
