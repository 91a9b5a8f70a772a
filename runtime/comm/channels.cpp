//===- channels.cpp - The actions start and wait --------------------------===//

#include "comm/channels.h"

#include <algorithm>
#include <stdexcept>

namespace ppopt::comm {

using namespace geometry;

namespace {

enum class Stage { Idle, InFlight, Done };

/// Operation numbers in the order of their starts. Does not allocate once it
/// has room for each collective of the channel.
class Queue {
public:
  void makeRoom() { slots.push_back(-1); }
  bool empty() const { return count == 0; }
  size_t size() const { return count; }
  int at(size_t index) const { return slots[(first + index) % slots.size()]; }
  int front() const { return at(0); }
  void push(int operation) {
    slots[(first + count++) % slots.size()] = operation;
  }
  void pop() {
    first = (first + 1) % slots.size();
    --count;
  }

private:
  std::vector<int> slots;
  size_t first = 0;
  size_t count = 0;
};

std::string spellRanks(const Members &group) {
  std::string text;
  for (int rank : group.ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

} // namespace

struct Channels::Operation {
  std::string name;
  const char *kind;           ///< "collective" or "transfer", for messages
  bool isGivenMemory = false; ///< at each start of the collective
  Stage stage = Stage::Idle;
  Request request;            ///< of a transfer or a native collective
  Channel *channel = nullptr; ///< of a collective
  CollectiveSpec collective;
  TransferSpec transfer;
};

struct Channels::Channel {
  Channel(Transport &transport) : ring(transport) {}
  int number = 0;
  Members group;
  Queue queue;
  Ring ring;            ///< runs the front of the queue
  int nativeGroup = -1; ///< of native collectives
};

Channels::Channels(Transport &transport, Mesh mesh, Collectives collectives)
    : transport(transport), theMesh(std::move(mesh)), mode(collectives) {
  if (std::string wrong = theMesh.check(); !wrong.empty())
    throw std::invalid_argument(wrong);
  if (theMesh.ranks() != transport.size())
    throw std::invalid_argument(
        "the mesh has " + std::to_string(theMesh.ranks()) + " ranks, the job " +
        std::to_string(transport.size()));
  if (mode == Collectives::Native && !transport.nativeCollectives())
    throw std::invalid_argument(
        std::string("--collectives=mpi: ranks that are ") + transport.kind() +
        " have no MPI collectives; start the ranks with mpirun or "
        "use --collectives=ring");
}

Channels::~Channels() {
  for (const std::unique_ptr<Operation> &operation : operations)
    transport.cancel(operation->request);
}

Channels::Channel &Channels::channelOf(const CollectiveSpec &spec) {
  std::string wrong = theMesh.check(spec.group, transport.rank());
  if (!wrong.empty())
    throw std::invalid_argument(wrong);
  Members group = theMesh.members(spec.group, transport.rank());
  for (const std::unique_ptr<Channel> &channel : channels) {
    if (channel->number != spec.channel)
      continue;
    if (channel->group.ranks != group.ranks)
      throw std::invalid_argument(
          "collective '" + spec.name + "' uses channel " +
          std::to_string(spec.channel) + " over the ranks " +
          spellRanks(group) + ", but the channel belongs to the ranks " +
          spellRanks(channel->group));
    return *channel;
  }
  auto channel = std::make_unique<Channel>(transport);
  channel->number = spec.channel;
  channel->group = std::move(group);
  if (mode == Collectives::Ring)
    transport.reserve(Ring::maxRequests);
  channels.push_back(std::move(channel));
  return *channels.back();
}

void Channels::checkChannel(const std::string &name, int channel) const {
  if (channel < 0 || channel > transport.maxChannel())
    throw std::invalid_argument(name + ": channel " + std::to_string(channel) +
                                " is not in 0.." +
                                std::to_string(transport.maxChannel()));
}

int Channels::define(const CollectiveSpec &spec) {
  auto refuse = [&](const std::string &why) {
    throw std::invalid_argument("collective '" + spec.name + "': " + why);
  };
  checkChannel("collective '" + spec.name + "'", spec.channel);
  if (spec.elements < 0)
    refuse("it has " + std::to_string(spec.elements) + " elements");
  for (const std::unique_ptr<Operation> &other : operations)
    if (!other->channel && other->transfer.channel == spec.channel)
      refuse("channel " + std::to_string(spec.channel) + " has transfers");

  Channel &channel = channelOf(spec);
  int members = channel.group.size();
  if (mode == Collectives::Ring) {
    int64_t needed = scratchElements(spec.kind, spec.elements, members) *
                     static_cast<int64_t>(sizeOf(spec.type));
    if (spec.data && needed > 0 &&
        (!spec.scratch || spec.scratchBytes < static_cast<size_t>(needed)))
      refuse("it has " + std::to_string(spec.scratchBytes) +
             " bytes of scratch memory and needs " + std::to_string(needed));
  } else {
    if (spec.kind != Collective::AllReduce)
      refuse("--collectives=mpi does all-reduce only; use --collectives=ring");
    int64_t most = transport.nativeCollectives()->maxElements();
    if (spec.elements > most)
      refuse("it has " + std::to_string(spec.elements) +
             " elements, and --collectives=mpi takes " + std::to_string(most) +
             "; use --collectives=ring");
    transport.reserve(1);
  }
  channel.queue.makeRoom();
  auto operation = std::make_unique<Operation>();
  operation->name = spec.name;
  operation->kind = "collective";
  operation->isGivenMemory = !spec.data;
  operation->collective = spec;
  operation->channel = &channel;
  operations.push_back(std::move(operation));
  return static_cast<int>(operations.size()) - 1;
}

int Channels::define(const TransferSpec &spec) {
  auto refuse = [&](const std::string &why) {
    throw std::invalid_argument("transfer '" + spec.name + "': " + why);
  };
  checkChannel("transfer '" + spec.name + "'", spec.channel);
  if (spec.peer < 0 || spec.peer >= transport.size() ||
      spec.peer == transport.rank())
    refuse("rank " + std::to_string(transport.rank()) + " has no peer " +
           std::to_string(spec.peer));
  for (const std::unique_ptr<Channel> &channel : channels)
    if (channel->number == spec.channel)
      refuse("channel " + std::to_string(spec.channel) + " has collectives");
  auto operation = std::make_unique<Operation>();
  operation->name = spec.name;
  operation->kind = "transfer";
  operation->transfer = spec;
  operations.push_back(std::move(operation));
  return static_cast<int>(operations.size()) - 1;
}

/// All ranks of a group open it together. Ranks of different places have
/// different channels. Opening in ascending order avoids a cycle of waits.
void Channels::open(int transfers) {
  transport.reserve(transfers);
  transfersInFlight.reserve(transfers);
  if (mode == Collectives::Ring)
    return;
  std::vector<Channel *> ordered;
  for (const std::unique_ptr<Channel> &channel : channels)
    ordered.push_back(channel.get());
  std::sort(ordered.begin(), ordered.end(),
            [](auto *a, auto *b) { return a->number < b->number; });
  for (Channel *channel : ordered)
    channel->nativeGroup = transport.nativeCollectives()->openGroup(
        channel->group.ranks, channel->number);
}

Channels::Operation &Channels::begin(int number) {
  Operation &operation = *operations.at(number);
  if (operation.stage != Stage::Idle)
    throw std::logic_error(std::string(operation.kind) + " '" + operation.name +
                           "' is started again before its wait");
  if (theObserver)
    theObserver->began(number);
  return operation;
}

void Channels::start(int number) {
  Operation &operation = begin(number);
  if (!operation.channel) {
    const TransferSpec &spec = operation.transfer;
    operation.request =
        spec.sends
            ? transport.isend(spec.data, spec.bytes, spec.peer, spec.channel)
            : transport.irecv(spec.data, spec.bytes, spec.peer, spec.channel);
    operation.stage = Stage::InFlight;
    transfersInFlight.push_back(number);
    return;
  }
  if (operation.isGivenMemory && operation.collective.elements > 0)
    throw std::logic_error("collective '" + operation.name +
                           "' is started without memory, and was defined "
                           "without");
  startCollective(number, operation);
}

void Channels::start(int number, void *data, void *scratch) {
  Operation &operation = begin(number);
  if (!operation.isGivenMemory)
    throw std::logic_error(std::string(operation.kind) + " '" + operation.name +
                           "' is given memory at its start, and was defined "
                           "with its own");
  CollectiveSpec &spec = operation.collective;
  bool needsScratch = mode == Collectives::Ring &&
                      scratchElements(spec.kind, spec.elements,
                                      operation.channel->group.size()) > 0;
  if (needsScratch && !scratch)
    throw std::logic_error("collective '" + operation.name +
                           "' is started without scratch memory");
  spec.data = data;
  spec.scratch = scratch;
  startCollective(number, operation);
}

void Channels::startCollective(int number, Operation &operation) {
  Channel &channel = *operation.channel;
  if (channel.group.size() == 1)
    return finish(number);
  if (mode == Collectives::Native && channel.nativeGroup < 0)
    throw std::logic_error("collective '" + operation.name +
                           "' is started before open()");
  const CollectiveSpec &spec = operation.collective;
  operation.stage = Stage::InFlight;
  ++collectivesInFlight;
  bool first = channel.queue.empty();
  channel.queue.push(number);
  if (mode == Collectives::Native)
    operation.request = transport.nativeCollectives()->iallReduce(
        spec.data, spec.elements, spec.type, channel.nativeGroup);
  else if (first)
    startRing(channel);
}

void Channels::startRing(Channel &channel) {
  const CollectiveSpec &spec = operations[channel.queue.front()]->collective;
  RingCall call;
  call.kind = spec.kind;
  call.group = &channel.group;
  call.data = spec.data;
  call.elements = spec.elements;
  call.type = spec.type;
  call.scratch = spec.scratch;
  call.channel = spec.channel;
  channel.ring.start(call);
}

void Channels::finish(int operation) {
  operations[operation]->stage = Stage::Done;
  if (theObserver)
    theObserver->ended(operation);
}

bool Channels::frontIsDone(Channel &channel) {
  if (mode == Collectives::Native)
    return transport.test(operations[channel.queue.front()]->request);
  return channel.ring.progress();
}

void Channels::progressCollectives() {
  if (collectivesInFlight == 0)
    return;
  for (const std::unique_ptr<Channel> &channel : channels)
    while (!channel->queue.empty() && frontIsDone(*channel)) {
      finish(channel->queue.front());
      channel->queue.pop();
      --collectivesInFlight;
      if (mode == Collectives::Ring && !channel->queue.empty())
        startRing(*channel);
    }
}

/// Testing each transfer is only worthwhile if something has completed.
void Channels::progressTransfers(uint64_t completions) {
  if (transfersInFlight.empty() || completions == seenCompletions)
    return;
  seenCompletions = completions;
  size_t kept = 0;
  for (int number : transfersInFlight) {
    Operation &operation = *operations[number];
    if (transport.test(operation.request))
      finish(number);
    else
      transfersInFlight[kept++] = number;
  }
  transfersInFlight.resize(kept);
}

void Channels::progress() {
  if (!hasInFlight()) {
    transport.throwIfFailed();
    return;
  }
  if (!transfersInFlight.empty())
    progressTransfers(transport.completions());
  progressCollectives();
}

void Channels::wait(int number) {
  Operation &operation = *operations.at(number);
  if (operation.stage == Stage::Idle)
    throw std::logic_error(std::string(operation.kind) + " '" + operation.name +
                           "' is waited for and was not started");
  Activity::Wait wait(transport.activity());
  while (true) {
    uint64_t seen = transport.completions();
    progressTransfers(seen);
    progressCollectives();
    if (waitingWork)
      waitingWork();
    if (operation.stage == Stage::Done)
      break;
    wait.on(Activity::WaitsIn::Operation, number, waitsFor(operation));
    transport.awaitCompletion(seen);
  }
  operation.stage = Stage::Idle;
}

/// Returns a peer that blocks this operation, or anyRank if unknown.
int Channels::waitsFor(const Operation &operation) const {
  if (!operation.channel)
    return operation.transfer.peer;
  return mode == Collectives::Ring ? operation.channel->ring.waitsFor()
                                   : Activity::anyRank;
}

bool Channels::isStarted(int number) const {
  return operations.at(number)->stage != Stage::Idle;
}

bool Channels::done(int number) const {
  return operations.at(number)->stage != Stage::InFlight;
}

uint64_t Channels::bytesSent(int number) const {
  const Operation &operation = *operations.at(number);
  if (!operation.channel)
    return operation.transfer.sends ? operation.transfer.bytes : 0;
  if (mode == Collectives::Native)
    return 0;
  const CollectiveSpec &spec = operation.collective;
  const Members &group = operation.channel->group;
  return static_cast<uint64_t>(elementsSent(spec.kind, spec.elements,
                                            group.size(), group.position)) *
         sizeOf(spec.type);
}

/// A transfer is posted by its start. A channel's ring runs the front of its
/// queue, the others are still to come.
uint64_t Channels::pendingBytes() const {
  uint64_t bytes = 0;
  if (collectivesInFlight == 0 || mode == Collectives::Native)
    return bytes;
  for (const std::unique_ptr<Channel> &channel : channels) {
    if (channel->queue.empty())
      continue;
    bytes += static_cast<uint64_t>(channel->ring.unpostedBytes());
    for (size_t i = 1; i < channel->queue.size(); ++i)
      bytes += bytesSent(channel->queue.at(i));
  }
  return bytes;
}

} // namespace ppopt::comm
