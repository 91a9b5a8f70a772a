//===- nccl_launch.cpp - Operations of NCCL in streams --------------------===//
//
// Two operations of a stream: one that starts, and one that ends, for which the
// other ranks are blockers. In between, nobody knows what received bytes hold.
//
//===----------------------------------------------------------------------===//

#include "fake/nccl_launch.h"

#include <algorithm>
#include <cstring>

namespace ppopt::cuda::fake {
namespace {

/// Returns the parts of some bytes that are not in others.
std::vector<Bytes> subtract(const Bytes &from, const Bytes &others) {
  if (from.size == 0)
    return {};
  if (!from.overlaps(others))
    return {from};
  std::vector<Bytes> left;
  if (from.begin < others.begin)
    left.push_back({from.begin, others.begin - from.begin});
  if (others.end() < from.end())
    left.push_back({others.end(), from.end() - others.end()});
  return left;
}

/// What a gather in place sends is a part of the result already.
std::vector<Bytes> changedBy(const Part &part) {
  if (part.request.kind == Request::Kind::allGather)
    return subtract(part.received, part.sent);
  return subtract(part.received, {});
}

std::vector<Bytes> keptBy(const Part &part) {
  if (part.request.kind == Request::Kind::allGather)
    return subtract(part.sent, {});
  return subtract(part.sent, part.received);
}

char *storageOf(const Part &part, const Bytes &received) {
  return part.receivedStorage + (received.begin - part.received.begin);
}

class Launch {
public:
  Launch(RankGroup &group, int rank, std::vector<Part> parts)
      : group(group), rank(rank), parts(std::move(parts)) {}

  std::string name() const {
    std::string text = parts.size() > 1 ? "a group of " : "";
    for (const Part &part : parts)
      text += (&part == parts.data() ? "" : ", ") + part.request.describe();
    return fmt::format("{}, rank {} of {}", text, rank, group.name);
  }
  void issue(const OperationRef &start);
  void attach(const OperationRef &end);
  void start();
  void end();

private:
  using Calls = std::shared_ptr<std::vector<CallRef>>;
  LocalRank &local() const { return *group.members[rank].local; }
  bool isUsable() const {
    return !group.failure && group.members[rank].presence == Presence::active;
  }
  void count() const;
  void checkUntouched(const Part &part, const CallRef &call) const;
  void receive(const Part &part, const CallRef &call) const;

