//===- watch_test.cpp - Processes that watch each other -------------------===//
//
// Each test forks a job of processes, connected by socket pairs, does something
// to one of them, and looks at what was said and how all ended.
//
//===----------------------------------------------------------------------===//

#include "comm/thread_transport.h"
#include "comm/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ppopt::comm;

namespace {

/// What a rank does; may not return to the test.
using Body = std::function<void(ProcessWatch &, Activity &)>;

class ForkedJob {
public:
  /// Rank r runs bodies[r]; one that returns leaves in order, with status 0.
  explicit ForkedJob(const std::vector<Body> &bodies) {
    int ranks = int(bodies.size());
    std::vector<std::array<int, 2>> pairs(ranks, {-1, -1});
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[rank].data()), 0);
    int said[2];
    EXPECT_EQ(pipe(said), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      pids.push_back(fork());
      if (pids.back() != 0)
        continue;
      alarm(60); // whatever goes wrong
      dup2(said[1], STDERR_FILENO);
      std::vector<WatchLink> links;
      for (int peer = 1; peer < ranks; ++peer) {
        bool mine = rank == peer;
        if (rank == 0)
          links.emplace_back(pairs[peer][0], peer);
        else if (mine)
          links.emplace_back(pairs[peer][1], 0);
        if (rank != 0)
          close(pairs[peer][0]);
        if (!mine)
          close(pairs[peer][1]);
      }
      run(rank, ranks, std::move(links), bodies[rank]);
    }
    for (auto &pair : pairs)
      for (int end : pair)
        close(end);
    close(said[1]);
    output = said[0];
  }

  ~ForkedJob() {
    for (pid_t pid : pids)
      kill(pid, SIGKILL);
    close(output);
  }

  /// Exit status, or -signal.
  int statusOf(int rank) {
    int status = 0;
    EXPECT_EQ(waitpid(pids[rank], &status, 0), pids[rank]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// What was said until all had ended.
  std::string said() {
    std::string text;
    char piece[4096];
    ssize_t bytes;
    while ((bytes = read(output, piece, sizeof piece)) > 0)
      text.append(piece, size_t(bytes));
    return text;
  }

  std::vector<pid_t> pids;

private:
  [[noreturn]] static void run(int rank, int ranks,
                               std::vector<WatchLink> links, const Body &body) {
    Activity activity;
    {
      ProcessWatch watch(rank, ranks, std::move(links), activity);
      body(watch, activity);
      watch.leave();
    }
    _exit(0);
  }

  int output = -1;
};

void stay(ProcessWatch &, Activity &) {
  while (true)
    pause();
}

void passBy(ProcessWatch &, Activity &) {}

void die(ProcessWatch &, Activity &) {
  usleep(50000);
  raise(SIGKILL);
}

void stop(ProcessWatch &, Activity &) { raise(SIGSTOP); }

/// Waits for `peer` longer than half a second.
Body waitFor(int peer) {
  return [peer](ProcessWatch &, Activity &activity) {
    activity.setTimeout(0.5);
    activity.enter(Activity::Part::Step, 7);
    Activity::Wait wait(activity);
    wait.on(Activity::WaitsIn::Message, -1, peer);
    while (true)
      pause();
  };
}

TEST(Watch, AnOrderlyEndIsQuiet) {
  ForkedJob job({passBy, passBy,
                 [](ProcessWatch &, Activity &) { usleep(300000); }, passBy});
  EXPECT_EQ(job.said(), "");
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(job.statusOf(rank), 0);
}

TEST(Watch, RankZeroSaysWhoIsGoneAndAllEnd) {
  ForkedJob job({stay, die, stay});
  EXPECT_EQ(job.said(),
            "error: rank 1 is gone (its process ended without saying why: "
            "killed, out of memory, or its machine was lost); meanwhile rank "
            "0: before the first step\n");
  EXPECT_EQ(job.statusOf(0), 1);
  EXPECT_EQ(job.statusOf(1), -SIGKILL);
  EXPECT_EQ(job.statusOf(2), 1);
}

TEST(Watch, ARankIsMissedWhileOthersLeave) {
  ForkedJob job({passBy, die, passBy});
  EXPECT_NE(job.said().find("error: rank 1 is gone"), std::string::npos);
  EXPECT_EQ(job.statusOf(0), 1);
  EXPECT_EQ(job.statusOf(2), 1);
}

TEST(Watch, WithoutRankZeroTheOthersEnd) {
  ForkedJob job({die, stay, passBy});
  std::string said = job.said();
  EXPECT_NE(said.find("error: rank 0 is gone"), std::string::npos) << said;
  EXPECT_EQ(job.statusOf(1), 1);
  EXPECT_EQ(job.statusOf(2), 1);
}

TEST(Watch, AReasonIsSaidOnceWhoeverFails) {
  auto fail = [](ProcessWatch &watch, Activity &) {
    watch.fail("the loss is not finite");
  };
  for (int failing : {0, 1}) {
    std::vector<Body> bodies(3, stay);
    bodies[failing] = fail;
    ForkedJob job(bodies);
    EXPECT_EQ(job.said(), "error: rank " + std::to_string(failing) +
                              ": the loss is not finite\n");
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(job.statusOf(rank), 1);
  }
  ForkedJob all({fail, fail, fail});
  std::string said = all.said();
  EXPECT_EQ(said.find("error:"), said.rfind("error:")) << said;
}

TEST(Watch, AReasonIsSaidWhereRankZeroDoesNotAnswer) {
  ForkedJob job({stop, [](ProcessWatch &watch, Activity &) {
                   usleep(200000);
                   watch.fail("no such file");
                 }});
  EXPECT_EQ(job.statusOf(1), 1);
  kill(job.pids[0], SIGCONT);
  EXPECT_EQ(job.said().find("error: rank 1: no such file\n"), 0u);
}

TEST(Watch, AStoppedRankIsNamedByThoseThatWait) {
  ForkedJob job({waitFor(2), waitFor(0), stop});
  EXPECT_EQ(job.statusOf(0), 1);
  EXPECT_EQ(job.statusOf(1), 1);
  kill(job.pids[2], SIGCONT);
  EXPECT_EQ(job.statusOf(2), 1);
  std::string said = job.said();
  for (const char *line :
       {"has waited for longer than --timeout 0.5 s\n",
        "  rank 0: step 7, waits ", " for rank 2: a message between steps\n",
        "  rank 2: does not answer (it is stopped, or its machine hangs)\n",
        "  rank 2 holds up the others\n"})
    EXPECT_NE(said.find(line), std::string::npos) << said;
}

TEST(Watch, WhereRankZeroIsStoppedTheOthersNameIt) {
  ForkedJob job({stop, waitFor(0)});
  EXPECT_EQ(job.statusOf(1), 1);
  kill(job.pids[0], SIGCONT);
  EXPECT_EQ(job.statusOf(0), 1);
  std::string said = job.said();
  for (const char *line :
       {"error: rank 1 has waited for longer than --timeout 0.5 s\n",
        "  rank 0: does not answer", "  rank 0 holds up the others\n"})
    EXPECT_NE(said.find(line), std::string::npos) << said;
}

TEST(Watch, ThreadsThatWaitForEachOtherEndTheProcess) {
  auto wait = [] {
    runThreadRanks(2, [](Transport &transport) {
      transport.activity().setTimeout(0.5);
      int nothing = 0;
      Request request =
          transport.irecv(&nothing, sizeof nothing, 1 - transport.rank(), 0);
      transport.wait(request);
    });
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(1),
              "has waited for longer than --timeout 0.5 s\n"
              "  rank 0: before the first step, waits .* s for rank 1: .*\n"
              "  rank 1: .*\n"
              "  rank (0, 1|1, 0) wait for each other in a circle\n");
}

TEST(Watch, AThreadThatDoesNotEndAfterAFailureEndsWithTheProcess) {
  auto fail = [] {
    runThreadRanks(2, [](Transport &transport) {
      if (transport.rank() == 1)
        throw std::runtime_error("planted");
      while (true) // in a library that waits for rank 1
        ::pause();
    });
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(1), "error: rank 1: planted\n");
}

TEST(Watch, AFailureIsToldBeforeAnythingIsDestroyed) {
  std::atomic<bool> isTold{false};
  EXPECT_THROW(runThreadRanks(2,
                              [&](Transport &transport) {
                                if (transport.rank() == 0) {
                                  EXPECT_THROW(transport.barrier(),
                                               RankFailure);
                                  isTold = true;
                                  return;
                                }
                                try {
                                  throw std::runtime_error("planted");
                                } catch (...) {
                                  transport.tellFailure();
                                  while (!isTold)
                                    std::this_thread::yield();
                                  throw;
                                }
                              }),
               RankFailure);
}

//===----------------------------------------------------------------------===//
// Who holds up the others
//===----------------------------------------------------------------------===//

TEST(WhoWaits, TheOneThatWaitsForNobodyHoldsUpTheOthers) {
  std::map<int, RankWords> words{{0, {true, true, 1, "waits"}},
                                 {1, {true, true, 2, "waits"}},
                                 {2, {true, false, -1, "step 3"}}};
  EXPECT_EQ(describeStandstill(0, 10, words),
            "error: rank 0 has waited for longer than --timeout 10 s\n"
            "  rank 0: waits\n  rank 1: waits\n  rank 2: step 3\n"
            "  rank 2 holds up the others\n");
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

TEST(WatchLinks, ConnectAllRanksWithRankZero) {
  runThreadRanks(4, [](Transport &transport) {
    std::vector<WatchLink> links = connectWatch(transport);
    ASSERT_EQ(links.size(), transport.rank() == 0 ? 3u : 1u);
    WatchNote note;
    note.kind = WatchNote::Words;
    note.rank = transport.rank();
    note.write("rank " + std::to_string(transport.rank()));
    for (WatchLink &link : links)
      ASSERT_TRUE(link.send(note));
    for (WatchLink &link : links) {
      std::optional<WatchNote> theirs;
      while (!theirs && link.isOpen())
        theirs = link.receive();
      ASSERT_TRUE(theirs);
      EXPECT_EQ(theirs->rank, link.peer());
      EXPECT_EQ(theirs->text, "rank " + std::to_string(link.peer()));
    }
    transport.barrier();
  });
}

/// Where this process listens.
std::vector<uint16_t> listeningPorts() {
  std::set<std::string> own; // inodes
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code isGone;
    std::string target = std::filesystem::read_symlink(entry, isGone).string();
    if (target.rfind("socket:[", 0) == 0)
      own.insert(target.substr(8, target.size() - 9));
  }
  std::vector<uint16_t> ports;
  std::ifstream table("/proc/self/net/tcp");
  std::string line;
  std::getline(table, line); // the heading
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string number, local, remote, state, skipped, inode;
    columns >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i)
      columns >> skipped;
    columns >> inode;
    if (state == "0A" && own.count(inode))
      ports.push_back(uint16_t(std::stoul(local.substr(9), nullptr, 16)));
  }
  return ports;
}

