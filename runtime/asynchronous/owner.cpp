//===- owner.cpp - Applies updates, and answers pulls ---------------------===//

#include "asynchronous/owner.h"

#include "asynchronous/expect.h"
#include "base/error.h"

#include <algorithm>
#include <utility>

namespace ppopt::asynchronous {

Owner::Owner(int trainers, int buckets, std::optional<int64_t> bound,
             int64_t arrivals)
    : bound(bound), running(trainers), theBuckets(buckets), peers(trainers) {
  queue.reserve(trainers);
  for (Bucket &bucket : theBuckets)
    bucket.arrivals = arrivals;
  for (Peer &peer : peers)
    peer.isAnswered.resize(buckets, true);
}

void Owner::follow(std::vector<std::vector<BucketOrder>> orders) {
  repeats = true;
  recorded = std::move(orders);
}

void Owner::beginRound() {
  expect(!isOpen, "an owner is drained before the next round begins");
  isOpen = true;
}

void Owner::receive(int trainer, const Message &message, Actions &out) {
  Peer &peer = peers[trainer];
  expect(accepts(trainer),
         "a trainer's messages are received one after the other");
  bool hasBuckets = !theBuckets.empty();
  expect(!hasBuckets || message.step == peer.finished,
         "each step of a trainer arrives once, and in order");
  expect(peer.nextBucket == 0 || message.kind == Message::Kind::Push,
         "the pushes of a step arrive together");
  switch (message.kind) {
  case Message::Kind::Pull:
    peer.waits = Waits::Pull;
    std::fill(peer.isAnswered.begin(), peer.isAnswered.end(), false);
    return advanceAll(out);
  case Message::Kind::Push:
    expect(message.bucket == peer.nextBucket,
           "the buckets of a step are pushed in their order");
    peer.waits = Waits::Push;
    peer.push = message;
    queue.push_back(trainer);
    return advance(message.bucket, out);
  case Message::Kind::Drop:
    ++peer.finished;
    return advanceAll(out);
  case Message::Kind::Done:
    peer.isDone = true;
    if (--running == 0)
      return endRound(out);
    return advanceAll(out);
  default:
    expect(false, "trainers send pulls and pushes to owners");
  }
}

void Owner::sent(int trainer, int bucket, Actions &out) {
  expect(theBuckets[bucket].sending > 0 && peers[trainer].sending > 0,
         "what was sent was being sent");
  --theBuckets[bucket].sending;
  --peers[trainer].sending;
  advance(bucket, out);
}

bool Owner::isIdle() const {
  return std::all_of(peers.begin(), peers.end(), [](const Peer &peer) {
    return peer.waits == Waits::Nothing && peer.nextBucket == 0 &&
           peer.sending == 0;
  });
}

void Owner::advanceAll(Actions &out) {
  for (size_t bucket = 0; bucket < theBuckets.size(); ++bucket)
    advance(static_cast<int>(bucket), out);
}

/// Does all that may be done for a bucket: an update may be what a pull waits
/// for.
void Owner::advance(int bucket, Actions &out) {
  while (applyNext(bucket, out) || answerNext(bucket, out))
    ;
  if (repeats)
    checkRecord(bucket);
}

bool Owner::applyNext(int bucket, Actions &out) {
  if (theBuckets[bucket].sending > 0)
    return false;
  auto found = std::find_if(queue.begin(), queue.end(), [&](int trainer) {
    return peers[trainer].push.bucket == bucket &&
           isNext(OrderEntry::Kind::Applied, trainer, bucket);
  });
  if (found == queue.end())
    return false;
  int trainer = *found;
  queue.erase(found);
  apply(trainer, out);
  return true;
}

bool Owner::answerNext(int bucket, Actions &out) {
  if (!repeats && pushWaits(bucket))
    return false;
  for (int trainer = 0; trainer < static_cast<int>(peers.size()); ++trainer) {
    const Peer &peer = peers[trainer];
    bool asks = peer.waits == Waits::Pull && !peer.isAnswered[bucket];
    if (!asks || !isNext(OrderEntry::Kind::Answered, trainer, bucket))
      continue;
    if (!repeats && !isFreshEnough(bucket, peer.finished))
      continue;
    answer(trainer, bucket, out);
    return true;
  }
  return false;
}

/// Returns whether a recorded run did this next; true if there is none.
bool Owner::isNext(OrderEntry::Kind kind, int trainer, int bucket) const {
  if (!repeats)
    return true;
  if (round == recorded.size())
    return false;
  const BucketOrder &order = recorded[round][bucket];
  size_t place = theBuckets[bucket].followed;
  return place < order.size() && order[place].kind == kind &&
         order[place].trainer == trainer &&
         order[place].step == peers[trainer].finished;
}

/// Throws if what a recorded run did next can no longer happen, or if more
/// happens than it did.
void Owner::checkRecord(int bucket) const {
  bool hasRound = round < recorded.size();
  size_t place = theBuckets[bucket].followed;
  if (hasRound && place < recorded[round][bucket].size()) {
    const OrderEntry &next = recorded[round][bucket][place];
    const Peer &peer = peers[next.trainer];
    if (peer.isDone || finished(peer, bucket) > next.step)
      throw runtime::Error(
          "the run is not the recorded one: trainer {} has ended step {} of "
          "round {}, and the record has {} first",
          next.trainer, next.step, round,
          next.kind == OrderEntry::Kind::Applied ? "an update" : "a pull");
    return;
  }
  for (const Peer &peer : peers)
    if (peer.waits == Waits::Push
            ? peer.push.bucket == bucket
            : peer.waits == Waits::Pull && !peer.isAnswered[bucket])
      throw runtime::Error("the run is not the recorded one: it has more "
                           "updates or pulls than round {} of the record",
                           round);
}

/// A recorded run did the same.
void Owner::follow(int bucket) {
  if (repeats)
    ++theBuckets[bucket].followed;
}

bool Owner::pushWaits(int bucket) const {
  return std::any_of(queue.begin(), queue.end(), [&](int trainer) {
    return peers[trainer].push.bucket == bucket;
  });
}

/// Returns whether the bound lets a trainer have the bucket for its step
/// `step`.
bool Owner::isFreshEnough(int bucket, int64_t step) const {
  return !bound ||
         std::all_of(peers.begin(), peers.end(), [&](const Peer &peer) {
           return peer.isDone || finished(peer, bucket) >= step - *bound;
         });
}

void Owner::apply(int trainer, Actions &out) {
  Peer &peer = peers[trainer];
  Message update = peer.push;
  Bucket &bucket = theBuckets[update.bucket];
  update.version = ++bucket.arrivals;
  uint64_t digest =
      repeats ? recorded[round][update.bucket][bucket.followed].digest : 0;
  follow(update.bucket);
  out.push_back({Action::Kind::Apply, Link::ToOwner, trainer, update, digest});
  peer.push = {};
  peer.waits = Waits::Nothing;
  if (++peer.nextBucket == static_cast<int>(theBuckets.size())) {
    peer.nextBucket = 0;
    ++peer.finished;
  }
}

void Owner::answer(int trainer, int bucket, Actions &out) {
  Peer &peer = peers[trainer];
  Message message;
  message.kind = Message::Kind::Answer;
  message.bucket = bucket;
  message.step = peer.finished;
  message.version = theBuckets[bucket].arrivals;
  for (const Peer &other : peers)
    if (!other.isDone)
      message.staleness = std::max(
          message.staleness,
          static_cast<int32_t>(peer.finished - finished(other, bucket)));
  ++theBuckets[bucket].sending;
  ++peer.sending;
  follow(bucket);
  peer.isAnswered[bucket] = true;
  if (std::all_of(peer.isAnswered.begin(), peer.isAnswered.end(),
                  [](bool is) { return is; }))
    peer.waits = Waits::Nothing;
  out.push_back({Action::Kind::Send, Link::FromOwner, trainer, message});
}

/// All trainers are done, so nothing of the round is left.
void Owner::endRound(Actions &out) {
  expect(isIdle(), "a trainer is done after all else");
  isOpen = false;
  running = static_cast<int>(peers.size());
  for (Peer &peer : peers) {
    peer.isDone = false;
    peer.finished = 0;
  }
  for (Bucket &bucket : theBuckets)
    bucket.followed = 0;
  if (repeats)
    ++round;
  Message message;
  message.kind = Message::Kind::Drained;
  out.push_back({Action::Kind::Send, Link::ToMaster, 0, message});
}

} // namespace ppopt::asynchronous