  RankGroup &group;
  int rank;
  std::vector<Part> parts;
  /// The calls of each time that it is launched, in order.
  std::deque<Calls> issued, started;
};

void Launch::count() const {
  Counters &counters = Machine::get().counters;
  for (const Part &part : parts) {
    size_t bytes = std::max(part.sent.size, part.received.size);
    if (!part.request.isTransfer()) {
      ++counters.collectives;
      counters.collectiveBytes += int64_t(bytes);
    } else if (part.request.kind == Request::Kind::send) {
      ++counters.transfers;
      counters.transferBytes += int64_t(bytes);
    }
  }
}

void Launch::issue(const OperationRef &start) {
  if (!isUsable()) {
    Machine::get().fail(*local().context, DriverResult::illegalAddress,
                        fmt::format("{}: the communicator is {}",
                                    start->describe(),
                                    group.failure ? "broken" : "destroyed"));
    return;
  }
  count();
  if (local().last && !local().last->isDone)
    start->after.push_back(local().last);
  auto calls = std::make_shared<std::vector<CallRef>>();
  for (const Part &part : parts)
    calls->push_back(group.issue(rank, part.request, start->where, start));
  issued.push_back(std::move(calls));
}

void Launch::attach(const OperationRef &end) {
  local().last = end;
  if (issued.empty())
    return;
  const Calls &calls = issued.back();
  for (const CallRef &call : *calls)
    if (!call->isReleased) {
      call->end = end;
      ++end->blockers;
    }
  end->waitsFor = [&group = group, calls] {
    std::string text;
    for (const CallRef &call : *calls) {
      std::string wait = group.describeWait(call);
      if (!wait.empty())
        text += (text.empty() ? "" : "; and ") +
                (calls->size() > 1 ? "in " + call->request.describe() + " for "
                                   : "") +
                wait;
    }
    return text;
  };
}

void Launch::start() {
  Calls calls = issued.front();
  issued.pop_front();
  started.push_back(calls);
  if (!isUsable())
    return;
  std::vector<SentBytes> sent;
  for (const Part &part : parts)
    sent.push_back(std::make_shared<const std::vector<char>>(
        part.sentStorage, part.sentStorage + part.sent.size));
  for (const Part &part : parts)
    for (const Bytes &bytes : changedBy(part))
      std::memset(storageOf(part, bytes), poison, bytes.size);
  for (size_t i = 0; i < parts.size(); ++i)
    group.start((*calls)[i], sent[i]);
}

void Launch::end() {
  Calls calls = started.front();
  started.pop_front();
  if (!isUsable())
    return;
  for (size_t i = 0; i < parts.size(); ++i)
    checkUntouched(parts[i], (*calls)[i]);
  for (size_t i = 0; i < parts.size(); ++i)
    receive(parts[i], (*calls)[i]);
}

/// Refuses bytes that another operation has written since the start.
void Launch::checkUntouched(const Part &part, const CallRef &call) const {
  auto refuseTouched = [&](const char *verb, uintptr_t address) {
    refuse(DriverResult::illegalAddress,
           "{}: the byte at {:#x}, which it {}, was written by another "
           "operation while it ran: an event between two streams is missing",
           part.request.describe(), address, verb);
  };
  for (const Bytes &bytes : keptBy(part)) {
    size_t offset = bytes.begin - part.sent.begin;
    const char *now = part.sentStorage + offset,
               *then = call->sent->data() + offset;
    auto changed = std::mismatch(now, now + bytes.size, then).first;
    if (changed != now + bytes.size)
      refuseTouched("sends", bytes.begin + size_t(changed - now));
  }
  for (const Bytes &bytes : changedBy(part)) {
    const char *now = storageOf(part, bytes);
    auto changed = std::find_if(now, now + bytes.size,
                                [](char byte) { return byte != char(poison); });
    if (changed != now + bytes.size)
      refuseTouched("receives", bytes.begin + size_t(changed - now));
  }
}

void Launch::receive(const Part &part, const CallRef &call) const {
  if (part.received.size == 0)
    return;
  std::vector<char> result;
  if (part.request.isTransfer()) {
    result = *call.of->calls[0].sent;
  } else {
    std::vector<SentBytes> sent;
    for (const Call &each : call.of->calls)
      sent.push_back(each.sent);
    result = resultOf(part.request, sent, rank);
  }
  for (const Bytes &bytes : changedBy(part))
    std::memcpy(storageOf(part, bytes),
                result.data() + (bytes.begin - part.received.begin),
                bytes.size);
}

} // namespace

Part makePart(const RankGroup &group, int rank, const Request &request,
              const void *send, void *receive) {
  Machine &machine = Machine::get();
  FakeContext &context = *group.members[rank].local->context;
  Part part;
  part.request = request;
  part.sent = {reinterpret_cast<uintptr_t>(send),
               request.sentBytes(group.size())};
  part.received = {reinterpret_cast<uintptr_t>(receive),
                   request.receivedBytes(group.size())};
  auto find = [&](const Bytes &bytes, const char *operand) -> char * {
    if (bytes.size == 0)
      return nullptr;
    if (bytes.begin % bytesOf(request.type) != 0)
      refuseNccl(NcclResult::invalidArgument,
                 "{} of {} is at {:#x}, which is not aligned", operand,
                 request.describe(), bytes.begin);
    return machine.storage(context, bytes.begin, bytes.size, operand,
                           request.describe());
  };
  part.sentStorage = find(part.sent, "the send buffer");
  part.receivedStorage = find(part.received, "the receive buffer");
  if (!part.sent.overlaps(part.received))
    return part;
  uintptr_t ahead = size_t(rank) * request.bytes();
  bool isInPlace = request.kind == Request::Kind::allReduce
                       ? part.sent.begin == part.received.begin
                   : request.kind == Request::Kind::allGather
                       ? part.sent.begin == part.received.begin + ahead
                       : part.received.begin == part.sent.begin + ahead;
  if (!isInPlace)
    refuseNccl(NcclResult::invalidArgument,
               "{}: the buffers overlap, {} bytes from {:#x} on and {} from "
               "{:#x}, and this is not in place",
               request.describe(), part.sent.size, part.sent.begin,
               part.received.size, part.received.begin);
  return part;
}

void launch(RankGroup &group, int rank, std::vector<Part> parts,
            const std::vector<FakeStream *> &streams) {
  auto shared = std::make_shared<Launch>(group, rank, std::move(parts));
  auto start = std::make_shared<Work>(), end = std::make_shared<Work>();
  end->name = shared->name();
  start->name = "start of " + end->name;
  start->onEnqueue = [=](const OperationRef &op) { shared->issue(op); };
  start->run = [=] { shared->start(); };
  end->onEnqueue = [=](const OperationRef &op) { shared->attach(op); };
  end->run = [=] { shared->end(); };
  start->owner = end->owner = group.members[rank].local.get();
  Machine::get().enqueue(streams, {start, end});
}

} // namespace ppopt::cuda::fake
