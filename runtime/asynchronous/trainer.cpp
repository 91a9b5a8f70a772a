//===- trainer.cpp - A rank that pulls, computes and pushes ---------------===//

#include "asynchronous/trainer.h"

#include "asynchronous/expect.h"

#include <algorithm>
#include <utility>

namespace ppopt::asynchronous {

Trainer::Trainer(int self, std::vector<int> bucketCounts)
    : self(self), buckets(std::move(bucketCounts)) {
  int total = 0;
  for (int count : buckets) {
    firstBucket.push_back(total);
    total += count;
  }
  isAnswered.resize(total, true);
  theVersions.resize(total, 0);
}

void Trainer::beginRound(Actions &out) {
  expect(thePhase == Phase::Between, "a round begins after an agreement");
  thePhase = Phase::Asks;
  theStep = 0;
  ask(out);
}

void Trainer::receive(const Message &message, Actions &out) {
  if (message.kind == Message::Kind::Proceed) {
    expect(thePhase == Phase::Serves, "an agreement follows the last step");
    thePhase = Phase::Between;
    return;
  }
  expect(hasAsked, "a ticket comes when it is asked for");
  hasAsked = false;
  prefetched = message.kind == Message::Kind::Ticket ? Prefetched::Ticket
                                                     : Prefetched::Stop;
  prefetchedTicket = message.ticket;
  if (thePhase == Phase::Asks)
    goOn(out);
}

bool Trainer::awaitsAnswer(int owner) const {
  if (thePhase != Phase::Pulls)
    return false;
  auto first = isAnswered.begin() + firstBucket[owner];
  return std::find(first, first + buckets[owner], false) !=
         first + buckets[owner];
}

void Trainer::answered(int owner, const Message &message, Actions &out) {
  expect(thePhase == Phase::Pulls && message.step == theStep,
         "an answer is for the pull of this step");
  int entry = firstBucket[owner] + message.bucket;
  expect(!isAnswered[entry], "a bucket is pulled once in a step");
  isAnswered[entry] = true;
  theVersions[entry] = message.version;
  theStaleness.add(
      {message.staleness, message.staleness, message.staleness, 1});
  theHeldSeconds = std::max(theHeldSeconds, message.heldSeconds);
  if (--missing == 0)
    begin(out);
}

void Trainer::computed(bool good, Actions &out) {
  expect(thePhase == Phase::Computes, "what is computed was begun");
  Message message;
  message.step = theStep;
  message.ticket = theTicket;
  message.kind = good ? Message::Kind::Push : Message::Kind::Drop;
  forEachOwner([&](int owner) {
    int messages = good ? buckets[owner] : std::min(buckets[owner], 1);
    for (int bucket = 0; bucket < messages; ++bucket) {
      message.bucket = bucket;
      out.push_back({Action::Kind::Send, Link::ToOwner, owner, message});
    }
  });
  ++theStep;
  theTicket = 0;
  thePhase = Phase::Asks;
  if (prefetched != Prefetched::Nothing)
    goOn(out);
}

/// Takes what is prefetched.
void Trainer::goOn(Actions &out) {
  Prefetched taken = std::exchange(prefetched, Prefetched::Nothing);
  int64_t ticket = std::exchange(prefetchedTicket, 0);
  if (taken == Prefetched::Stop)
    return finish(out);
  theTicket = ticket;
  ask(out);
  thePhase = Phase::Pulls;
  std::fill(isAnswered.begin(), isAnswered.end(), false);
  missing = static_cast<int>(isAnswered.size());
  theStaleness = {};
  theHeldSeconds = 0;
  Message pull;
  pull.kind = Message::Kind::Pull;
  pull.step = theStep;
  forEachOwner([&](int owner) {
    if (buckets[owner] > 0)
      out.push_back({Action::Kind::Send, Link::ToOwner, owner, pull});
  });
  if (missing == 0)
    begin(out);
}

void Trainer::begin(Actions &out) {
  thePhase = Phase::Computes;
  Message message;
  message.kind = Message::Kind::Ticket;
  message.step = theStep;
  message.ticket = theTicket;
  out.push_back({Action::Kind::Compute, Link::FromMaster, self, message});
}

void Trainer::finish(Actions &out) {
  thePhase = Phase::Serves;
  Message done;
  done.kind = Message::Kind::Done;
  done.step = theStep;
  forEachOwner([&](int owner) {
    out.push_back({Action::Kind::Send, Link::ToOwner, owner, done});
  });
}

void Trainer::ask(Actions &out) {
  hasAsked = true;
  out.push_back({Action::Kind::Send, Link::ToMaster, 0, {}});
}

/// Each trainer begins with the owner after itself, so that not all of them
/// begin with the same one.
template <typename Send> void Trainer::forEachOwner(const Send &send) {
  int owners = static_cast<int>(buckets.size());
  for (int i = 1; i <= owners; ++i)
    send((self + i) % owners);
}

} // namespace ppopt::asynchronous