int connectAsStranger(uint16_t port) {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(
      connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address),
      0);
  return socket;
}

/// Lets strangers in before this rank: they connect as soon as it knows where
/// rank 0 listens.
class KnockingTransport : public Transport {
public:
  KnockingTransport(Transport &inner, std::function<void()> knock)
      : Transport(inner.rank(), inner.size(), inner.activity()), inner(inner),
        knock(std::move(knock)) {}

  const char *kind() const override { return inner.kind(); }
  bool test(Request &request) override {
    bool isInvitation = request.index == receiving;
    bool isDone = inner.test(request);
    if (isInvitation && isDone)
      knock();
    return isDone;
  }
  void throwIfFailed() override { inner.throwIfFailed(); }
  uint64_t completions() override { return inner.completions(); }
  void awaitCompletion(uint64_t seen) override { inner.awaitCompletion(seen); }
  void cancel(Request &request) noexcept override { inner.cancel(request); }
  void barrier() override { inner.barrier(); }
  void abort(const std::string &reason) override { inner.abort(reason); }
  void reserve(int requests) override { inner.reserve(requests); }
  int maxChannel() const override { return inner.maxChannel(); }

protected:
  Request postSend(const void *data, size_t bytes, int peer,
                   int channel) override {
    return inner.isend(data, bytes, peer, channel);
  }
  Request postReceive(void *data, size_t bytes, int peer,
                      int channel) override {
    Request request = inner.irecv(data, bytes, peer, channel);
    receiving = request.index;
    return request;
  }

private:
  Transport &inner;
  const std::function<void()> knock;
  int receiving = -2;
};

