//===- properties.cpp - What must hold of every trace of events -----------===//

#include "properties.h"

#include <algorithm>

namespace ppopt::asynchronous::test {

namespace {

/// Added to the trainer of a push when a later one was applied first.
constexpr int overtaken = mostTrainers;

std::string number(int64_t n) { return std::to_string(n); }

} // namespace

bool Scenario::isBad(int64_t ticket) const {
  return std::find(bad.begin(), bad.end(), ticket) != bad.end();
}

Properties::Properties(const Scenario &scenario, const ReplayLog *record)
    : scenario(scenario), record(record), shape(scenario.shape),
      trainers(shape.trainers), ranks(shape.ranks()) {
  resetRound();
}

void Properties::resetRound() {
  int64_t tickets = scenario.rounds[round] - begin;
  begun.assign(tickets, false);
  for (TrainerState &trainer : trainers) {
    trainer.tickets.assign(shape.members > 1 ? 2 : 0, -1);
    trainer.badSteps.assign(tickets, false);
  }
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    ranks[rank] = {};
    if (record)
      ranks[rank].followed.assign(shape.buckets[rank], 0);
  }
}

void Properties::fail(const std::string &what) const {
  if (!isBlind)
    throw Violation(what);
}

bool Properties::isBadStep(int trainer, int64_t step) const {
  return trainers[trainer].badSteps[step];
}

/// Returns the last step of a trainer before step `before` that has an update,
/// plus one; 0 if there is none.
int64_t Properties::lastGoodStep(int trainer, int64_t before) const {
  while (before > 0 && isBadStep(trainer, before - 1))
    --before;
  return std::max<int64_t>(before, 0);
}

void Properties::began(int rank, int64_t step, int64_t ticket) {
  if (isBlind)
    return;
  int trainer = shape.trainerOf(rank);
  TrainerState &state = trainers[trainer];
  if (agreements > 0)
    fail("a step begins before all have left the agreement");
  if (ticket < begin || ticket >= scenario.rounds[round])
    fail("ticket " + number(ticket) + " is not of this round");
  if (limit >= 0 && ticket >= limit)
    fail("ticket " + number(ticket) + " is handed out after a signal");
  if (step != ranks[rank].begun)
    fail("steps of a rank follow one another");
  if (record && (step >= int64_t(record->rounds[round].steps[rank].size()) ||
                 record->rounds[round].steps[rank][step].ticket != ticket))
    fail("a trainer takes another ticket than in the recorded run");
  bool isFirst = true;
  for (int member = 0; member < shape.members; ++member)
    isFirst &= ranks[shape.rankOf(trainer, member)].begun <= step;
  if (isFirst) {
    if (begun[ticket - begin])
      fail("ticket " + number(ticket) + " is computed twice");
    begun[ticket - begin] = true;
    state.badSteps[step] = scenario.isBad(ticket);
    if (shape.members > 1)
      state.tickets[step % 2] = ticket;
  } else if (state.tickets[step % 2] != ticket) {
    fail("ranks of one trainer compute different tickets");
  }
  ++ranks[rank].begun;
  // A pull must contain the updates of later steps of others too, if these are
  // early ones of slow trainers.
  if (!shape.bound || isBadStep(trainer, step))
    return;
  for (int other = 0; other < shape.trainers; ++other) {
    int64_t pulled = ranks[shape.rankOf(other, shape.memberOf(rank))].pulledFor;
    if (other != trainer && step <= pulled - *shape.bound - 1)
      fail("the bound: trainer " + number(other) + " has pulled for step " +
           number(pulled) + " before trainer " + number(trainer) +
           " computes its step " + number(step));
  }
}

void Properties::pulled(int rank, int owner, int bucket, int64_t step,
                        const Contents &contents) {
  if (isBlind)
    return;
  const Half &has = contents.halves[0];
  if (has != contents.halves[1])
    fail("a pull mixes two versions of bucket " + number(bucket) + " of rank " +
         number(owner));
  int self = shape.trainerOf(rank);
  if (has[self] != lastGoodStep(self, step))
    fail("a pull lacks earlier updates of the trainer itself");
  ranks[rank].pulledFor = std::max(ranks[rank].pulledFor, step);
  if (!shape.bound)
    return;
  for (int other = 0; other < shape.trainers; ++other) {
    int64_t begunSteps = ranks[shape.rankOf(other, shape.memberOf(rank))].begun;
    int64_t needed = std::min(step - *shape.bound, begunSteps);
    if (has[other] < lastGoodStep(other, needed))
      fail("the bound: the pull of trainer " + number(self) + " for step " +
           number(step) + " lacks a step of trainer " + number(other) +
           " before step " + number(step - *shape.bound));
  }
}

void Properties::arrived(int owner, int bucket, int trainer) {
  ranks[owner].arrived.push_back(bucket);
  ranks[owner].arrived.push_back(trainer);
}

