//===- local_channels_test.cpp - Operations of the places of a process ----===//

#include "comm/local_channels.h"

#include "inputs.h"
#include "message_of.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace ppopt::comm;
using namespace ppopt::comm::test;
using ppopt::geometry::chunkBegin;
using ppopt::geometry::Collective;
using ppopt::geometry::Members;

namespace {

using Buffers = std::vector<std::vector<char>>;

Members groupOf(int members, int position) {
  Members group;
  group.ranks.resize(members);
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  group.position = position;
  return group;
}

int define(LocalChannels &channels, std::vector<char> &buffer,
           const Members &group, Collective kind, ElementType type) {
  CollectiveSpec spec;
  spec.name = "sum of " + std::to_string(group.position);
  spec.channel = 1;
  spec.data = buffer.data();
  spec.elements = int64_t(buffer.size() / sizeOf(type));
  spec.type = type;
  spec.kind = kind;
  return channels.define(spec, group);
}

int define(LocalChannels &channels, std::vector<char> &buffer, bool sends,
           int place, int peer, int channel = 0) {
  TransferSpec spec;
  spec.name = sends ? "send" : "recv";
  spec.sends = sends;
  spec.peer = peer;
  spec.channel = channel;
  spec.data = buffer.data();
  spec.bytes = buffer.size();
  return channels.define(spec, place);
}

Buffers makeBuffers(int members, int64_t elements, ElementType type) {
  Buffers buffers;
  for (int member = 0; member < members; ++member)
    buffers.push_back(makeBuffer(member, elements, type, roughValue));
  return buffers;
}

/// Adds in the order of the members, and rounds each sum to the type.
std::vector<char> sumOf(const Buffers &buffers, ElementType type) {
  std::vector<char> sum = buffers[0];
  auto elements = int64_t(sum.size() / sizeOf(type));
  for (size_t member = 1; member < buffers.size(); ++member)
    for (int64_t i = 0; i < elements; ++i) {
      double left = get(sum, i, type), right = get(buffers[member], i, type);
      switch (type) {
      case ElementType::F32:
        put(sum, i, type, float(left) + float(right));
        break;
      case ElementType::BF16: {
        float exact = float(left) + float(right);
        uint32_t bits;
        std::memcpy(&bits, &exact, sizeof bits);
        bits += 0x7fff + ((bits >> 16) & 1); // to nearest even
        bits &= 0xffff0000;
        float rounded;
        std::memcpy(&rounded, &bits, sizeof rounded);
        put(sum, i, type, rounded);
        break;
      }
      default:
        put(sum, i, type, left + right);
      }
    }
  return sum;
}

/// Defines a collective of all buffers, and runs it from the last member to the
/// first.
void runCollective(Buffers &buffers, Collective kind, ElementType type) {
  LocalChannels channels;
  auto members = int(buffers.size());
  for (int member = 0; member < members; ++member)
    EXPECT_EQ(
        define(channels, buffers[member], groupOf(members, member), kind, type),
        member);
  for (int member = members; member-- > 0;) {
    EXPECT_EQ(channels.start(member), member == 0);
    EXPECT_TRUE(channels.isStarted(member));
  }
  for (int member = 0; member < members; ++member) {
    channels.wait(member);
    EXPECT_FALSE(channels.isStarted(member));
  }
}

/// Returns chunk `i` of a buffer.
std::vector<char> chunkOf(const std::vector<char> &buffer, ElementType type,
                          int64_t members, int64_t i) {
  auto size = int64_t(sizeOf(type));
  int64_t elements = int64_t(buffer.size()) / size;
  return {buffer.begin() + chunkBegin(elements, members, i) * size,
          buffer.begin() + chunkBegin(elements, members, i + 1) * size};
}

template <typename Test> void forAllSizes(const Test &test) {
  for (ElementType type : allTypes)
    for (int members : {1, 2, 3, 5})
      for (int64_t elements : {0, 1, 2, 7, 100, 1037}) {
        SCOPED_TRACE(std::string(nameOf(type)) + ", " +
                     std::to_string(members) + " members, " +
                     std::to_string(elements) + " elements");
        test(members, elements, type);
      }
}

TEST(LocalChannels, AllReduceAddsInTheOrderOfTheMembers) {
  forAllSizes([](int members, int64_t elements, ElementType type) {
    Buffers buffers = makeBuffers(members, elements, type);
    std::vector<char> sum = sumOf(buffers, type);
    runCollective(buffers, Collective::AllReduce, type);
    for (const std::vector<char> &buffer : buffers)
      EXPECT_EQ(buffer, sum);
  });
}

TEST(LocalChannels, ReduceScatterGivesEachItsChunkOfTheSameSum) {
  forAllSizes([](int members, int64_t elements, ElementType type) {
    Buffers buffers = makeBuffers(members, elements, type);
    std::vector<char> sum = sumOf(buffers, type);
    runCollective(buffers, Collective::ReduceScatter, type);
    for (int member = 0; member < members; ++member)
      EXPECT_EQ(chunkOf(buffers[member], type, members, member),
                chunkOf(sum, type, members, member));
  });
}

TEST(LocalChannels, AllGatherCollectsTheChunks) {
  forAllSizes([](int members, int64_t elements, ElementType type) {
    Buffers buffers = makeBuffers(members, elements, type);
    std::vector<char> all;
    for (int member = 0; member < members; ++member)
      for (char byte : chunkOf(buffers[member], type, members, member))
        all.push_back(byte);
    runCollective(buffers, Collective::AllGather, type);
    for (const std::vector<char> &buffer : buffers)
      EXPECT_EQ(buffer, all);
  });
}

TEST(LocalChannels, BroadcastGivesAllTheBufferOfTheFirst) {
  forAllSizes([](int members, int64_t elements, ElementType type) {
    Buffers buffers = makeBuffers(members, elements, type);
    std::vector<char> first = buffers[0];
    runCollective(buffers, Collective::Broadcast, type);
    for (const std::vector<char> &buffer : buffers)
      EXPECT_EQ(buffer, first);
  });
}

TEST(LocalChannels, TransfersCopyWhicheverEndComesFirst) {
  for (bool sendsFirst : {false, true})
    for (int64_t elements : {0, 1, 33}) {
      LocalChannels channels;
      std::vector<char> from =
          makeBuffer(0, elements, ElementType::F32, roughValue);
      std::vector<char> to(from.size());
      int ends[] = {define(channels, from, true, 2, 1),
                    define(channels, to, false, 1, 2)};
      for (int step = 0; step < 3; ++step) {
        std::fill(to.begin(), to.end(), char(1));
        EXPECT_FALSE(channels.start(ends[sendsFirst ? 0 : 1]));
        EXPECT_TRUE(channels.start(ends[sendsFirst ? 1 : 0]));
        EXPECT_EQ(to, from);
        channels.wait(ends[0]);
        channels.wait(ends[1]);
      }
    }
}

TEST(LocalChannels, SeveralInFlightMatchInTheOrderOfTheirStarts) {
  LocalChannels channels;
  Buffers from = makeBuffers(4, 5, ElementType::I32);
  Buffers to(4, std::vector<char>(from[0].size()));
  std::vector<int> sends, receives;
  for (int i = 0; i < 4; ++i) {
    sends.push_back(define(channels, from[i], true, 0, 1));
    receives.push_back(define(channels, to[i], false, 1, 0));
  }
  // Another channel, and the other way: queues of their own.
  std::vector<char> back(8, 3), forth(8);
  int send = define(channels, back, true, 1, 0);
  int receive = define(channels, forth, false, 1, 0, /*channel=*/7);
  channels.start(send);
  channels.start(receive);
  // More starts than ends: the queue goes round.
  for (int step = 0; step < 3; ++step) {
    for (int i : {2, 0, 3, 1})
      EXPECT_FALSE(channels.start(sends[i]));
    for (int i : {1, 0, 2, 3})
      EXPECT_TRUE(channels.start(receives[i]));
    EXPECT_EQ(to, (Buffers{from[0], from[2], from[3], from[1]}));
    for (int i = 0; i < 4; ++i) {
      channels.wait(sends[i]);
      channels.wait(receives[i]);
    }
  }
  for (int end : {send, receive})
    EXPECT_THROW(channels.wait(end), std::logic_error);
}

TEST(LocalChannels, GroupsOnOneChannelAreApart) {
  LocalChannels channels;
  Buffers buffers = makeBuffers(4, 9, ElementType::F64);
  std::vector<char> low = sumOf({buffers[0], buffers[1]}, ElementType::F64);
  std::vector<char> high = sumOf({buffers[2], buffers[3]}, ElementType::F64);
  for (int place = 0; place < 4; ++place) {
    Members group;
    group.ranks = place < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3};
    group.position = place % 2;
    define(channels, buffers[place], group, Collective::AllReduce,
           ElementType::F64);
  }
  EXPECT_FALSE(channels.start(0));
  EXPECT_FALSE(channels.start(3));
  EXPECT_TRUE(channels.start(2));
  EXPECT_TRUE(channels.start(1));
  EXPECT_EQ(buffers, (Buffers{low, low, high, high}));
}

