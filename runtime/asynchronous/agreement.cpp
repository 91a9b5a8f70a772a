//===- agreement.cpp - When all ranks have ended a round ------------------===//

#include "asynchronous/agreement.h"

namespace ppopt::asynchronous {

void Agreement::drained(int64_t tickets, Actions &out) {
  if (--missing > 0)
    return;
  missing = ranks;
  Message message;
  message.kind = Message::Kind::Proceed;
  message.ticket = tickets;
  message.signal = theSignal;
  out.push_back({Action::Kind::Send, Link::FromMaster, 0, message});
}

} // namespace ppopt::asynchronous
