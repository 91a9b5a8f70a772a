//===- machines_test.cpp - Each state machine by itself -------------------===//

#include "asynchronous/agreement.h"
#include "asynchronous/owner.h"
#include "asynchronous/tickets.h"
#include "asynchronous/trainer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace ppopt::asynchronous;
using Kind = Message::Kind;

namespace {

const char *const kinds[] = {"request", "drained", "ticket", "stop", "proceed",
                             "pull",    "push",    "drop",   "done", "answer"};

/// Returns the actions in words, and forgets them.
std::vector<std::string> take(Actions &actions) {
  std::vector<std::string> words;
  for (const Action &action : actions) {
    const Message &message = action.message;
    std::string text = action.kind == Action::Kind::Apply ? "apply"
                       : action.kind == Action::Kind::Compute
                           ? "compute"
                           : kinds[int(message.kind)];
    text += " " + std::to_string(action.peer);
    if (message.kind == Kind::Ticket || message.kind == Kind::Stop)
      text += ": " + std::to_string(message.ticket);
    if (message.kind == Kind::Push || message.kind == Kind::Answer)
      text += ": " + std::to_string(message.bucket);
    if (action.kind == Action::Kind::Apply || message.kind == Kind::Answer)
      text += " version " + std::to_string(message.version);
    words.push_back(text);
  }
  actions.clear();
  return words;
}

using Words = std::vector<std::string>;

Message make(Kind kind, int64_t step, int bucket = 0) {
  Message message;
  message.kind = kind;
  message.step = step;
  message.bucket = bucket;
  return message;
}

Message ticket(int64_t number) {
  Message message;
  message.kind = Kind::Ticket;
  message.ticket = number;
  return message;
}

TEST(TicketMaster, HandsOutEachTicketOnce) {
  Actions out;
  TicketMaster master(2, 1, 4);
  master.beginRound(8, out);
  master.request(1, out);
  EXPECT_EQ(take(out), Words()) << "trainer 0 is not ready for the round";
  master.request(0, out);
  EXPECT_EQ(take(out), (Words{"ticket 0: 4", "ticket 1: 5"}));
  master.request(1, out);
  master.request(1, out);
  master.request(1, out);
  EXPECT_EQ(take(out), (Words{"ticket 1: 6", "ticket 1: 7", "stop 1: 8"}));
  master.request(0, out);
  EXPECT_EQ(take(out), (Words{"stop 0: 8"}));
}

TEST(TicketMaster, WaitsForAllRanksOfATrainer) {
  Actions out;
  TicketMaster master(1, 2, 0);
  master.request(0, out);
  master.request(0, out);
  EXPECT_EQ(take(out), Words()) << "no round has begun";
  master.beginRound(2, out);
  EXPECT_EQ(take(out), Words{"ticket 0: 0"});
  master.request(0, out);
  EXPECT_EQ(take(out), Words());
  master.request(0, out);
  EXPECT_EQ(take(out), Words{"ticket 0: 1"});
}

TEST(TicketMaster, StopsAtAMultipleOfTheTrainers) {
  Actions out;
  TicketMaster master(3, 1, 0);
  master.beginRound(30, out);
  for (int trainer = 0; trainer < 3; ++trainer)
    master.request(trainer, out);
  master.request(2, out);
  take(out);
  master.stop();
  EXPECT_EQ(master.roundEnd(), 6);
  master.stop();
  EXPECT_EQ(master.roundEnd(), 6);
  for (int trainer = 0; trainer < 3; ++trainer)
    master.request(trainer, out);
  EXPECT_EQ(take(out), (Words{"ticket 0: 4", "ticket 1: 5", "stop 2: 6"}));
}

TEST(TicketMaster, StopsBeforeARoundBegins) {
  Actions out;
  TicketMaster master(1, 1, 3);
  master.stop();
  master.beginRound(9, out);
  master.request(0, out);
  EXPECT_EQ(take(out), Words{"stop 0: 3"});
}

TEST(TicketMaster, RefusesWhatIsNoRound) {
  Actions out;
  EXPECT_THROW(TicketMaster(2, 1, 3), std::logic_error);
  TicketMaster master(2, 1, 4);
  EXPECT_THROW(master.beginRound(7, out), std::logic_error);
  EXPECT_THROW(master.beginRound(2, out), std::logic_error);
  master.beginRound(6, out);
  EXPECT_THROW(master.beginRound(8, out), std::logic_error);
  master.request(0, out);
  EXPECT_THROW(master.request(0, out), std::logic_error);
}

TEST(Trainer, PullsComputesAndPushes) {
  Actions out;
  Trainer trainer(1, {1, 2});
  trainer.beginRound(out);
  EXPECT_EQ(take(out), Words{"request 0"});
  trainer.receive(ticket(7), out);
  EXPECT_EQ(take(out), (Words{"request 0", "pull 0", "pull 1"}));
  trainer.answered(1, make(Kind::Answer, 0, 1), out);
  trainer.answered(0, make(Kind::Answer, 0, 0), out);
  EXPECT_EQ(take(out), Words());
  trainer.answered(1, make(Kind::Answer, 0, 0), out);
  EXPECT_EQ(take(out), Words{"compute 1: 7"});
  trainer.computed(true, out);
  EXPECT_EQ(take(out), (Words{"push 0: 0", "push 1: 0", "push 1: 1"}));
  EXPECT_EQ(trainer.phase(), Trainer::Phase::Asks);
}

TEST(Trainer, GoesOnWithAPrefetchedTicket) {
  Actions out;
  Trainer trainer(0, {1});
  trainer.beginRound(out);
  trainer.receive(ticket(0), out);
  trainer.receive(ticket(1), out);
  EXPECT_THROW(trainer.receive(ticket(2), out), std::logic_error);
  trainer.answered(0, make(Kind::Answer, 0), out);
  take(out);
  trainer.computed(false, out);
  EXPECT_EQ(take(out), (Words{"drop 0", "request 0", "pull 0"}));
  trainer.receive(make(Kind::Stop, 0), out);
  trainer.answered(0, make(Kind::Answer, 1), out);
  take(out);
  trainer.computed(true, out);
  EXPECT_EQ(take(out), (Words{"push 0: 0", "done 0"}));
  EXPECT_EQ(trainer.phase(), Trainer::Phase::Serves);
  trainer.receive(make(Kind::Proceed, 0), out);
  EXPECT_EQ(trainer.phase(), Trainer::Phase::Between);
}

TEST(Trainer, RefusesAnAnswerThatItDoesNotWaitFor) {
  Actions out;
  Trainer trainer(0, {2});
  trainer.beginRound(out);
  EXPECT_THROW(trainer.answered(0, make(Kind::Answer, 0), out),
               std::logic_error);
  trainer.receive(ticket(0), out);
  EXPECT_THROW(trainer.answered(0, make(Kind::Answer, 1), out),
               std::logic_error);
  trainer.answered(0, make(Kind::Answer, 0), out);
  EXPECT_THROW(trainer.answered(0, make(Kind::Answer, 0), out),
               std::logic_error);
  EXPECT_THROW(trainer.computed(true, out), std::logic_error);
}

TEST(Trainer, CountsHowStaleItsPullsAre) {
  Actions out;
  Trainer trainer(0, {1, 2});
  trainer.beginRound(out);
  trainer.receive(ticket(0), out);
  Message answer = make(Kind::Answer, 0);
  answer.staleness = 3;
  answer.version = 40;
  trainer.answered(0, answer, out);
  answer.staleness = 1;
  answer.version = 41;
  trainer.answered(1, answer, out);
  answer.staleness = 2;
  answer.bucket = 1;
  answer.version = 42;
  trainer.answered(1, answer, out);
  EXPECT_EQ(trainer.staleness().least, 1);
  EXPECT_EQ(trainer.staleness().most, 3);
  EXPECT_EQ(trainer.staleness().sum, 6);
  EXPECT_EQ(trainer.staleness().answers, 3);
  EXPECT_EQ(trainer.versions(), (std::vector<int64_t>{40, 41, 42}));
}

TEST(Owner, AppliesInTheOrderOfArrival) {
  Actions out;
  Owner owner(2, 2, {}, 10);
  owner.beginRound();
  owner.receive(1, make(Kind::Push, 0, 0), out);
  owner.receive(0, make(Kind::Push, 0, 0), out);
  owner.receive(0, make(Kind::Push, 0, 1), out);
  EXPECT_EQ(take(out), (Words{"apply 1: 0 version 11", "apply 0: 0 version 12",
                              "apply 0: 1 version 11"}));
  owner.receive(0, make(Kind::Pull, 1), out);
  EXPECT_EQ(take(out),
            (Words{"answer 0: 0 version 12", "answer 0: 1 version 11"}));
}

TEST(Owner, ChangesNothingWhileItIsSent) {
  Actions out;
  Owner owner(3, 2, {});
  owner.beginRound();
  owner.receive(0, make(Kind::Pull, 0), out);
  EXPECT_EQ(take(out),
            (Words{"answer 0: 0 version 0", "answer 0: 1 version 0"}));
  owner.receive(1, make(Kind::Push, 0, 0), out);
  EXPECT_EQ(take(out), Words());
  EXPECT_FALSE(owner.accepts(1));
  owner.receive(2, make(Kind::Pull, 0), out);
  EXPECT_EQ(take(out), Words{"answer 2: 1 version 0"})
      << "bucket 0 has a push that waits";
  owner.sent(0, 1, out);
  EXPECT_EQ(take(out), Words());
  EXPECT_FALSE(owner.accepts(0)) << "another answer is not sent";
  owner.sent(0, 0, out);
  EXPECT_EQ(take(out),
            (Words{"apply 1: 0 version 1", "answer 2: 0 version 1"}));
  EXPECT_TRUE(owner.accepts(0));
  EXPECT_TRUE(owner.accepts(1));
  EXPECT_THROW(owner.sent(0, 0, out), std::logic_error);
}

TEST(Owner, AnswersWhenTheBoundAllowsIt) {
  Actions out;
  Owner owner(3, 1, 1);
  owner.beginRound();
  auto step = [&](int trainer, int64_t number) {
    owner.receive(trainer, make(Kind::Push, number), out);
  };
  step(0, 0);
  owner.receive(0, make(Kind::Pull, 1), out);
  EXPECT_EQ(take(out), (Words{"apply 0: 0 version 1", "answer 0: 0 version 1"}))
      << "a pull for step 1 needs no step";
  owner.sent(0, 0, out);
  step(0, 1);
  owner.receive(0, make(Kind::Pull, 2), out);
  EXPECT_EQ(take(out), Words{"apply 0: 0 version 2"})
      << "it needs step 0 of all trainers";
  owner.receive(1, make(Kind::Drop, 0), out);
  EXPECT_EQ(take(out), Words());
  owner.receive(2, make(Kind::Done, 0), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].message.staleness, 1) << "trainer 1 has taken 1 of 2 steps";
  EXPECT_EQ(take(out), Words{"answer 0: 0 version 2"});
  owner.sent(0, 0, out);
  step(0, 2);
  owner.receive(0, make(Kind::Pull, 3), out);
  EXPECT_EQ(take(out), Words{"apply 0: 0 version 3"});
  owner.receive(1, make(Kind::Drop, 1), out);
  EXPECT_EQ(take(out), Words{"answer 0: 0 version 3"})
      << "a bad step is finished";
}

