//===- watch.cpp - Detects lost ranks and ranks that block others ---------===//

#include "comm/watch.h"

#include "base/signals_blocked.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ppopt::comm {
namespace {

using std::chrono::milliseconds;

/// How often waits are checked.
constexpr milliseconds kPeriod{250};
/// Time limits for ranks to answer, or to receive the end.
constexpr milliseconds kForWords{2000}, kForRankZero{4000}, kForTheEnd{2000};
/// Time limit for the other threads to end after a failure.
constexpr milliseconds kForThreads{5000};

/// Does not use stdio: the training thread may hold its locks in a write that
/// nobody reads. Text that does not fit into standard error within a second is
/// lost.
void print(const std::string &text) {
  size_t written = 0;
  while (written < text.size()) {
    pollfd polled{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&polled, 1, 1000) != 1)
      return;
    // A writable pipe accepts at least this much.
    size_t piece = std::min<size_t>(text.size() - written, PIPE_BUF);
    ssize_t bytes = ::write(STDERR_FILENO, text.data() + written, piece);
    if (bytes < 0 && errno != EINTR)
      return;
    written += size_t(std::max<ssize_t>(bytes, 0));
  }
}

/// Skips destructors and exit handlers, which might wait for others.
[[noreturn]] void endProcess() { ::_exit(1); }

} // namespace

void Patience::look() {
  constexpr std::chrono::seconds muchLongerThanPeriod{5};
  Clock::time_point now = Clock::now();
  if (now - last > muchLongerThanPeriod)
    since = now;
  last = now;
}