TEST(WatchLinks, StrangersAreTurnedAway) {
  std::vector<int> strangers;
  auto knock = [&] {
    std::vector<uint16_t> ports = listeningPorts();
    ASSERT_EQ(ports.size(), 1u);
    for (int i = 0; i < 4; ++i)
      strangers.push_back(connectAsStranger(ports[0]));
    WatchNote hello; // of rank 1, without the token
    hello.rank = 1;
    ASSERT_EQ(write(strangers[0], &hello, sizeof hello), ssize_t(sizeof hello));
    std::vector<char> letters(2 * sizeof hello, 'x');
    ASSERT_EQ(write(strangers[1], letters.data(), letters.size()),
              ssize_t(letters.size()));
    ASSERT_EQ(write(strangers[2], letters.data(), 1), 1); // and then nothing
    close(strangers[3]);
  };
  runThreadRanks(2, [&](Transport &transport) {
    KnockingTransport knocking(transport, knock);
    std::vector<WatchLink> links =
        connectWatch(transport.rank() == 1 ? knocking : transport);
    ASSERT_EQ(links.size(), 1u);
    WatchNote note;
    note.write("it is me");
    if (transport.rank() == 1) {
      ASSERT_TRUE(links[0].send(note));
    } else {
      std::optional<WatchNote> theirs;
      for (int i = 0; i < 5000 && !theirs; ++i, usleep(1000))
        theirs = links[0].receive();
      ASSERT_TRUE(theirs);
      EXPECT_STREQ(theirs->text, "it is me");
    }
    transport.barrier();
  });
  ASSERT_EQ(strangers.size(), 4u);
  for (int i = 0; i < 3; ++i) {
    char nothing;
    EXPECT_LE(recv(strangers[i], &nothing, 1, 0), 0) << "stranger " << i;
    close(strangers[i]);
  }
}

TEST(WatchLinks, ALinkSeesThatTheOtherEndIsGone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  WatchLink link(ends[0], 1);
  EXPECT_FALSE(link.receive());
  EXPECT_TRUE(link.isOpen());
  // A part of a note is none.
  ASSERT_EQ(write(ends[1], "part", 4), 4);
  close(ends[1]);
  EXPECT_FALSE(link.receive());
  EXPECT_FALSE(link.isOpen());
}

} // namespace
