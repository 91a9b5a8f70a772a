//===- local_channels.cpp - Start and wait between places of a process ----===//

#include "comm/local_channels.h"

#include "comm/add_elements.h"

#include <cstring>
#include <stdexcept>

namespace ppopt::comm {

using namespace geometry;

namespace {

enum class Stage { Idle, Waiting, Done };

/// The positions of a transfer's ends.
constexpr int sender = 0, receiver = 1;

/// The numbers of ends in the order of their starts. Has room for all ends of a
/// member: each is in it once.
class Queue {
public:
  void makeRoom() { slots.push_back(-1); }
  bool empty() const { return count == 0; }
  int front() const { return slots[first]; }
  void push(int end) { slots[(first + count++) % slots.size()] = end; }
  void pop() {
    first = (first + 1) % slots.size();
    --count;
  }

private:
  std::vector<int> slots;
  size_t first = 0;
  size_t count = 0;
};

/// Returns whether every member ends with every chunk.
bool spreads(Collective kind) { return kind != Collective::ReduceScatter; }

/// Returns whether places of one process make it: what tasks alone start needs
/// several threads.
bool isMade(Collective kind) {
  return kind != Collective::AllToAll && kind != Collective::AllReduceMax;
}

/// Runs a collective on the buffers of its members, in their order. All chunks
/// of an all-reduce are summed on the first member.
void run(const CollectiveSpec &call, const std::vector<char *> &data) {
  auto members = int64_t(data.size()), size = int64_t(sizeOf(call.type));
  for (int64_t i = 0; i < members; ++i) {
    int64_t begin = chunkBegin(call.elements, members, i) * size;
    int64_t elements = chunkSize(call.elements, members, i);
    auto copy = [&](int64_t from, int64_t to) {
      if (from != to && elements > 0)
        std::memcpy(data[to] + begin, data[from] + begin, elements * size);
    };
    bool isOwned = call.kind == Collective::AllGather ||
                   call.kind == Collective::ReduceScatter;
    int64_t holder = isOwned ? i : 0;
    if (reduces(call.kind)) {
      for (int64_t member = 1; member < members; ++member)
        addElements(data[0] + begin, data[member] + begin, elements, call.type);
      copy(0, holder);
    }
    if (spreads(call.kind))
      for (int64_t member = 0; member < members; ++member)
        copy(holder, member);
  }
}

/// Returns the bytes that run() reads and writes.
int64_t bytesOf(const CollectiveSpec &call, int64_t members) {
  int64_t moved = 0;
  if (reduces(call.kind))
    moved += 3 * (members - 1) * call.elements;
  if (call.kind == Collective::ReduceScatter)
    moved += 2 * (call.elements - largestChunk(call.elements, members));
  if (spreads(call.kind))
    moved += 2 * (members - 1) * call.elements;
  return moved * int64_t(sizeOf(call.type));
}

} // namespace

/// One place's part of an operation.
struct LocalChannels::End {
  std::string name; ///< for messages
  Stage stage = Stage::Idle;
  Queue *starts = nullptr; ///< of its member
  Channel *channel = nullptr;
  CollectiveSpec collective; ///< or
  TransferSpec transfer;
};

/// The starts of the members of a group, or of a sender and a receiver, that
/// lack one of another member.
struct LocalChannels::Channel {
  int number = 0;
  bool isOfTransfers = false;
  std::vector<int> members; ///< of a transfer: the places that send and receive
  std::vector<Queue> starts;
  std::vector<char *> data; ///< used by complete()
};

LocalChannels::LocalChannels() = default;
LocalChannels::~LocalChannels() = default;

LocalChannels::Channel &
LocalChannels::channelOf(const std::vector<int> &members, int number,
                         bool isOfTransfers) {
  for (const std::unique_ptr<Channel> &channel : channels)
    if (channel->members == members && channel->number == number &&
        channel->isOfTransfers == isOfTransfers)
      return *channel;
  channels.push_back(std::make_unique<Channel>());
  Channel &channel = *channels.back();
  channel.number = number;
  channel.isOfTransfers = isOfTransfers;
  channel.members = members;
  channel.starts.resize(members.size());
  channel.data.resize(members.size());
  return channel;
}

LocalChannels::End &LocalChannels::add(Channel &channel, int position) {
  auto end = std::make_unique<End>();
  end->channel = &channel;
  end->starts = &channel.starts[position];
  end->starts->makeRoom();
  ends.push_back(std::move(end));
  return *ends.back();
}

int LocalChannels::define(const CollectiveSpec &spec, const Members &group) {
  auto refuse = [&](const std::string &why) {
    throw std::invalid_argument("collective '" + spec.name + "': " + why);
  };
  if (spec.elements < 0)
    refuse("it has " + std::to_string(spec.elements) + " elements");
  if (!isMade(spec.kind))
    refuse(std::string("places of one process have no ") + nounOf(spec.kind));
  if (group.position < 0 || group.position >= group.size())
    refuse("a group of " + std::to_string(group.size()) + " has no member " +
           std::to_string(group.position));
  if (!spec.data && spec.elements > 0 && group.size() > 1)
    refuse("it has no memory, and the only thread of all places can't wait for "
           "the others inside a task");
  End &end = add(channelOf(group.ranks, spec.channel, /*isOfTransfers=*/false),
                 group.position);
  end.name = "collective '" + spec.name + "'";
  end.collective = spec;
  return int(ends.size()) - 1;
}

int LocalChannels::define(const TransferSpec &spec, int place) {
  if (place == spec.peer)
    throw std::invalid_argument("transfer '" + spec.name +
                                "': both ends are on place " +
                                std::to_string(place));
  int from = spec.sends ? place : spec.peer;
  int to = spec.sends ? spec.peer : place;
  End &end = add(channelOf({from, to}, spec.channel, /*isOfTransfers=*/true),
                 spec.sends ? sender : receiver);
  end.name = "transfer '" + spec.name + "'";
  end.transfer = spec;
  return int(ends.size()) - 1;
}

/// Throws if the ends at the front of the queues are of different operations.
void LocalChannels::checkFit(const Channel &channel) const {
  const End &first = *ends[channel.starts[0].front()];
  for (const Queue &starts : channel.starts) {
    const End &end = *ends[starts.front()];
    const CollectiveSpec &a = first.collective, &b = end.collective;
    if (first.transfer.bytes != end.transfer.bytes || a.kind != b.kind ||
        a.elements != b.elements || a.type != b.type)
      throw std::logic_error(end.name + " does not fit to " + first.name +
                             ", with which it was started");
  }
}

/// Does the operation that all members have started.
void LocalChannels::complete(Channel &channel) {
  checkFit(channel);
  const End &first = *ends[channel.starts[0].front()];
  for (size_t member = 0; member < channel.data.size(); ++member) {
    End &end = *ends[channel.starts[member].front()];
    channel.starts[member].pop();
    channel.data[member] = static_cast<char *>(
        channel.isOfTransfers ? end.transfer.data : end.collective.data);
    end.stage = Stage::Done;
  }
  if (!channel.isOfTransfers)
    return run(first.collective, channel.data);
  if (first.transfer.bytes > 0)
    std::memcpy(channel.data[receiver], channel.data[sender],
                first.transfer.bytes);
}

bool LocalChannels::start(int number) {
  End &end = *ends.at(number);
  if (end.stage != Stage::Idle)
    throw std::logic_error(end.name + " is started again before its wait");
  end.stage = Stage::Waiting;
  end.starts->push(number);
  for (const Queue &starts : end.channel->starts)
    if (starts.empty())
      return false;
  complete(*end.channel);
  return true;
}

void LocalChannels::wait(int number) {
  End &end = *ends.at(number);
  if (end.stage == Stage::Idle)
    throw std::logic_error(end.name + " is not in flight");
  if (end.stage == Stage::Waiting)
    throw std::logic_error(end.name + " is waited for before all its ends are "
                                      "started: the wait would never end");
  end.stage = Stage::Idle;
}

bool LocalChannels::isStarted(int number) const {
  return ends.at(number)->stage != Stage::Idle;
}

int64_t LocalChannels::bytesMoved(int number) const {
  const End &end = *ends.at(number);
  return end.channel->isOfTransfers
             ? 2 * int64_t(end.transfer.bytes)
             : bytesOf(end.collective, int64_t(end.channel->members.size()));
}

} // namespace ppopt::comm