TEST(LocalChannels, CountsTheBytesThatItMoves) {
  LocalChannels channels;
  std::vector<char> buffer(4 * 10);
  auto moved = [&](Collective kind, int members) {
    return channels.bytesMoved(
        define(channels, buffer, groupOf(members, 0), kind, ElementType::F32));
  };
  EXPECT_EQ(moved(Collective::AllReduce, 3), 5 * 2 * 40);
  EXPECT_EQ(moved(Collective::ReduceScatter, 3), 3 * 2 * 40 + 2 * 6 * 4);
  EXPECT_EQ(moved(Collective::AllGather, 3), 2 * 2 * 40);
  EXPECT_EQ(moved(Collective::Broadcast, 3), 2 * 2 * 40);
  EXPECT_EQ(moved(Collective::AllReduce, 1), 0);
  EXPECT_EQ(channels.bytesMoved(define(channels, buffer, true, 0, 1)), 2 * 40);
}

TEST(LocalChannels, RejectsWaitsAndStartsThatCannotBe) {
  LocalChannels channels;
  Buffers buffers = makeBuffers(2, 4, ElementType::F32);
  for (int place : {0, 1})
    define(channels, buffers[place], groupOf(2, place), Collective::AllReduce,
           ElementType::F32);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.wait(0); }),
            "collective 'sum of 0' is not in flight");
  channels.start(0);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.wait(0); }),
            "collective 'sum of 0' is waited for before all its ends are "
            "started: the wait would never end");
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.start(0); }),
            "collective 'sum of 0' is started again before its wait");
  channels.start(1);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.start(0); }),
            "collective 'sum of 0' is started again before its wait");
  channels.wait(0);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.wait(0); }),
            "collective 'sum of 0' is not in flight");
}

