//===- tickets.cpp - Hands out the parts of global batches ----------------===//

#include "asynchronous/tickets.h"

#include "asynchronous/expect.h"

#include <algorithm>
#include <utility>

namespace ppopt::asynchronous {

TicketMaster::TicketMaster(int trainers, int members, int64_t first)
    : members(members), next(first), end(first), stopped(trainers),
      asked(trainers, 0) {
  expect(first % trainers == 0, "the first ticket begins a global batch");
}

void TicketMaster::follow(std::vector<std::vector<int64_t>> tickets,
                          int64_t last) {
  recorded = std::move(tickets);
  followed.assign(recorded.size(), 0);
  recordEnd = last;
}

void TicketMaster::beginRound(int64_t newEnd, Actions &out) {
  expect(!isOpen(), "one round ends before the next begins");
  expect(newEnd >= next && newEnd % trainers() == 0,
         "a round ends with a global batch");
  end = stopping ? next : isReplay() ? std::min(newEnd, recordEnd) : newEnd;
  stopped = 0;
  begun = false;
  beginIfAllAsked(out);
}

void TicketMaster::request(int trainer, Actions &out) {
  ++asked[trainer];
  expect(asked[trainer] <= members, "a rank asks once for a ticket");
  if (!isOpen())
    return;
  if (!begun)
    return beginIfAllAsked(out);
  if (asked[trainer] == members)
    answer(trainer, out);
}

void TicketMaster::beginIfAllAsked(Actions &out) {
  if (!std::all_of(asked.begin(), asked.end(),
                   [&](int ranks) { return ranks == members; }))
    return;
  begun = true;
  for (int trainer = 0; trainer < trainers(); ++trainer)
    answer(trainer, out);
}

void TicketMaster::answer(int trainer, Actions &out) {
  asked[trainer] = 0;
  Message message;
  if (std::optional<int64_t> ticket = take(trainer)) {
    message.kind = Message::Kind::Ticket;
    message.ticket = *ticket;
  } else {
    message.kind = Message::Kind::Stop;
    message.ticket = end;
    ++stopped;
  }
  out.push_back({Action::Kind::Send, Link::FromMaster, trainer, message});
}

/// Returns the next ticket of a trainer in this round, if there is one.
std::optional<int64_t> TicketMaster::take(int trainer) {
  if (!isReplay())
    return next < end ? std::optional<int64_t>(next++) : std::nullopt;
  const std::vector<int64_t> &tickets = recorded[trainer];
  size_t &place = followed[trainer];
  if (place == tickets.size() || tickets[place] >= end)
    return std::nullopt;
  ++next;
  return tickets[place++];
}

void TicketMaster::stop() {
  stopping = true;
  if (isOpen() && !isReplay())
    end = std::min(end, (next + trainers() - 1) / trainers() * trainers());
}

} // namespace ppopt::asynchronous
