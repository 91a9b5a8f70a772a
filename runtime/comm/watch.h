//===- watch.h - Detects lost ranks and ranks that block others -----------===//
//
// Each process of a job runs a watch thread. It does not depend on the training
// thread, on MPI or on the launcher. It ends this process when the job cannot
// continue, after one rank has said why:
//
//  - A process of the job has ended without a goodbye (killed, out of memory,
//    its machine lost).
//  - A rank failed and has a reason to report.
//  - A rank has waited for longer than its activity's timeout. Then all ranks
//    are asked what they do, and the answers are printed.
//
// Rank 0 receives all notes and prints. If rank 0 is gone or does not answer,
// each other rank prints for itself. docs/faults.md has the details.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_WATCH_H
#define PPOPT_COMM_WATCH_H

#include "comm/transport.h"
#include "comm/watch_links.h"
#include "comm/who_waits.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace ppopt::comm {

/// What the ranks of one process are doing, by rank.
using Activities = std::map<int, Activity *>;

/// Decides which waits are too long. Only counts time in which the watch could
/// run: a job that was stopped as a whole and continued starts anew.
class Patience {
public:
  /// Called periodically, before isLost.
  void look();
  bool isLost(const Activity &activity) const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since = Clock::now(), last = since;
};

/// For ranks that are threads of this process: watches their waits, and ends
/// the process if threads do not end after a failure, such as one that waits
/// for the failed rank in a library. The activities must outlive it. `failure`
/// returns the reason of a failure, or "".
class ThreadWatch {
public:
  ThreadWatch(Activities activities, std::function<std::string()> failure);
  ~ThreadWatch();

private:
  void run();

  const Activities activities;
  const std::function<std::string()> failure;
  Patience patience;
  std::mutex lock;
  std::condition_variable wake;
  bool ends = false;
  std::thread thread;
};

/// For a process that is one rank of several. The thread blocks all signals.
class ProcessWatch {
public:
  /// `links` come from connectWatch; `activity` must outlive the watch.
  ProcessWatch(int rank, int ranks, std::vector<WatchLink> links,
               Activity &activity);
  /// Only after leave().
  ~ProcessWatch();

  /// Reports that this rank failed. The reason is printed once, by rank 0 if
  /// possible, and all processes end with status 1.
  [[noreturn]] void fail(const std::string &reason);

  /// Reports that this rank is done. Returns when all ranks are; from then on
  /// the end of a process is no failure.
  void leave();

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void receive(WatchLink &link);
  void handle(const WatchNote &note);
  void lost(const WatchLink &link);
  void obey();
  void checkWait();
  void checkDeadline();
  void askAll(int rank, double timeout);
  void answer();
  bool isSilent(int other) const;
  void report();
  void announceFailure(int rank, const std::string &reason);
  [[noreturn]] void end(const std::string &text);
  WatchNote noteOf(WatchNote::Kind kind) const;
  bool isCenter() const { return rank == 0; }

  const int rank, ranks;
  std::vector<WatchLink> links;
  Activity &activity;
  int wakeUp; ///< an eventfd: requests for the watch thread

  // Requests of the other threads.
  std::mutex lock;
  std::condition_variable left;
  std::string failure;
  bool fails = false, leaves = false, isDone = false;

  // Used by the watch thread only.
  Patience patience;
  bool saidGoodbye = false;
  std::vector<bool> goodbyes; ///< by rank: whether it is done
  int stuckRank = -1;         ///< the rank that has waited too long
  double stuckTimeout = 0;
  std::map<int, RankWords> words;
  Clock::time_point deadline{}; ///< for answers; none if it is 0

  std::thread thread;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_WATCH_H
