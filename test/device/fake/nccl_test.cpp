//===- nccl_test.cpp - What the fake NCCL computes ------------------------===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

/// Brain floats, by their upper half.
struct BFloat {
  uint16_t bits = 0;
  BFloat() = default;
  BFloat(double value) {
    auto narrow = float(value);
    uint32_t wide;
    std::memcpy(&wide, &narrow, sizeof wide);
    bits = uint16_t(wide >> 16); // values of the tests are exact
  }
  operator double() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

template <typename Element> struct TypeOf;
template <> struct TypeOf<int32_t> {
  static constexpr NcclType value = NcclType::i32;
};
template <> struct TypeOf<int64_t> {
  static constexpr NcclType value = NcclType::i64;
};
template <> struct TypeOf<float> {
  static constexpr NcclType value = NcclType::f32;
};
template <> struct TypeOf<double> {
  static constexpr NcclType value = NcclType::f64;
};
template <> struct TypeOf<BFloat> {
  static constexpr NcclType value = NcclType::bf16;
};

/// Small integers, so that all sums are exact. Each rank has others.
template <typename Element>
std::vector<Element> values(int rank, size_t count) {
  std::mt19937 random(uint32_t(1000 + rank));
  std::vector<Element> drawn(count);
  for (Element &each : drawn)
    each = Element(int(random() % 33) - 16);
  return drawn;
}

template <typename Element>
void expectEqual(const std::vector<Element> &got,
                 const std::vector<Element> &wanted, const char *what) {
  check(got.size() == wanted.size(), "{}: sizes", what);
  for (size_t i = 0; i < got.size(); ++i)
    check(double(got[i]) == double(wanted[i]), "{}: element {} is {}, not {}",
          what, i, double(got[i]), double(wanted[i]));
}

/// The reduction of elements [begin, begin + count) of what all ranks have.
template <typename Element>
std::vector<Element> reduced(int ranks, size_t all, size_t begin, size_t count,
                             NcclReduction reduction) {
  std::vector<Element> result(count);
  for (size_t i = 0; i < count; ++i) {
    double value = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      double next = double(values<Element>(rank, all)[begin + i]);
      value = rank == 0                         ? next
              : reduction == NcclReduction::sum ? value + next
                                                : std::max(value, next);
    }
    result[i] = Element(value);
  }
  return result;
}

constexpr size_t count = 11;

template <typename Element>
void checkAllReduce(Rank &rank, NcclReduction reduction, bool inPlace) {
  DeviceMemory send = rank.put(values<Element>(rank.rank, count)),
               receive =
                   inPlace ? send : rank.allocate(count * sizeof(Element));
  PPOPT_MUST(nccl().allReduce(pointer(send), pointer(receive), count,
                              TypeOf<Element>::value, reduction,
                              rank.communicator, rank.stream));
  expectEqual(rank.get<Element>(receive, count),
              reduced<Element>(rank.ranks, count, 0, count, reduction),
              "all-reduce");
  if (!inPlace)
    expectEqual(rank.get<Element>(send, count),
                values<Element>(rank.rank, count), "what was sent");
}

template <typename Element>
void checkReduceScatter(Rank &rank, NcclReduction reduction, bool inPlace) {
  size_t all = count * size_t(rank.ranks), begin = count * size_t(rank.rank);
  std::vector<Element> own = values<Element>(rank.rank, all);
  DeviceMemory send = rank.put(own),
               receive = inPlace ? send + begin * sizeof(Element)
                                 : rank.allocate(count * sizeof(Element));
  PPOPT_MUST(nccl().reduceScatter(pointer(send), pointer(receive), count,
                                  TypeOf<Element>::value, reduction,
                                  rank.communicator, rank.stream));
  std::vector<Element> wanted =
      reduced<Element>(rank.ranks, all, begin, count, reduction);
  expectEqual(rank.get<Element>(receive, count), wanted, "reduce-scatter");
  if (inPlace)
    std::copy(wanted.begin(), wanted.end(), own.begin() + ptrdiff_t(begin));
  expectEqual(rank.get<Element>(send, all), own, "what was sent");
}

template <typename Element> void checkAllGather(Rank &rank, bool inPlace) {
  size_t all = count * size_t(rank.ranks), begin = count * size_t(rank.rank);
  DeviceMemory receive = rank.allocate(all * sizeof(Element)),
               send = inPlace ? receive + begin * sizeof(Element)
                              : rank.allocate(count * sizeof(Element));
  rank.write(send, values<Element>(rank.rank, count));
  PPOPT_MUST(nccl().allGather(pointer(send), pointer(receive), count,
                              TypeOf<Element>::value, rank.communicator,
                              rank.stream));
  std::vector<Element> wanted;
  for (int each = 0; each < rank.ranks; ++each)
    for (Element value : values<Element>(each, count))
      wanted.push_back(value);
  expectEqual(rank.get<Element>(receive, all), wanted, "all-gather");
}

/// Around the ring, both ways at once.
template <typename Element> void checkTransfers(Rank &rank) {
  int next = (rank.rank + 1) % rank.ranks,
      previous = (rank.rank + rank.ranks - 1) % rank.ranks;
  DeviceMemory send = rank.put(values<Element>(rank.rank, count));
  DeviceMemory receive[2];
  PPOPT_MUST(nccl().groupStart());
  for (DeviceMemory &each : receive) {
    bool isForward = &each == receive;
    each = rank.allocate(count * sizeof(Element));
    PPOPT_MUST(nccl().send(pointer(send), count, TypeOf<Element>::value,
                           isForward ? next : previous, rank.communicator,
                           rank.stream));
    PPOPT_MUST(nccl().receive(pointer(each), count, TypeOf<Element>::value,
                              isForward ? previous : next, rank.communicator,
                              rank.stream));
  }
  PPOPT_MUST(nccl().groupEnd());
  expectEqual(rank.get<Element>(receive[0], count),
              values<Element>(previous, count), "from the previous rank");
  // With two ranks both are of the same one, in the order of the calls.
  expectEqual(rank.get<Element>(receive[1], count),
              values<Element>(next, count), "from the next rank");
}

template <typename Element> void checkAll(Rank &rank) {
  for (bool inPlace : {false, true}) {
    for (NcclReduction reduction : {NcclReduction::sum, NcclReduction::max}) {
      checkAllReduce<Element>(rank, reduction, inPlace);
      checkReduceScatter<Element>(rank, reduction, inPlace);
    }
    checkAllGather<Element>(rank, inPlace);
  }
  checkTransfers<Element>(rank);
}

class Values : public testing::TestWithParam<std::tuple<Launch, int>> {};
INSTANTIATE_TEST_SUITE_P(
    Nccl, Values,
    testing::Combine(testing::Values(Launch::threads, Launch::processes),
                     testing::Range(1, 21)),
    [](const auto &info) {
      return fmt::format(
          "{}{}",
          std::get<0>(info.param) == Launch::threads ? "Threads" : "Processes",
          std::get<1>(info.param));
    });

TEST_P(Values, AreRight) {
  auto [launch, seed] = GetParam();
  for (int ranks : {1, 2, 3, 4})
    expectSuccess(runRanks(launch, machine(ranks, seed), ranks, [](Rank &rank) {
      checkAll<int32_t>(rank);
      checkAll<int64_t>(rank);
      checkAll<float>(rank);
      checkAll<double>(rank);
      checkAll<BFloat>(rank);
    }));
}

} // namespace
