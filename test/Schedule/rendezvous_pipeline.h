//===- rendezvous_pipeline.h - Action lists of small pipelines ------------===//
//
// Lists that are correct by construction, as the compiler places starts and
// waits (docs/stages.md), made without the compiler: places × replicas ranks,
// a chain of stages with transfers both ways and perhaps a skip, then gradient
// sums over the replicas, a tied sum of the first and the last place, the norm
// of all ranks, and an update.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_SCHEDULE_RENDEZVOUS_PIPELINE_H
#define PPOPT_TEST_SCHEDULE_RENDEZVOUS_PIPELINE_H

#include "ppopt/Schedule/Rendezvous.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::schedule::test {

struct Pipeline {
  int places = 2, microbatches = 2, replicas = 1;
  bool isGpipe = false; ///< else 1F1B
  bool hasSkip = false; ///< first place to last; wants three places
  bool hasTied = false;
  bool hasNorm = false;
};

class PipelineLists {
public:
  explicit PipelineLists(const Pipeline &pipeline) : pipeline(pipeline) {
    time();
    lists.ranks.resize(pipeline.places * pipeline.replicas);
    for (int replica = 0; replica < pipeline.replicas; ++replica)
      for (int place = 0; place < pipeline.places; ++place)
        addRuns(replica, place);
    for (int replica = 0; replica < pipeline.replicas; ++replica)
      addTransfers(replica);
    addSums();
    for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank)
      flatten(rank);
  }

  ActionLists take() { return std::move(lists); }

