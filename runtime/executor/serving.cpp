//===- serving.cpp - Drives a rank of asynchronous training ---------------===//

#include "executor/serving.h"

#include "base/checksum.h"
#include "base/error.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ppopt::runtime {

using asynchronous::Action;
using asynchronous::Actions;
using asynchronous::Shape;

namespace {

int findSelf(const std::vector<int> &jobRanks, int jobRank) {
  auto found = std::find(jobRanks.begin(), jobRanks.end(), jobRank);
  if (found == jobRanks.end())
    throw std::logic_error("the rank is none of a trainer's");
  return int(found - jobRanks.begin());
}

/// Returns the most messages of a rank that have not left: to each owner the
/// pushes of a step, what follows them and the next pull; to each trainer an
/// answer per bucket; to rank 0 a question and a report; from rank 0 to each
/// rank a ticket and the end of a round.
size_t mostOutgoing(const Shape &shape, size_t buckets) {
  return size_t(shape.trainers) * (2 * buckets + 3) +
         size_t(shape.ranks()) * 3 + 3;
}

/// Returns a checksum that is not 0, which a record has for one that is not
/// known.
uint64_t digestOf(const void *data, size_t bytes) {
  uint64_t sum = train::checksumOf({static_cast<const char *>(data), bytes});
  return sum == 0 ? 1 : sum;
}

} // namespace

Serving::Serving(comm::Transport *transport, int firstChannel,
                 const Shape &shape, std::vector<int> ranks, int jobRank,
                 ServedBuckets &buckets, int64_t first, int64_t arrivals,
                 ServedReports newReports)
    : transport(transport), firstChannel(firstChannel), shape(shape),
      jobRanks(std::move(ranks)), self(findSelf(jobRanks, jobRank)),
      trainer(shape.trainerOf(self)), member(shape.memberOf(self)),
      memory(buckets), reports(std::move(newReports)),
      machines(shape, self, first, arrivals), report(reports.bytes),
      pulledAt(size_t(shape.trainers)) {
  if (shape.buckets[size_t(self)] != int(memory.buckets().size()))
    throw std::logic_error("the shape and the memory differ in buckets");
  std::memcpy(report.data(), reports.none, reports.bytes);
  if (!transport)
    return;
  addPorts();
  outgoing.resize(mostOutgoing(shape, memory.buckets().size()));
  for (Outgoing &each : outgoing)
    each.report.resize(reports.bytes);
  transport->reserve(int(ports.size() + 2 * outgoing.size()));
}

Serving::~Serving() {
  for (Port &port : ports)
    if (port.request.pending())
      transport->cancel(port.request);
  for (Outgoing &each : outgoing)
    for (comm::Request *request : {&each.header, &each.data})
      if (request->pending())
        transport->cancel(*request);
}

void Serving::addPorts() {
  auto add = [&](Link link, int peer, int rank) {
    if (rank == self)
      return;
    Port &port = ports.emplace_back();
    port.link = link;
    port.peer = peer;
    port.jobRank = jobRanks[size_t(rank)];
    port.report.resize(reports.bytes);
  };
  if (self == 0)
    for (int rank = 0; rank < shape.ranks(); ++rank)
      add(Link::ToMaster, rank, rank);
  add(Link::FromMaster, 0, 0);
  for (int other = 0; other < shape.trainers; ++other) {
    add(Link::ToOwner, other, shape.rankOf(other, member));
    add(Link::FromOwner, other, shape.rankOf(other, member));
  }
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void Serving::beginRound(int64_t end) {
  current = {};
  perform(machines.beginRound(end));
}

void Serving::computed(bool good, double clipScale, double learningRate,
                       const void *newReport) {
  if (recorder)
    recordStep(good);
  if (self == 0)
    reports.receive(jobRanks[0], newReport);
  else
    std::memcpy(report.data(), newReport, reports.bytes);
  ownPush.clipScale = clipScale;
  ownPush.learningRate = learningRate;
  current = {};
  perform(machines.computed(good));
}

/// The working copy has not changed since it was pulled.
void Serving::recordStep(bool good) {
  const asynchronous::Trainer &own = machines.trainer();
  asynchronous::StepRecord step;
  step.step = own.step();
  step.ticket = own.ticket();
  step.isGood = good;
  step.versions = own.versions();
  const auto &buckets = memory.buckets();
  for (int owner = 0; owner < shape.trainers; ++owner)
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket)
      step.digests.push_back(digestOf(memory.working(int(bucket), owner),
                                      buckets[bucket].parameterBytes));
  recorder->add(step);
}

