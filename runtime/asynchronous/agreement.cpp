//===- agreement.cpp - When all ranks have ended a round ------------------===//

#include "asynchronous/agreement.h"

#include "asynchronous/expect.h"

#include <algorithm>

namespace ppopt::asynchronous {

void Agreement::beginRound() {
  std::fill(isDrained.begin(), isDrained.end(), false);
}

void Agreement::drained(int rank, int64_t tickets, Actions &out) {
  expect(awaits(rank), "a rank reports once in a round");
  isDrained[rank] = true;
  if (std::find(isDrained.begin(), isDrained.end(), false) != isDrained.end())
    return;
  Message message;
  message.kind = Message::Kind::Proceed;
  message.ticket = tickets;
  message.signal = theSignal;
  out.push_back({Action::Kind::Send, Link::FromMaster, 0, message});
}

} // namespace ppopt::asynchronous
