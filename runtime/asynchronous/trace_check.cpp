//===- trace_check.cpp - Whether a recorded run kept the protocol ---------===//

#include "asynchronous/trace_check.h"

#include "asynchronous/wait_cycle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace ppopt::asynchronous {

namespace {

constexpr size_t mostProblems = 20, mostOfCycle = 4;

class TraceCheck {
public:
  explicit TraceCheck(const ReplayLog &log) : log(log), shape(log.shape) {
    for (int buckets : shape.buckets) {
      versions.emplace_back(buckets, log.arrivals);
      digests.emplace_back(buckets);
    }
  }

  TraceFacts run() {
    int64_t begin = log.first;
    for (; facts.rounds < int64_t(log.rounds.size()); ++facts.rounds) {
      round = &log.rounds[facts.rounds];
      checkTickets(begin);
      for (int rank = 0; rank < shape.ranks(); ++rank)
        for (int bucket = 0; bucket < shape.buckets[rank]; ++bucket)
          checkBucket(rank, bucket);
      if (facts.problems.empty())
        checkWaits();
      begin = round->end;
    }
    facts.tickets = begin - log.first;
    return std::move(facts);
  }

private:
  template <typename... Args>
  void report(int64_t line, fmt::format_string<Args...> text, Args &&...args) {
    if (facts.problems.size() < mostProblems)
      facts.problems.push_back(
          {line, fmt::format("round {}: ", facts.rounds) +
                     fmt::format(text, std::forward<Args>(args)...)});
  }

  const std::vector<StepRecord> &stepsOf(int trainer, int member) const {
    return round->steps[shape.rankOf(trainer, member)];
  }

  void checkTickets(int64_t begin) {
    std::set<int64_t> taken;
    for (int trainer = 0; trainer < shape.trainers; ++trainer) {
      const std::vector<StepRecord> &first = stepsOf(trainer, 0);
      for (size_t i = 0; i < first.size(); ++i) {
        int64_t ticket = first[i].ticket;
        if (first[i].step != int64_t(i))
          report(first[i].line,
                 "trainer {}: step {} is where step {} is expected", trainer,
                 first[i].step, i);
        if (ticket < begin || ticket >= round->end)
          report(first[i].line, "trainer {}: ticket {} is of another round",
                 trainer, ticket);
        else if (!taken.insert(ticket).second)
          report(first[i].line, "ticket {} is taken twice", ticket);
        else if (i > 0 && ticket < first[i - 1].ticket)
          report(first[i].line, "trainer {}: ticket {} comes after ticket {}",
                 trainer, ticket, first[i - 1].ticket);
        facts.badTickets += !first[i].isGood;
      }
      for (int member = 1; member < shape.members; ++member)
        if (!isAlike(first, stepsOf(trainer, member)))
          report(round->line,
                 "trainer {}: ranks 0 and {} of it have different steps",
                 trainer, member);
    }
    for (int64_t ticket = begin;
         ticket < round->end && facts.problems.size() < mostProblems; ++ticket)
      if (taken.count(ticket) == 0)
        report(round->line, "ticket {} is not taken", ticket);
  }

