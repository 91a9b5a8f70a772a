//===- nccl_library.cpp - The state of the fake NCCL ----------------------===//
//
// The process that made an id is the hub of its communicator. Other processes
// connect to it, and it passes on what they tell.
//
//===----------------------------------------------------------------------===//

#include "fake/nccl_library.h"

#include "fake/graphs.h"

#include <algorithm>
#include <unistd.h>

namespace ppopt::cuda::fake {

std::string IdContent::socketName() const {
  return fmt::format("ppopt-fake-nccl-{}-{}-{:x}", process, number, token);
}

ThreadGroup &threadGroup() {
  thread_local ThreadGroup group;
  return group;
}

Nccl &Nccl::get() {
  static Nccl *nccl = new Nccl;
  return *nccl;
}

Nccl::Nccl()
    : machine(Machine::get()),
      links({[this](const std::string &name, int link) {
               machine.deliver([&] { welcome(name, link); });
             },
             [this](int link, const std::string &message) {
               machine.deliver([&] { receive(link, message); });
             },
             [this](int link) { machine.deliver([&] { lose(link); }); }}) {
  machine.isStuck = [this] { return isStuck(); };
  machine.atEnd.push_back([this](int status) {
    bool isRight = true;
    machine.deliver([&] {
      isRight = status != 0 || reportUnanswered();
      leaveAtEnd(isRight && status == 0);
    });
    links.flush(std::chrono::steady_clock::now() + machine.patience());
    return isRight;
  });
}

FakeCommunicator &Nccl::at(Communicator handle) {
  if (!communicators.objects.count(handle))
    refuseNccl(NcclResult::invalidArgument,
               "{} is no communicator, or one that is destroyed",
               static_cast<const void *>(handle));
  return communicators.at(handle, "communicator");
}

void Nccl::checkUsable(const RankGroup &group) {
  if (!group.failure)
    return;
  lastError = group.failure->message;
  throw NcclFailure{group.failure->result, ""};
}

//===----------------------------------------------------------------------===//
// Joining and leaving
//===----------------------------------------------------------------------===//

IdContent Nccl::makeId() {
  IdContent id;
  id.token = machine.operations.random();
  id.process = getpid();
  id.number = ++ids;
  Group &group = groups[id.key()];
  group.id = id;
  group.isHub = true;
  if (!links.listen(id.socketName()))
    refuseNccl(NcclResult::systemError,
               "no socket, to which other processes could connect");
  return id;
}

Nccl::Group &Nccl::groupOf(const IdContent &id) {
  Group &group = groups[id.key()];
  if (group.isHub || !group.links.empty())
    return group;
  group.id = id;
  int link = links.connect(id.socketName());
  if (link < 0) {
    groups.erase(id.key());
    refuseNccl(NcclResult::systemError,
               "process {} made the id, and takes no more ranks for it: it has "
               "ended, or all ranks have joined",
               id.process);
  }
  group.links.push_back(link);
  return group;
}

void Nccl::createRanks(Group &group, int ranks) {
  if (group.ranks)
    return;
  group.ranks = std::make_unique<RankGroup>(
      fmt::format(
          "communicator {}{}", group.id.number,
          group.isHub ? "" : fmt::format(" of process {}", group.id.process)),
      ranks);
  group.ranks->publish = [this, &group](const Event &event) {
    tell(group, event);
  };
}

/// Nobody else can join.
void Nccl::closeComplete(const Group &group) {
  if (group.isHub && group.ranks->isComplete())
    links.stopListening(group.id.socketName());
}

Communicator Nccl::join(const IdContent &id, int ranks, int rank,
                        FakeContext &context) {
  Group &joined = groupOf(id);
  createRanks(joined, ranks);
  RankGroup &group = *joined.ranks;
  if (group.isComplete())
    refuseNccl(NcclResult::invalidUsage,
               "{} has all its ranks: an id is for one communicator",
               group.name);
  Member member;
  member.gpu = context.name();
  member.uuid = context.gpu->uuidText;
  member.local = std::make_unique<LocalRank>();
  member.local->context = &context;
  member.local->owner = threadNumber();
  group.join(rank, ranks, std::move(member));
  closeComplete(joined);
  machine.notify();
  checkUsable(group);
  auto communicator = std::make_unique<FakeCommunicator>();
  communicator->group = &group;
  communicator->rank = rank;
  return communicators.add(std::move(communicator));
}

void Nccl::awaitRanks(const std::vector<Communicator> &joining) {
  auto deadline = std::chrono::steady_clock::now() + machine.patience();
  for (Communicator handle : joining) {
    FakeCommunicator &communicator = at(handle);
    RankGroup &group = *communicator.group;
    while (!group.failure && !group.isComplete())
      if (!machine.waitUntil(deadline))
        group.breakDown(
            NcclResult::systemError,
            fmt::format("{}: rank {} has waited for {} seconds, and "
                        "these ranks have not called "
                        "ncclCommInitRank: {}",
                        group.name, communicator.rank,
                        machine.settings.patience, group.describeAbsent()));
    checkUsable(group);
    communicator.isReady = true;
  }
}

void Nccl::leave(Communicator handle, Presence how) {
  FakeCommunicator communicator = at(handle);
  RankGroup &group = *communicator.group;
  communicators.remove(handle, "communicator");
  bool wasUsable = !group.failure;
  group.leave(communicator.rank, how);
  machine.notify();
  if (wasUsable)
    checkUsable(group);
}

// Of a graph that is in flight, awaitEnd() waits for the operations.
void Nccl::awaitGraphs(const FakeCommunicator &communicator,
                       const char *symbol) {
  const RankGroup &group = *communicator.group;
  const void *owner = communicator.member().local.get();
  while (std::optional<GraphName> graph = findGraphOf(owner)) {
    std::string what = fmt::format(
        "{} of {} waits until {} is destroyed, which has its operations",
        symbol, group.describe(communicator.rank), graph->text);
    if (graph->thread == threadNumber())
      machine.waitForever(what + ": this thread made it");
    machine.wait(what);
  }
}

void Nccl::awaitEnd(const std::vector<FakeCommunicator> &left,
                    const char *symbol) {
  int64_t thread = threadNumber();
  leaving.insert(thread);
  for (const FakeCommunicator &each : left) {
    const LocalRank &local = *each.member().local;
    if (local.last && !local.context->error && !local.context->isReleased)
      machine.runUntil({local.last},
                       fmt::format("{} of {} waits for its last operation, {}",
                                   symbol, each.group->describe(each.rank),
                                   local.last->describe()));
    awaitGraphs(each, symbol);
  }
  leaving.erase(thread);
}

//===----------------------------------------------------------------------===//
// Other processes
//===----------------------------------------------------------------------===//

/// Sends an event to all processes that it concerns.
void Nccl::tell(const Group &group, const Event &event, int except) {
  // What is sent to one rank is for its process.
  int to = -1;
  if (event.kind == Event::Kind::start) {
    const auto &issued = group.ranks->members[event.rank].issued;
    auto call = issued.find(event.number);
    if (call != issued.end() && call->second->request.isTransfer()) {
      const Member &peer = group.ranks->members[call->second->request.peer];
      if (peer.local)
        return;
      to = peer.link;
    }
  }
  std::string message;
  for (int link : group.links) {
    if (link == except || (to >= 0 && link != to))
      continue;
    if (message.empty())
      message = encode(event);
    links.send(link, message);
  }
}

/// Another process has connected: it learns who has joined.
void Nccl::welcome(const std::string &name, int link) {
  for (auto &[key, group] : groups) {
    if (!group.isHub || group.id.socketName() != name)
      continue;
    group.links.push_back(link);
    for (int rank = 0; group.ranks && rank < group.ranks->size(); ++rank)
      if (group.ranks->members[rank].presence != Presence::absent)
        links.send(link, encode(group.ranks->joinEvent(rank)));
  }
}

void Nccl::receive(int link, const std::string &message) {
  Event event;
  if (!decode(message, event))
    return machine.say("a message of another process that means nothing");
  for (auto &[key, group] : groups) {
    if (std::find(group.links.begin(), group.links.end(), link) ==
        group.links.end())
      continue;
    createRanks(group, event.ranks);
    if (group.isHub)
      tell(group, event, link);
    group.ranks->apply(std::move(event), link);
    closeComplete(group);
    machine.notify();
    return;
  }
}

/// A process has ended, and with it those that it told of.
void Nccl::lose(int link) {
  for (auto &[key, group] : groups) {
    auto found = std::find(group.links.begin(), group.links.end(), link);
    if (found == group.links.end())
      continue;
    group.links.erase(found);
    if (!group.isHub && group.ranks && !group.ranks->isComplete())
      group.ranks->breakDown(
          NcclResult::remoteError,
          fmt::format("{}: process {}, which made the id, has ended, and these "
                      "ranks have not joined: {}",
                      group.ranks->name, group.id.process,
                      group.ranks->describeAbsent()));
    for (int rank = 0; group.ranks && rank < group.ranks->size(); ++rank) {
      const Member &member = group.ranks->members[rank];
      if (member.local || member.link != link ||
          member.presence != Presence::active)
        continue;
      Event gone;
      gone.kind = Event::Kind::leave;
      gone.rank = rank;
      gone.presence = Presence::gone;
      if (group.isHub)
        tell(group, gone);
      group.ranks->leave(rank, Presence::gone);
    }
  }
  machine.notify();
}

/// Whether the threads of all ranks wait. A thread that has not called yet, or
/// another process, may change something. Where a rank has aborted, whoever
/// looks after the others may abort them, too; a thread that waits in its own
/// abort has nobody.
bool Nccl::isStuck() const {
  bool isAny = false;
  for (const auto &[key, group] : groups) {
    if (!group.ranks || group.ranks->failure)
      continue;
    bool isActive = false, isAborted = false, isLookedAfter = false;
    for (const Member &member : group.ranks->members) {
      isAborted |= member.presence == Presence::aborted;
      if (member.presence != Presence::active)
        continue;
      if (!member.local || !machine.waiting.count(member.local->owner))
        return false;
      isActive = true;
      isLookedAfter |= leaving.count(member.local->owner) == 0;
    }
    if (isLookedAfter && isAborted)
      return false;
    isAny |= isActive;
  }
  return isAny;
}

bool Nccl::reportUnanswered() {
  bool isRight = true, isBroken = false;
  for (const auto &[key, group] : groups) {
    if (!group.ranks)
      continue;
    isBroken |= bool(group.ranks->failure);
    if (group.ranks->failure)
      continue;
    for (const std::string &line : group.ranks->describeUnanswered()) {
      machine.say("at the end of the process, " + line);
      isRight = false;
    }
  }
  if (!holdsBack || isBroken)
    return isRight;
  machine.say("no call of its thread came after the one that swap-nccl holds "
              "back");
  return false;
}

/// Others learn that the ranks of this process are gone. A hub passes on what
/// the others tell, as long as there are some.
void Nccl::leaveAtEnd(bool waits) {
  auto deadline = std::chrono::steady_clock::now() + machine.patience();
  for (auto &[key, group] : groups) {
    if (!group.isHub || !group.ranks)
      continue;
    for (int rank = 0; rank < group.ranks->size(); ++rank) {
      const Member &member = group.ranks->members[rank];
      if (!member.local || member.presence != Presence::active)
        continue;
      Event gone;
      gone.kind = Event::Kind::leave;
      gone.rank = rank;
      gone.presence = Presence::gone;
      tell(group, gone);
    }
    auto hasOthers = [&group = group] {
      return std::any_of(group.ranks->members.begin(),
                         group.ranks->members.end(), [](const Member &member) {
                           return !member.local &&
                                  member.presence == Presence::active;
                         });
    };
    while (waits && hasOthers() && machine.waitUntil(deadline)) {
    }
  }
}

} // namespace ppopt::cuda::fake