TEST(LocalChannels, RejectsEndsThatDoNotFit) {
  LocalChannels channels;
  std::vector<char> small(4), large(8);
  int send = define(channels, small, true, 0, 1);
  int receive = define(channels, large, false, 1, 0);
  channels.start(send);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.start(receive); }),
            "transfer 'recv' does not fit to transfer 'send', with which it "
            "was started");
  int first = define(channels, small, groupOf(2, 0), Collective::AllReduce,
                     ElementType::F32);
  int second = define(channels, small, groupOf(2, 1), Collective::AllGather,
                      ElementType::F32);
  channels.start(first);
  EXPECT_EQ(messageOf<std::logic_error>([&] { channels.start(second); }),
            "collective 'sum of 1' does not fit to collective 'sum of 0', with "
            "which it was started");
}

TEST(LocalChannels, RejectsEndsThatNoPlaceHas) {
  LocalChannels channels;
  std::vector<char> buffer(8);
  EXPECT_EQ(messageOf<std::invalid_argument>([&] {
              define(channels, buffer, groupOf(2, 2), Collective::AllReduce,
                     ElementType::F32);
            }),
            "collective 'sum of 2': a group of 2 has no member 2");
  EXPECT_EQ(messageOf<std::invalid_argument>(
                [&] { define(channels, buffer, true, 1, 1); }),
            "transfer 'send': both ends are on place 1");
  CollectiveSpec spec;
  spec.name = "of a task";
  spec.elements = 1;
  EXPECT_EQ(messageOf<std::invalid_argument>(
                [&] { channels.define(spec, groupOf(2, 0)); }),
            "collective 'of a task': it has no memory, and the only thread of "
            "all places can't wait for the others inside a task");
}

} // namespace
