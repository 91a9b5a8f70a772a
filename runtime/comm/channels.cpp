//===- channels.cpp - The actions start and wait
//----------------------------===//

#include "comm/channels.h"

#include <algorithm>
#include <stdexcept>

namespace ppopt::comm {

namespace {

enum class Stage { Idle, InFlight, Done };

/// Numbers of collectives in the order of their starts, without allocation once
/// there is room for each collective of the channel once.
class Queue {
public:
  void makeRoom() { slots.push_back(-1); }
  bool empty() const { return count == 0; }
  int front() const { return slots[first]; }
  void push(int collective) {
    slots[(first + count++) % slots.size()] = collective;
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

std::string spellRanks(const Group &group) {
  std::string text;
  for (int rank : group.ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

} // namespace

struct Channels::Collective {
  CollectiveSpec spec;
  Channel *channel;
  Stage stage = Stage::Idle;
  Request request; ///< of the library's collective
};

struct Channels::Channel {
  Channel(Transport &transport) : ring(transport) {}
  int number = 0;
  Group group;
  Queue queue;
  Ring ring;           ///< runs the queue's front
  int nativeGroup = 0; ///< of the library's collectives
};

Channels::Channels(Transport &transport, Mesh mesh, Collectives collectives)
    : transport(transport), theMesh(std::move(mesh)), mode(collectives) {
  if (theMesh.ranks() != transport.size())
    throw std::invalid_argument(
        "the mesh has " + std::to_string(theMesh.ranks()) + " ranks, the job " +
        std::to_string(transport.size()));
  if (mode == Collectives::Native && !transport.nativeCollectives())
    throw std::invalid_argument(
        std::string("--collectives=mpi: ranks that are ") + transport.kind() +
        " have no MPI to hand collectives to; start the ranks with mpirun or "
        "use --collectives=ring");
}

Channels::~Channels() {
  for (const std::unique_ptr<Collective> &collective : collectives)
    transport.cancel(collective->request);
}

Channels::Channel &Channels::channelOf(const CollectiveSpec &spec) {
  Group group = theMesh.group(transport.rank(), spec.axes, spec.among);
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
  else
    channel->nativeGroup = transport.nativeCollectives()->openGroup(
        channel->group.ranks, spec.channel);
  channels.push_back(std::move(channel));
  return *channels.back();
}

int Channels::define(const CollectiveSpec &spec) {
  auto refuse = [&](const std::string &why) {
    throw std::invalid_argument("collective '" + spec.name + "': " + why);
  };
  if (spec.channel < 0 || spec.channel > transport.maxChannel())
    refuse("channel " + std::to_string(spec.channel) + " is not in 0.." +
           std::to_string(transport.maxChannel()));
  if (spec.elements < 0)
    refuse("it has " + std::to_string(spec.elements) + " elements");

  Channel &channel = channelOf(spec);
  int members = channel.group.size();
  if (mode == Collectives::Ring) {
    int64_t needed = spec.op == RingOp::AllGather
                         ? 0
                         : ringScratchElements(spec.elements, members) *
                               static_cast<int64_t>(sizeOf(spec.type));
    if (needed > 0 &&
        (!spec.scratch || spec.scratchBytes < static_cast<size_t>(needed)))
      refuse("it has " + std::to_string(spec.scratchBytes) +
             " bytes of scratch memory and needs " + std::to_string(needed));
  } else {
    if (spec.op != RingOp::AllReduce)
      refuse("--collectives=mpi does all-reduce only; use --collectives=ring");
    int64_t most = transport.nativeCollectives()->maxElements();
    if (spec.elements > most)
      refuse("it has " + std::to_string(spec.elements) +
             " elements, and --collectives=mpi takes " + std::to_string(most) +
             "; use --collectives=ring");
    transport.reserve(1);
  }
  channel.queue.makeRoom();
  auto collective = std::make_unique<Collective>();
  collective->spec = spec;
  collective->channel = &channel;
  collectives.push_back(std::move(collective));
  return static_cast<int>(collectives.size()) - 1;
}

void Channels::start(int number) {
  Collective &collective = *collectives.at(number);
  if (collective.stage != Stage::Idle)
    throw std::logic_error("collective '" + collective.spec.name +
                           "' is started again before its wait");
  Channel &channel = *collective.channel;
  if (channel.group.size() == 1) {
    collective.stage = Stage::Done;
    return;
  }
  const CollectiveSpec &spec = collective.spec;
  collective.stage = Stage::InFlight;
  ++inFlight;
  bool first = channel.queue.empty();
  channel.queue.push(number);
  if (mode == Collectives::Native)
    collective.request = transport.nativeCollectives()->iallReduce(
        spec.data, spec.elements, spec.type, channel.nativeGroup);
  else if (first)
    startRing(channel);
}

void Channels::startRing(Channel &channel) {
  const CollectiveSpec &spec = collectives[channel.queue.front()]->spec;
  RingCall call;
  call.op = spec.op;
  call.group = &channel.group;
  call.data = spec.data;
  call.elements = spec.elements;
  call.type = spec.type;
  call.scratch = spec.scratch;
  call.channel = spec.channel;
  channel.ring.start(call);
}

bool Channels::frontIsDone(Channel &channel) {
  if (mode == Collectives::Native)
    return transport.test(collectives[channel.queue.front()]->request);
  return channel.ring.progress();
}

void Channels::progress() {
  if (inFlight == 0) {
    transport.throwIfFailed();
    return;
  }
  for (const std::unique_ptr<Channel> &channel : channels)
    while (!channel->queue.empty() && frontIsDone(*channel)) {
      collectives[channel->queue.front()]->stage = Stage::Done;
      channel->queue.pop();
      --inFlight;
      if (mode == Collectives::Ring && !channel->queue.empty())
        startRing(*channel);
    }
}

void Channels::wait(int number) {
  Collective &collective = *collectives.at(number);
  if (collective.stage == Stage::Idle)
    throw std::logic_error("collective '" + collective.spec.name +
                           "' is waited for and was not started");
  while (true) {
    uint64_t seen = transport.completions();
    progress();
    if (collective.stage == Stage::Done)
      break;
    transport.awaitCompletion(seen);
  }
  collective.stage = Stage::Idle;
}

bool Channels::done(int number) const {
  return collectives.at(number)->stage != Stage::InFlight;
}

uint64_t Channels::bytesSent(int number) const {
  const Collective &collective = *collectives.at(number);
  if (mode == Collectives::Native)
    return 0;
  const CollectiveSpec &spec = collective.spec;
  const Group &group = collective.channel->group;
  return static_cast<uint64_t>(ringElementsSent(spec.op, spec.elements,
                                                group.size(), group.position)) *
         sizeOf(spec.type);
}

int Channels::unusedChannel() const {
  int unused = 0;
  for (const std::unique_ptr<Channel> &channel : channels)
    unused = std::max(unused, channel->number + 1);
  return unused;
}

} // namespace ppopt::comm