bool Patience::isLost(const Activity &activity) const {
  double timeout = activity.timeout();
  double seen = std::chrono::duration<double>(last - since).count();
  return timeout > 0 && seen > timeout && activity.read().waited > timeout;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

ThreadWatch::ThreadWatch(Activities activities,
                         std::function<std::string()> failure)
    : activities(std::move(activities)), failure(std::move(failure)),
      thread([this] { run(); }) {}

ThreadWatch::~ThreadWatch() {
  {
    std::lock_guard<std::mutex> guard(lock);
    ends = true;
  }
  wake.notify_one();
  thread.join();
}

void ThreadWatch::run() {
  train::SignalsBlocked blocked;
  std::unique_lock<std::mutex> guard(lock);
  milliseconds sinceFailure{0}; // in which the watch could run
  while (!wake.wait_for(guard, kPeriod, [&] { return ends; })) {
    if (std::string reason = failure(); !reason.empty()) {
      sinceFailure += kPeriod;
      if (sinceFailure < kForThreads)
        continue;
      print("error: " + reason + "\n");
      endProcess();
    }
    patience.look();
    for (const auto &[rank, activity] : activities) {
      if (!patience.isLost(*activity))
        continue;
      std::map<int, RankWords> words;
      for (const auto &[each, other] : activities)
        words[each] = wordsOf(*other);
      print(describeStandstill(rank, activity->timeout(), words));
      endProcess();
    }
  }
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

ProcessWatch::ProcessWatch(int rank, int ranks, std::vector<WatchLink> links,
                           Activity &activity)
    : rank(rank), ranks(ranks), links(std::move(links)), activity(activity),
      wakeUp(::eventfd(0, EFD_CLOEXEC)), goodbyes(ranks, false),
      thread([this] { run(); }) {}

ProcessWatch::~ProcessWatch() {
  thread.join();
  ::close(wakeUp);
}

void ProcessWatch::fail(const std::string &reason) {
  {
    std::lock_guard<std::mutex> guard(lock);
    fails = true;
    failure = reason;
  }
  ::eventfd_write(wakeUp, 1);
  while (true) // the watch ends the process
    ::pause();
}

void ProcessWatch::leave() {
  Activity::Wait wait(activity);
  wait.on(Activity::WaitsIn::End, -1, Activity::anyRank);
  std::unique_lock<std::mutex> guard(lock);
  leaves = true;
  ::eventfd_write(wakeUp, 1);
  left.wait(guard, [&] { return isDone; });
}

void ProcessWatch::run() {
  train::SignalsBlocked blocked;
  std::vector<pollfd> polled(1 + links.size(), {wakeUp, POLLIN, 0});
  while (true) {
    for (size_t i = 0; i < links.size(); ++i)
      polled[1 + i].fd = links[i].socket(); // poll ignores -1
    ::poll(polled.data(), polled.size(), int(kPeriod.count()));
    for (WatchLink &link : links)
      receive(link);
    obey();
    checkWait();
    checkDeadline();
    std::lock_guard<std::mutex> guard(lock);
    if (isDone) {
      left.notify_one();
      return;
    }
  }
}

WatchNote ProcessWatch::noteOf(WatchNote::Kind kind) const {
  WatchNote note;
  note.kind = kind;
  note.rank = rank;
  return note;
}

void ProcessWatch::receive(WatchLink &link) {
  if (!link.isOpen())
    return;
  while (std::optional<WatchNote> note = link.receive())
    handle(*note);
  if (!link.isOpen())
    lost(link);
}

void ProcessWatch::handle(const WatchNote &note) {
  switch (note.kind) {
  case WatchNote::Hello:
    return;
  case WatchNote::Failed:
    return announceFailure(note.rank, note.text);
  case WatchNote::End:
    endProcess();
  case WatchNote::Stuck:
    return askAll(note.rank, note.timeout);
  case WatchNote::Ask:
    return answer();
  case WatchNote::Words: {
    RankWords &said = words[note.rank];
    said = {true, note.waits != 0, note.waitsFor, note.text};
    return;
  }
  case WatchNote::Goodbye:
    goodbyes[note.rank] = true;
    if (!isCenter()) {
      std::lock_guard<std::mutex> guard(lock);
      isDone = true;
    }
    return;
  }
}

/// The other end has closed: on purpose, or because its process ended.
void ProcessWatch::lost(const WatchLink &link) {
  if (goodbyes[link.peer()])
    return;
  Activity::State state = activity.read();
  end(fmt::format(
      "error: rank {} is gone (its process ended without saying why: killed, "
      "out of memory, or its machine was lost); meanwhile rank {}: {}\n",
      link.peer(), rank, activity.describe(state)));
}

/// Handles the requests of fail() and leave().
void ProcessWatch::obey() {
  std::unique_lock<std::mutex> guard(lock);
  if (fails) {
    fails = false;
    guard.unlock();
    return announceFailure(rank, failure);
  }
  if (!leaves)
    return;
  if (!saidGoodbye) {
    saidGoodbye = true;
    goodbyes[rank] = true;
    if (!isCenter())
      links[0].send(noteOf(WatchNote::Goodbye));
  }
  if (!isCenter() ||
      std::count(goodbyes.begin(), goodbyes.end(), true) != ranks)
    return;
  for (WatchLink &link : links)
    link.send(noteOf(WatchNote::Goodbye));
  isDone = true;
}

void ProcessWatch::announceFailure(int failing, const std::string &reason) {
  std::string line = fmt::format("error: rank {}: {}\n", failing, reason);
  if (isCenter())
    end(line);
  WatchNote note = noteOf(WatchNote::Failed);
  note.write(reason);
  bool isTold = links[0].send(note);
  // Rank 0 prints the line and replies with End.
  auto end = Clock::now() + kForRankZero;
  while (isTold && Clock::now() < end && links[0].isOpen()) {
    pollfd polled{links[0].socket(), POLLIN, 0};
    ::poll(&polled, 1, int(kPeriod.count()));
    while (std::optional<WatchNote> answer = links[0].receive())
      if (answer->kind == WatchNote::End)
        endProcess();
  }
  print(line);
  endProcess();
}

void ProcessWatch::checkWait() {
  patience.look();
  if (stuckRank >= 0 || !patience.isLost(activity))
    return;
  if (isCenter())
    return askAll(rank, activity.timeout());
  stuckRank = rank;
  stuckTimeout = activity.timeout();
  WatchNote note = noteOf(WatchNote::Stuck);
  note.timeout = stuckTimeout;
  links[0].send(note);
  deadline = Clock::now() + kForRankZero;
}

void ProcessWatch::askAll(int stuck, double timeout) {
  if (stuckRank >= 0)
    return;
  stuckRank = stuck;
  stuckTimeout = timeout;
  for (int each = 0; each < ranks; ++each)
    words[each]; // has not answered yet
  words[rank] = wordsOf(activity);
  for (WatchLink &link : links)
    link.send(noteOf(WatchNote::Ask));
  deadline = Clock::now() + kForWords;
}

void ProcessWatch::answer() {
  RankWords said = wordsOf(activity);
  WatchNote note = noteOf(WatchNote::Words);
  note.waits = said.waits;
  note.waitsFor = said.waitsFor;
  note.write(said.doing);
  links[0].send(note);
}

void ProcessWatch::checkDeadline() {
  if (stuckRank < 0)
    return;
  bool allSaid = isCenter() &&
                 std::all_of(words.begin(), words.end(), [](const auto &said) {
                   return said.second.answered;
                 });
  if (allSaid || Clock::now() > deadline)
    report();
}

/// Returns whether the rank was asked and has not answered.
bool ProcessWatch::isSilent(int other) const {
  auto said = words.find(other);
  return said != words.end() && !said->second.answered;
}

void ProcessWatch::report() {
  if (!isCenter()) {
    words[0]; // has not answered
    words[rank] = wordsOf(activity);
  }
  end(describeStandstill(stuckRank, stuckTimeout, words));
}

/// Prints why and ends all processes of the job. Waits for the ranks that can
/// receive the end, because data in flight may be lost when this process ends.
void ProcessWatch::end(const std::string &text) {
  print(text);
  if (isCenter()) {
    for (WatchLink &link : links)
      link.send(noteOf(WatchNote::End));
    auto end = Clock::now() + kForTheEnd;
    while (Clock::now() < end) {
      std::vector<pollfd> polled;
      for (WatchLink &link : links)
        if (link.isOpen() && !isSilent(link.peer()))
          polled.push_back({link.socket(), POLLIN, 0});
      if (polled.empty())
        break;
      ::poll(polled.data(), polled.size(), 50);
      for (WatchLink &link : links)
        while (link.receive())
          ;
    }
  }
  endProcess();
}

} // namespace ppopt::comm