  static bool isAlike(const std::vector<StepRecord> &a,
                      const std::vector<StepRecord> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const StepRecord &x, const StepRecord &y) {
                        return x.step == y.step && x.ticket == y.ticket &&
                               x.isGood == y.isGood;
                      });
  }

  /// A trainer, as the order of one bucket shows it.
  struct Progress {
    int64_t pulls = 0;           ///< steps that it has pulled for
    std::vector<bool> isApplied; ///< by step
    int64_t firstMissing = 0;    ///< good step that is not applied
  };

  void checkBucket(int rank, int bucket) {
    std::vector<Progress> trainers(shape.trainers);
    for (int trainer = 0; trainer < shape.trainers; ++trainer) {
      trainers[trainer].isApplied.assign(steps(rank, trainer).size(), false);
      skip(rank, trainer, trainers[trainer]);
    }
    for (const OrderEntry &entry : round->orders[rank][bucket]) {
      const std::vector<StepRecord> &taken = steps(rank, entry.trainer);
      if (entry.step >= int64_t(taken.size())) {
        report(entry.line, "rank {}, bucket {}: trainer {} has no step {}",
               rank, bucket, entry.trainer, entry.step);
        continue;
      }
      if (entry.kind == OrderEntry::Kind::Answered)
        checkPull(rank, bucket, entry, trainers);
      else
        checkUpdate(rank, bucket, entry, trainers[entry.trainer]);
    }
    for (int trainer = 0; trainer < shape.trainers; ++trainer) {
      const Progress &end = trainers[trainer];
      int64_t taken = steps(rank, trainer).size();
      if (end.pulls != taken)
        report(round->line,
               "rank {}, bucket {}: trainer {} has pulled it for {} of {} "
               "steps",
               rank, bucket, trainer, end.pulls, taken);
      if (end.firstMissing != taken)
        report(round->line,
               "rank {}, bucket {}: the update of step {} of trainer {} is "
               "lost",
               rank, bucket, end.firstMissing, trainer);
    }
  }

  void checkPull(int rank, int bucket, const OrderEntry &entry,
                 std::vector<Progress> &trainers) {
    ++facts.pulls;
    if (entry.step != trainers[entry.trainer].pulls++)
      report(entry.line,
             "rank {}, bucket {}: trainer {} pulls it for step {} out of order",
             rank, bucket, entry.trainer, entry.step);
    for (int other = 0; other < shape.trainers; ++other) {
      int64_t missing = trainers[other].firstMissing;
      if (missing >= int64_t(steps(rank, other).size()) ||
          missing >= entry.step)
        continue;
      int64_t staleness = entry.step - missing;
      facts.mostStaleness = std::max(facts.mostStaleness, staleness);
      if (other == entry.trainer)
        report(entry.line,
               "rank {}, bucket {}: the pull of trainer {} for step {} lacks "
               "its own step {}",
               rank, bucket, entry.trainer, entry.step, missing);
      else if (shape.bound && staleness > *shape.bound)
        report(entry.line,
               "rank {}, bucket {}: the pull of trainer {} for step {} lacks "
               "step {} of trainer {}: the bound is {}",
               rank, bucket, entry.trainer, entry.step, missing, other,
               *shape.bound);
    }
    const StepRecord &record = steps(rank, entry.trainer)[entry.step];
    size_t place = placeOf(rank, bucket);
    int64_t version = versions[rank][bucket];
    if (record.versions[place] != version)
      report(record.line,
             "trainer {} has pulled version {} of bucket {} of rank {} for "
             "step {}, which sent version {}",
             entry.trainer, record.versions[place], bucket, rank, entry.step,
             version);
    compare(rank, bucket, record.digests[place], record.line,
            fmt::format("what trainer {} has pulled for step {}", entry.trainer,
                        entry.step));
  }

  void checkUpdate(int rank, int bucket, const OrderEntry &entry,
                   Progress &trainer) {
    ++facts.updates;
    int64_t version = ++versions[rank][bucket];
    std::string update =
        fmt::format("rank {}, bucket {}: the update of step {} of trainer {}",
                    rank, bucket, entry.step, entry.trainer);
    if (!steps(rank, entry.trainer)[entry.step].isGood)
      report(entry.line, "{} is applied, and the step is bad", update);
    else if (trainer.isApplied[entry.step])
      report(entry.line, "{} is applied twice", update);
    else if (entry.step >= trainer.pulls)
      report(entry.line, "{} is applied before the step", update);
    else if (entry.step != trainer.firstMissing)
      report(entry.line, "{} is applied out of order", update);
    trainer.isApplied[entry.step] = true;
    skip(rank, entry.trainer, trainer);
    compare(rank, bucket, entry.digest, entry.line,
            fmt::format("version {}", version));
  }

  /// Goes on to the first step that must be applied and is not.
  void skip(int rank, int number, Progress &trainer) const {
    const std::vector<StepRecord> &taken = steps(rank, number);
    while (trainer.firstMissing < int64_t(taken.size()) &&
           (trainer.isApplied[trainer.firstMissing] ||
            !taken[trainer.firstMissing].isGood))
      ++trainer.firstMissing;
  }

  /// All that is known of one version of a bucket must be the same.
  void compare(int rank, int bucket, uint64_t digest, int64_t line,
               const std::string &what) {
    if (digest == 0)
      return;
    int64_t version = versions[rank][bucket];
    auto [known, isFirst] = digests[rank][bucket].emplace(version, digest);
    if (isFirst) {
      // Later pulls are of this version or a later one.
      digests[rank][bucket].erase(digests[rank][bucket].begin(), known);
      return;
    }
    ++facts.comparedDigests;
    if (known->second != digest)
      report(line, "{} of bucket {} of rank {} has other bits than version {}",
             what, bucket, rank, version);
  }

  void checkWaits() {
    std::vector<EntryAt> cycle = findWaitCycle(shape, *round);
    if (cycle.empty())
      return;
    std::vector<std::string> waits;
    for (const EntryAt &at : cycle)
      if (waits.size() < mostOfCycle)
        waits.push_back(fmt::format(
            "the {} of step {} of trainer {} (rank {}, bucket {}, line {})",
            at.entry->kind == OrderEntry::Kind::Applied ? "update" : "pull",
            at.entry->step, at.entry->trainer, at.rank, at.bucket,
            at.entry->line));
    report(cycle.front().entry->line, "these wait for each other: {}{}",
           fmt::join(waits, ", "),
           cycle.size() > mostOfCycle ? " and others" : "");
  }

  /// Returns the steps of a trainer that push to a rank.
  const std::vector<StepRecord> &steps(int rank, int trainer) const {
    return stepsOf(trainer, shape.memberOf(rank));
  }
  /// Returns the place of an owner's bucket in a record.
  size_t placeOf(int rank, int bucket) const {
    size_t place = bucket;
    for (int owner = 0; owner < shape.trainerOf(rank); ++owner)
      place += shape.buckets[shape.rankOf(owner, shape.memberOf(rank))];
    return place;
  }

  const ReplayLog &log;
  const Shape &shape;
  const RecordedRound *round = nullptr;
  std::vector<std::vector<int64_t>> versions; ///< by rank and bucket: now
  std::vector<std::vector<std::map<int64_t, uint64_t>>>
      digests; ///< by rank, bucket and version
  TraceFacts facts;
};

} // namespace

TraceFacts checkTrace(const ReplayLog &log) { return TraceCheck(log).run(); }

} // namespace ppopt::asynchronous