TEST(Owner, IsDrainedAfterTheLastPushAndTheLastAnswer) {
  Actions out;
  Owner owner(2, 1, {});
  owner.beginRound();
  owner.receive(0, make(Kind::Done, 0), out);
  owner.receive(1, make(Kind::Pull, 0), out);
  EXPECT_EQ(take(out), Words{"answer 1: 0 version 0"});
  EXPECT_THROW(owner.receive(1, make(Kind::Drop, 0), out), std::logic_error);
  owner.sent(1, 0, out);
  owner.receive(1, make(Kind::Drop, 0), out);
  EXPECT_EQ(take(out), Words());
  owner.receive(1, make(Kind::Done, 1), out);
  EXPECT_EQ(take(out), Words{"drained 0"});
  EXPECT_FALSE(owner.accepts(0));
  EXPECT_THROW(owner.receive(1, make(Kind::Pull, 0), out), std::logic_error);
  owner.beginRound();
  EXPECT_THROW(owner.beginRound(), std::logic_error);
  owner.receive(1, make(Kind::Pull, 0), out);
  EXPECT_EQ(take(out), Words{"answer 1: 0 version 0"}) << "of the next round";
}

TEST(Owner, MissesAPushThatIsLost) {
  Actions out;
  Owner owner(1, 2, {});
  owner.beginRound();
  owner.receive(0, make(Kind::Push, 0, 0), out);
  EXPECT_THROW(owner.receive(0, make(Kind::Pull, 1), out), std::logic_error);
  EXPECT_THROW(owner.receive(0, make(Kind::Done, 1), out), std::logic_error);
  Owner other(1, 1, {});
  other.beginRound();
  EXPECT_THROW(other.receive(0, make(Kind::Done, 1), out), std::logic_error);
  EXPECT_THROW(other.receive(0, make(Kind::Push, 1), out), std::logic_error);
  other.receive(0, make(Kind::Push, 0), out);
  EXPECT_THROW(other.receive(0, make(Kind::Push, 0), out), std::logic_error);
}

TEST(Agreement, WaitsForAllRanks) {
  Actions out;
  Agreement agreement(2);
  EXPECT_THROW(agreement.drained(0, 6, out), std::logic_error);
  agreement.beginRound();
  agreement.drained(1, 6, out);
  EXPECT_EQ(take(out), Words());
  EXPECT_TRUE(agreement.awaits(0));
  EXPECT_THROW(agreement.drained(1, 6, out), std::logic_error);
  agreement.note(15);
  agreement.note(2);
  agreement.drained(0, 6, out);
  EXPECT_FALSE(agreement.awaits(0));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].message.signal, 15);
  EXPECT_EQ(out[0].message.ticket, 6);
  EXPECT_EQ(take(out), Words{"proceed 0"});
}

} // namespace
