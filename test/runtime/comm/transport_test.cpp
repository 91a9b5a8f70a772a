//===- transport_test.cpp - Messages and failures, ranks as threads -------===//

#include "comm/thread_transport.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace ppopt::comm;
using namespace std::chrono;

namespace {

/// Runs the ranks, expects them to fail within a second, gives the reason.
std::string failureOf(int ranks, const std::function<void(Transport &)> &body) {
  auto begin = steady_clock::now();
  std::string text = "no failure";
  try {
    runThreadRanks(ranks, body);
  } catch (const RankFailure &failure) {
    text = failure.what();
  }
  EXPECT_LT(steady_clock::now() - begin, seconds(1));
  return text;
}

void receiveOne(Transport &transport, int peer, int channel = 0) {
  int value = 0;
  Request request = transport.irecv(&value, sizeof value, peer, channel);
  try {
    transport.wait(request);
  } catch (...) {
    transport.cancel(request);
    throw;
  }
}

} // namespace

TEST(ThreadTransport, MatchesEachChannelInOrder) {
  runThreadRanks(2, [](Transport &transport) {
    constexpr int count = 20;
    int values[2][count];
    for (int i = 0; i < count; ++i)
      for (int channel : {0, 1})
        values[channel][i] = transport.rank() == 0 ? channel * 100 + i : -1;
    std::vector<Request> requests;
    for (int i = 0; i < count; ++i)
      for (int channel : {0, 1})
        // The receiver posts the other channel first: order holds within one.
        requests.push_back(
            transport.rank() == 0
                ? transport.isend(&values[channel][i], sizeof(int), 1, channel)
                : transport.irecv(&values[1 - channel][i], sizeof(int), 0,
                                  1 - channel));
    for (Request &request : requests)
      transport.wait(request);
    for (int i = 0; i < count; ++i)
      for (int channel : {0, 1})
        EXPECT_EQ(values[channel][i], channel * 100 + i);
  });
}

TEST(ThreadTransport, ASendCompletesOnlyWithItsReceive) {
  runThreadRanks(2, [](Transport &transport) {
    int value = transport.rank();
    Request request;
    if (transport.rank() == 0) {
      request = transport.isend(&value, sizeof value, 1, 0);
      EXPECT_FALSE(transport.test(request));
    }
    transport.barrier();
    if (transport.rank() == 1)
      request = transport.irecv(&value, sizeof value, 0, 0);
    transport.wait(request);
    EXPECT_FALSE(request.pending());
    EXPECT_EQ(value, 0);
  });
}

TEST(ThreadTransport, CountsSends) {
  runThreadRanks(2, [](Transport &transport) {
    std::vector<char> data(1000);
    Request request = transport.rank() == 0
                          ? transport.isend(data.data(), 1000, 1, 0)
                          : transport.irecv(data.data(), 1000, 0, 0);
    transport.wait(request);
    EXPECT_EQ(transport.counters().bytesSent, transport.rank() ? 0u : 1000u);
    EXPECT_EQ(transport.counters().messagesSent, transport.rank() ? 0u : 1u);
  });
}

TEST(ThreadTransport, AnAbortEndsThoseWhoWait) {
  EXPECT_EQ(failureOf(4,
                      [](Transport &transport) {
                        if (transport.rank() == 2) {
                          std::this_thread::sleep_for(milliseconds(50));
                          transport.abort("no more data");
                        }
                        if (transport.rank() == 3)
                          transport.barrier();
                        receiveOne(transport, 2);
                      }),
            "rank 2: no more data");
}

TEST(ThreadTransport, AnExceptionEndsThoseWhoWait) {
  EXPECT_EQ(failureOf(3,
                      [](Transport &transport) {
                        if (transport.rank() == 0) {
                          std::this_thread::sleep_for(milliseconds(50));
                          throw std::runtime_error("disk full");
                        }
                        receiveOne(transport, 0);
                      }),
            "rank 0: disk full");
}

TEST(ThreadTransport, NobodyWaitsForARankThatHasFinished) {
  EXPECT_EQ(failureOf(2,
                      [](Transport &transport) {
                        if (transport.rank() == 0)
                          receiveOne(transport, 1, 7);
                      }),
            "rank 0: waits for rank 1 on channel 7, which has finished");
  EXPECT_EQ(failureOf(2,
                      [](Transport &transport) {
                        if (transport.rank() == 1)
                          return;
                        std::this_thread::sleep_for(milliseconds(50));
                        int value = 0;
                        transport.isend(&value, sizeof value, 1, 7);
                      }),
            "rank 0: sends to rank 1 on channel 7, which has finished");
  std::string atBarrier = failureOf(2, [](Transport &transport) {
    if (transport.rank() == 0)
      transport.barrier();
  });
  EXPECT_NE(atBarrier.find("barrier"), std::string::npos) << atBarrier;
}

TEST(ThreadTransport, SizesMustAgree) {
  std::string text = failureOf(2, [](Transport &transport) {
    char data[8] = {};
    Request request = transport.rank() == 0 ? transport.isend(data, 8, 1, 0)
                                            : transport.irecv(data, 4, 0, 0);
    try {
      transport.wait(request);
    } catch (...) {
      transport.cancel(request);
      throw;
    }
  });
  EXPECT_NE(text.find("8"), std::string::npos) << text;
  EXPECT_NE(text.find("4"), std::string::npos) << text;
  EXPECT_NE(text.find("channel 0"), std::string::npos) << text;
}

TEST(ThreadTransport, RefusesPeersAndChannelsThatAreNone) {
  runThreadRanks(2, [](Transport &transport) {
    char byte = 0;
    EXPECT_THROW(transport.isend(&byte, 1, 2, 0), std::invalid_argument);
    EXPECT_THROW(transport.irecv(&byte, 1, transport.rank(), 0),
                 std::invalid_argument);
    EXPECT_THROW(transport.isend(&byte, 1, 1 - transport.rank(), -1),
                 std::invalid_argument);
    EXPECT_EQ(transport.counters().messagesSent, 0u);
  });
}

TEST(ThreadTransport, AFullPoolIsAnError) {
  EXPECT_EQ(failureOf(2,
                      [](Transport &transport) {
                        if (transport.rank() == 1)
                          return transport.barrier();
                        char byte = 0;
                        for (int i = 0; i < 1000; ++i)
                          transport.isend(&byte, 1, 1, 0);
                      }),
            "rank 0: more than 64 transfers in flight: reserve() more");
}
