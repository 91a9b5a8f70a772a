//===- tickets.cpp - Hands out the parts of global batches ----------------===//

#include "asynchronous/tickets.h"

#include "asynchronous/expect.h"

#include <algorithm>

namespace ppopt::asynchronous {

TicketMaster::TicketMaster(int trainers, int members, int64_t first)
    : members(members), next(first), end(first), stopped(trainers),
      asked(trainers, 0) {
  expect(first % trainers == 0, "the first ticket begins a global batch");
}

void TicketMaster::beginRound(int64_t newEnd, Actions &out) {
  expect(!isOpen(), "one round ends before the next begins");
  expect(newEnd >= next && newEnd % trainers() == 0,
         "a round ends with a global batch");
  end = stopping ? next : newEnd;
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
  if (next < end) {
    message.kind = Message::Kind::Ticket;
    message.ticket = next++;
  } else {
    message.kind = Message::Kind::Stop;
    message.ticket = end;
    ++stopped;
  }
  out.push_back({Action::Kind::Send, Link::FromMaster, trainer, message});
}

void TicketMaster::stop() {
  stopping = true;
  if (isOpen())
    end = std::min(end, (next + trainers() - 1) / trainers() * trainers());
}

} // namespace ppopt::asynchronous