void Serving::progress() {
  // Looking at requests costs up to a microsecond.
  constexpr std::chrono::microseconds interval(20);
  if (Clock::now() - last >= interval)
    progressBeforeBlocking();
}

void Serving::progressBeforeBlocking() {
  if (isBusy || !transport)
    return;
  while (pass()) {
  }
  last = Clock::now();
}

/// Returns whether anything has happened.
bool Serving::pass() {
  bool hasSent = testSends();
  return testReceives() || hasSent;
}

bool Serving::testSends() {
  bool moved = false;
  for (Outgoing &each : outgoing) {
    if (!each.isUsed || !transport->test(each.header) ||
        !transport->test(each.data))
      continue;
    moved = true;
    each.isUsed = false;
    pushesInFlight -= each.isPush;
    if (each.answered)
      perform(machines.sent(*each.answered, each.message));
  }
  return moved;
}

bool Serving::testReceives() {
  bool moved = false;
  for (Port &port : ports) {
    auto post = [&](Port::Stage stage, void *data, size_t bytes) {
      port.stage = stage;
      port.request = transport->irecv(data, bytes, port.jobRank,
                                      firstChannel + int(port.link));
    };
    if (port.stage == Port::Stage::Idle &&
        machines.accepts(port.link, port.peer))
      post(Port::Stage::Header, &port.message, sizeof port.message);
    if (port.stage == Port::Stage::Header && transport->test(port.request)) {
      size_t bytes = 0;
      if (void *data = dataOf(port, bytes))
        post(Port::Stage::Data, data, bytes);
      else
        deliver(port);
      moved = true;
    }
    if (port.stage == Port::Stage::Data && transport->test(port.request)) {
      deliver(port);
      moved = true;
    }
  }
  return moved;
}

/// Returns where the data that follow a message go; null if none follow.
void *Serving::dataOf(const Port &port, size_t &bytes) {
  const auto &buckets = memory.buckets();
  const Message &message = port.message;
  bool hasBucket = message.kind == Message::Kind::Answer ||
                   message.kind == Message::Kind::Push;
  if (hasBucket &&
      (message.bucket < 0 || size_t(message.bucket) >= buckets.size()))
    throw std::logic_error("rank " + std::to_string(port.jobRank) +
                           " sends a bucket that does not exist");
  switch (message.kind) {
  case Message::Kind::Answer:
    bytes = buckets[size_t(message.bucket)].parameterBytes;
    return memory.working(message.bucket, port.peer);
  case Message::Kind::Push:
    bytes = buckets[size_t(message.bucket)].gradientBytes;
    return memory.inbox(port.peer);
  case Message::Kind::Request:
  case Message::Kind::Drained:
    bytes = reports.bytes;
    return const_cast<char *>(port.report.data());
  default:
    return nullptr;
  }
}