private:
  using Run = std::pair<bool, int>; ///< is backward, microbatch

  std::vector<Run> getRow(int place) const {
    int m = pipeline.microbatches;
    int ahead = pipeline.isGpipe ? m : std::min(m, pipeline.places - place);
    std::vector<Run> row;
    for (int i = 0; i < ahead; ++i)
      row.push_back({false, i});
    for (int i = 0; i < m; ++i) {
      row.push_back({true, i});
      if (ahead + i < m)
        row.push_back({false, ahead + i});
    }
    return row;
  }

  /// The tick of each run: all last one, transfers take no time.
  void time() {
    for (int place = 0; place < pipeline.places; ++place)
      rows.push_back(getRow(place));
    std::vector<size_t> next(pipeline.places);
    ticks.resize(pipeline.places);
    for (int tick = 0; !ended(next); ++tick) {
      std::vector<size_t> before = next;
      for (int place = 0; place < pipeline.places; ++place) {
        if (before[place] == rows[place].size())
          continue;
        Run run = rows[place][before[place]];
        int from = run.first ? place + 1 : place - 1;
        bool isReady = from < 0 || from == pipeline.places ||
                       (ticks[from].count(run) && ticks[from][run] < tick);
        if (!isReady)
          continue;
        ticks[place][run] = tick;
        ++next[place];
      }
    }
    for (const auto &ofPlace : ticks)
      for (const auto &[run, tick] : ofPlace)
        last = std::max(last, tick);
  }

  bool ended(const std::vector<size_t> &next) const {
    for (int place = 0; place < pipeline.places; ++place)
      if (next[place] < rows[place].size())
        return false;
    return true;
  }

  int getRank(int replica, int place) const {
    return replica * pipeline.places + place;
  }

  /// The order within a tick.
  enum Phase { Receives, Waits, Runs, Sends };
  void add(int rank, int tick, Phase phase, RankAction::Kind kind,
           int communication, std::string text) {
    placed[rank].insert(
        {{tick, phase}, {kind, communication, std::move(text)}});
  }

  void addRuns(int replica, int place) {
    for (const auto &[run, tick] : ticks[place])
      add(getRank(replica, place), tick, Runs, RankAction::Run, -1,
          std::string(run.first ? "backward" : "forward") + " of stage " +
              std::to_string(place) + ", microbatch " +
              std::to_string(run.second));
  }

  void addTransfers(int replica) {
    for (int place = 0; place < pipeline.places; ++place)
      for (const Run &run : rows[place]) {
        int to = run.first ? place - 1 : place + 1;
        if (to >= 0 && to < pipeline.places)
          addTransfer(replica, place, to, run, run.first ? "g" : "h");
        bool isSkip = pipeline.hasSkip && pipeline.places > 2 &&
                      place == (run.first ? pipeline.places - 1 : 0);
        if (isSkip)
          addTransfer(replica, place, pipeline.places - 1 - place, run,
                      run.first ? "skip's g" : "skip");
      }
  }

  void addTransfer(int replica, int from, int to, Run run, const char *name) {
    int index = static_cast<int>(lists.communications.size());
    int sender = getRank(replica, from), receiver = getRank(replica, to);
    lists.communications.push_back(
        {{sender, receiver},
         getQueue({sender, receiver, -1}),
         std::string(name) + " of microbatch " + std::to_string(run.second) +
             ", place " + std::to_string(from) + " to " + std::to_string(to)});
    int made = ticks[from].at(run), read = ticks[to].at(run);
    // One run ahead of the reader.
    int posted = read;
    auto reader = std::find(rows[to].begin(), rows[to].end(), run);
    if (reader != rows[to].begin())
      posted = ticks[to].at(*(reader - 1));
    add(sender, made, Sends, RankAction::Start, index, "");
    add(receiver, posted, Receives, RankAction::Start, index, "");
    add(receiver, read, Waits, RankAction::Wait, index, "");
    // Before the sender's first run after the receive's start.
    int waited = last + 1;
    for (const auto &[other, tick] : ticks[from])
      if (tick > std::max(posted, made))
        waited = std::min(waited, tick);
    add(sender, waited, Waits, RankAction::Wait, index, "");
  }

  void addSums() {
    for (int place = 0; place < pipeline.places; ++place)
      if (pipeline.replicas > 1)
        addSum({place}, "gradients of place " + std::to_string(place));
    if (pipeline.hasTied)
      addSum({0, pipeline.places - 1}, "tied gradients");
    if (pipeline.hasNorm) {
      std::vector<int> all;
      for (int place = 0; place < pipeline.places; ++place)
        all.push_back(place);
      ++last; // after the sums
      addSum(all, "squares of the norm");
    }
    for (int rank = 0; rank < static_cast<int>(lists.ranks.size()); ++rank)
      add(rank, last + 1, Runs, RankAction::Run, -1, "update");
  }

  void addSum(const std::vector<int> &places, std::string text) {
    int index = static_cast<int>(lists.communications.size());
    Communication sum;
    for (int replica = 0; replica < pipeline.replicas; ++replica)
      for (int place : places)
        sum.ranks.push_back(getRank(replica, place));
    std::vector<int> group = sum.ranks;
    group.push_back(-2);
    sum.queue = getQueue(group);
    sum.text = std::move(text);
    for (int rank : sum.ranks) {
      add(rank, last, Sends, RankAction::Start, index, "");
      add(rank, last + 1, Waits, RankAction::Wait, index, "");
    }
    lists.communications.push_back(std::move(sum));
  }

  int getQueue(const std::vector<int> &key) {
    return queues.insert({key, static_cast<int>(queues.size())}).first->second;
  }

  void flatten(int rank) {
    for (auto &[at, action] : placed[rank])
      lists.ranks[rank].push_back(std::move(action));
  }

  Pipeline pipeline;
  std::vector<std::vector<Run>> rows;
  std::vector<std::map<Run, int>> ticks; ///< of each place's runs
  int last = 0;
  std::map<std::vector<int>, int> queues;
  /// Of one rank, by tick and phase; in the order of insertion within one.
  std::map<int, std::multimap<std::pair<int, Phase>, RankAction>> placed;
  ActionLists lists;
};

inline ActionLists makeLists(const Pipeline &pipeline) {
  return PipelineLists(pipeline).take();
}

} // namespace ppopt::schedule::test

#endif // PPOPT_TEST_SCHEDULE_RENDEZVOUS_PIPELINE_H
