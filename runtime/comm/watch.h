//===- watch.h - Sees that a rank is gone or holds up the others ----------===//
//
// A thread of its own in every process of a job, which needs nothing of the
// thread that trains, of MPI or of its launcher. It ends this process where
// the job cannot go on, after one rank has said why:
//
//  - a process of the job has ended without good-bye (killed, out of memory,
//    its machine lost);
//  - a rank failed: it has a reason to give;
//  - a rank has waited for longer than its activity's timeout: all are asked
//    what they do, and the answers are printed.
//
// Rank 0 hears of everything and does the talking; where it is gone or does not
// answer each of the others speaks for itself. docs/faults.md has the details.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_WATCH_H
#define PPOPT_COMM_WATCH_H

#include "comm/transport.h"
#include "comm/watch_links.h"
#include "comm/who_waits.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace ppopt::comm {

/// What ranks of one process are doing, by rank.
using Activities = std::map<int, Activity *>;

/// Which waits are too long. A job that was stopped as a whole and goes on
/// begins anew: what counts is the time in which the watch could run.
class Patience {
public:
  /// Called every now and then, before isLost.
  void look();
  bool isLost(const Activity &activity) const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since = Clock::now(), last = since;
};

/// Where all ranks are threads of this process: only their waits are watched.
/// The activities must outlive it.
class ThreadWatch {
public:
  explicit ThreadWatch(Activities activities);
  ~ThreadWatch();

private:
  void run();

  const Activities activities;
  Patience patience;
  std::mutex lock;
  std::condition_variable wake;
  bool ends = false;
  std::thread thread;
};

/// In a process that is one rank of several. The thread blocks all signals.
class ProcessWatch {
public:
  /// `links` as connectWatch returns them; `activity` must outlive it.
  ProcessWatch(int rank, int ranks, std::vector<WatchLink> links,
               Activity &activity);
  /// After leave().
  ~ProcessWatch();

  /// This rank failed. The reason is printed once, by rank 0 if it can, and all
  /// processes end with status 1.
  [[noreturn]] void fail(const std::string &reason);

  /// This rank is done. Returns when all are: from then on nobody is missed.
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
  int wakeUp; ///< an eventfd: there is something to obey

  // What the other threads want.
  std::mutex lock;
  std::condition_variable left;
  std::string failure;
  bool fails = false, leaves = false, isDone = false;

  // The watch's own.
  Patience patience;
  bool saidGoodbye = false;
  std::vector<bool> goodbyes; ///< by rank: it is done
  int stuckRank = -1;         ///< who has waited for too long
  double stuckTimeout = 0;
  std::map<int, RankWords> words;
  Clock::time_point deadline{}; ///< of answers; none where it is 0

  std::thread thread;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_WATCH_H