void Serving::deliver(Port &port) {
  port.stage = Port::Stage::Idle;
  if (port.link == Link::ToMaster)
    reports.receive(port.jobRank, port.report.data());
  if (port.message.kind == Message::Kind::Pull)
    pulledAt[size_t(port.peer)] = Clock::now();
  perform(machines.receive(port.link, port.peer, port.message));
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

/// None of them is an event for the machines, so the list stays.
void Serving::perform(const Actions &actions) {
  for (const Action &action : actions) {
    switch (action.kind) {
    case Action::Kind::Send:
      send(action);
      break;
    case Action::Kind::Copy:
      copy(action);
      break;
    case Action::Kind::Apply:
      apply(action);
      break;
    case Action::Kind::Compute:
      break; // phase() says so
    case Action::Kind::Agree:
      agreed = action.message;
      break;
    }
  }
}

void Serving::send(const Action &action) {
  auto free = std::find_if(outgoing.begin(), outgoing.end(),
                           [](const Outgoing &each) { return !each.isUsed; });
  if (free == outgoing.end())
    throw std::logic_error("more messages are under way than there can be");
  Outgoing &out = *free;
  out.isUsed = true;
  out.isPush = false;
  out.answered.reset();
  out.message = action.message;
  bool isOfTrainers =
      action.link == Link::ToOwner || action.link == Link::FromOwner;
  int to = isOfTrainers                    ? shape.rankOf(action.peer, member)
           : action.link == Link::ToMaster ? 0
                                           : action.peer;
  const void *data = nullptr;
  size_t bytes = 0;
  switch (out.message.kind) {
  case Message::Kind::Push:
    out.isPush = true;
    ++pushesInFlight;
    out.message.clipScale = ownPush.clipScale;
    out.message.learningRate = ownPush.learningRate;
    data = memory.gradient(out.message.bucket, action.peer);
    bytes = memory.buckets()[size_t(out.message.bucket)].gradientBytes;
    break;
  case Message::Kind::Answer:
    out.answered = action.peer;
    out.message.heldSeconds = std::chrono::duration<double>(
                                  Clock::now() - pulledAt[size_t(action.peer)])
                                  .count();
    data = memory.master(out.message.bucket);
    bytes = memory.buckets()[size_t(out.message.bucket)].parameterBytes;
    if (recorder)
      recorder->add(asynchronous::OrderEntry::Kind::Answered,
                    out.message.bucket, action.peer, out.message.step,
                    digestOf(data, bytes));
    break;
  case Message::Kind::Request:
  case Message::Kind::Drained:
    out.report = report;
    std::memcpy(report.data(), reports.none, reports.bytes);
    data = out.report.data();
    bytes = reports.bytes;
    break;
  default:
    break;
  }
  int channel = firstChannel + int(action.link);
  out.header = transport->isend(&out.message, sizeof out.message,
                                jobRanks[size_t(to)], channel);
  sentBytes += sizeof out.message + bytes;
  if (data)
    out.data = transport->isend(data, bytes, jobRanks[size_t(to)], channel);
}

void Serving::copy(const Action &action) {
  const Message &message = action.message;
  size_t bytes = memory.buckets()[size_t(message.bucket)].parameterBytes;
  const void *master = memory.master(message.bucket);
  std::memcpy(memory.working(message.bucket, trainer), master, bytes);
  if (recorder)
    recorder->add(asynchronous::OrderEntry::Kind::Answered, message.bucket,
                  trainer, message.step, digestOf(master, bytes));
}

void Serving::apply(const Action &action) {
  Message push = action.message;
  const void *gradient = memory.inbox(action.peer);
  if (action.peer == trainer) {
    push.clipScale = ownPush.clipScale;
    push.learningRate = ownPush.learningRate;
    gradient = memory.gradient(push.bucket, trainer);
  }
  isBusy = true;
  memory.update(push.bucket, gradient, push);
  isBusy = false;
  if (!recorder && action.digest == 0)
    return;
  uint64_t digest =
      digestOf(memory.master(push.bucket),
               memory.buckets()[size_t(push.bucket)].parameterBytes);
  if (recorder)
    recorder->add(asynchronous::OrderEntry::Kind::Applied, push.bucket,
                  action.peer, push.step, digest);
  if (action.digest != 0 && action.digest != digest)
    throw Error("the run is not the recorded one: bucket {} of rank {} has "
                "other bits after the update of ticket {}: its samples are "
                "others, or this machine computes other bits",
                push.bucket, jobRanks[size_t(self)], push.ticket);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void Serving::block(bool (*holds)(const void *), const void *context) {
  if (!transport) {
    if (!holds(context))
      throw std::logic_error("the only rank waits for others");
    return;
  }
  comm::Activity::Wait wait(transport->activity());
  while (true) {
    Phase before = phase();
    Clock::time_point begin = Clock::now();
    uint64_t seen = transport->completions();
    progressBeforeBlocking();
    if (holds(context)) {
      addWait(before, Clock::now() - begin);
      return;
    }
    wait.on(comm::Activity::WaitsIn::Message, -1, findAwaited());
    transport->awaitCompletion(seen);
    addWait(before, Clock::now() - begin);
  }
}

void Serving::addWait(Phase phase, Clock::duration time) {
  double seconds = std::chrono::duration<double>(time).count();
  if (phase == Phase::Asks)
    current.ticket += seconds;
  else if (phase == Phase::Pulls)
    current.answers += seconds;
}

/// Returns a rank that this one waits for; anyRank if there is more than one.
int Serving::findAwaited() const {
  int found = comm::Activity::anyRank;
  for (const Port &port : ports) {
    bool isAwaited = phase() == Phase::Pulls ? port.link == Link::FromOwner
                                             : port.link == Link::FromMaster;
    if (!isAwaited || port.stage == Port::Stage::Idle)
      continue;
    if (found != comm::Activity::anyRank)
      return comm::Activity::anyRank;
    found = port.jobRank;
  }
  return found;
}

Serving::Waits Serving::waits() const {
  Waits waits = current;
  waits.held = machines.trainer().heldSeconds();
  return waits;
}

} // namespace ppopt::runtime