void Properties::applies(int owner, int bucket, int trainer, int64_t step,
                         int64_t pushed, const Half &has) {
  if (isBlind)
    return;
  std::string update = "the update of step " + number(step) + " of trainer " +
                       number(trainer) + " to bucket " + number(bucket) +
                       " of rank " + number(owner);
  if (pushed != step)
    fail(update + " takes the gradient of step " + number(pushed));
  if (step >= ranks[shape.rankOf(trainer, shape.memberOf(owner))].begun)
    fail(update + " is applied before the step");
  if (isBadStep(trainer, step))
    fail(update + " is applied, but the step is bad");
  if (has[trainer] > step)
    fail(update + " is applied twice");
  if (has[trainer] != lastGoodStep(trainer, step))
    fail(update + " is applied before an earlier one");
  std::vector<int> &waiting = ranks[owner].arrived;
  for (size_t i = 0; i < waiting.size(); i += 2) {
    if (waiting[i] != bucket || trainer == shape.trainerOf(owner))
      continue;
    if (waiting[i + 1] % overtaken != trainer) {
      waiting[i + 1] = waiting[i + 1] % overtaken + overtaken;
      continue;
    }
    // A repeated run has the order of the record.
    if (!record && waiting[i + 1] >= overtaken)
      fail(update + " is applied after one that has arrived later");
    waiting.erase(waiting.begin() + i, waiting.begin() + i + 2);
    break;
  }
  follow(OrderEntry::Kind::Applied, owner, bucket, trainer, step);
}

void Properties::answers(int owner, int bucket, int trainer, int64_t step) {
  follow(OrderEntry::Kind::Answered, owner, bucket, trainer, step);
}

void Properties::follow(OrderEntry::Kind kind, int owner, int bucket,
                        int trainer, int64_t step) {
  if (!record || isBlind)
    return;
  const BucketOrder &order = record->rounds[round].orders[owner][bucket];
  size_t &place = ranks[owner].followed[bucket];
  if (place == order.size() || order[place].kind != kind ||
      order[place].trainer != trainer || order[place].step != step)
    fail("rank " + number(owner) + " updates or sends bucket " +
         number(bucket) + " in another order than in the recorded run");
  ++place;
}

void Properties::stops(int64_t handedOut) {
  int64_t n = shape.trainers;
  if (limit < 0)
    limit = (handedOut + n - 1) / n * n;
}

void Properties::agreed(int rank, int64_t tickets, int32_t signal, bool quiet,
                        const std::vector<Contents> &contents,
                        const std::vector<int64_t> &arrivals) {
  if (isBlind)
    return endRound(tickets, signal);
  if (isOver)
    fail("the run goes on after its end");
  if (!quiet)
    fail("rank " + number(rank) + " agrees while something is under way");
  if (agreements == 0)
    agreedOn = tickets;
  if (tickets != agreedOn)
    fail("ranks agree on different tickets");
  if (tickets % shape.trainers != 0)
    fail("an agreement within a global batch");
  if (signal == 0 && tickets != scenario.rounds[round])
    fail("an agreement before the end of the round");
  for (int64_t ticket = begin; ticket < tickets; ++ticket)
    if (!begun[ticket - begin])
      fail("ticket " + number(ticket) + " was not computed");
  int member = shape.memberOf(rank);
  for (const Contents &bucket : contents)
    for (const Half &half : bucket.halves)
      for (int trainer = 0; trainer < shape.trainers; ++trainer) {
        int64_t steps = ranks[shape.rankOf(trainer, member)].begun;
        if (half[trainer] != lastGoodStep(trainer, steps))
          fail("rank " + number(rank) +
               " agrees without an update of trainer " + number(trainer));
      }
  int64_t good = 0;
  for (int64_t ticket = 0; ticket < tickets; ++ticket)
    good += !scenario.isBad(ticket);
  for (int64_t count : arrivals)
    if (count != good)
      fail("rank " + number(rank) + " counts " + number(count) + " of " +
           number(good) + " updates");
  if (record)
    for (size_t bucket = 0; bucket < contents.size(); ++bucket)
      if (ranks[rank].followed[bucket] !=
          record->rounds[round].orders[rank][bucket].size())
        fail("rank " + number(rank) + " does less than in the recorded run");
  endRound(tickets, signal);
}

void Properties::endRound(int64_t tickets, int32_t signal) {
  if (++agreements < shape.ranks())
    return;
  agreements = 0;
  begin = tickets;
  isOver = signal != 0 || round + 1 == scenario.rounds.size();
  if (isOver)
    return;
  ++round;
  resetRound();
}

void Properties::ended() const {
  if (!isOver)
    fail("deadlock: nothing can happen, and the run is not over");
}

} // namespace ppopt::asynchronous::test
