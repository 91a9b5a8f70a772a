//===- random_program_test.cpp - Random programs on the fake device -------===//
//
// Programs with exactly the orders that they need compute on the fake device
// what they compute on the CPU. Without one of these orders they are errors if
// and only if the graph of the calls then leaves a conflict without a path.
//
//===----------------------------------------------------------------------===//

#include "base/error.h"
#include "device/conformance/devices.h"

#include <array>
#include <cstring>
#include <random>

using namespace ppopt;
using namespace ppopt::device;

namespace {

using Bytes = std::vector<unsigned char>;
constexpr int64_t memoryBytes = 400, size = 24;

/// Mixes both operands, of `size` bytes, into the result.
void mix(void *const *arguments, int64_t, int64_t) {
  unsigned char in[2][size];
  std::memcpy(in[0], arguments[0], size);
  std::memcpy(in[1], arguments[1], size);
  auto *out = static_cast<unsigned char *>(arguments[2]);
  for (int64_t i = 0; i < size; ++i)
    out[i] = in[0][i] * 7 + in[1][size - 1 - i] * 3 + 1;
}

struct Call {
  enum Kind { Mix, Fill, Record, Wait, Synchronize } kind;
  int stream;
  int event = -1;                 ///< Record, Wait
  std::array<int64_t, 3> at = {}; ///< Mix: operands, result; Fill: result
  unsigned char value = 0;        ///< Fill
  bool isOperation() const { return kind == Mix || kind == Fill; }
};
using Program = std::vector<Call>;

bool overlap(int64_t one, int64_t other) {
  return one < other + size && other < one + size;
}

bool conflict(const Call &one, const Call &other) {
  auto writesWhatIsUsed = [](const Call &writer, const Call &user) {
    for (int i = user.kind == Call::Mix ? 0 : 2; i < 3; ++i)
      if (overlap(writer.at[2], user.at[i]))
        return true;
    return false;
  };
  return writesWhatIsUsed(one, other) || writesWhatIsUsed(other, one);
}

/// Returns the calls before the last one, found backwards along the edges:
/// from a call to the one before it on its stream, to the last synchronize and,
/// for a wait, to the record. `left` is a call that does not count.
std::vector<bool> callsBefore(const Program &program, size_t end,
                              size_t left = SIZE_MAX) {
  std::vector<bool> before(end);
  std::vector<size_t> work = {end};
  auto visit = [&](size_t from, auto &&matches) {
    for (size_t i = from; i-- > 0;)
      if (i != left && matches(program[i])) {
        if (!before[i])
          work.push_back(i);
        before[i] = true;
        return;
      }
  };
  while (!work.empty()) {
    size_t at = work.back();
    work.pop_back();
    const Call &call = program[at];
    visit(at,
          [&](const Call &other) { return other.kind == Call::Synchronize; });
    visit(at, [&](const Call &other) {
      return other.kind != Call::Synchronize && other.stream == call.stream;
    });
    if (call.kind == Call::Wait)
      visit(at, [&](const Call &other) {
        return other.kind == Call::Record && other.event == call.event;
      });
  }
  return before;
}

bool hasRace(const Program &program, size_t left) {
  for (size_t later = 0; later < program.size(); ++later) {
    if (!program[later].isOperation())
      continue;
    std::vector<bool> before = callsBefore(program, later, left);
    for (size_t earlier = 0; earlier < later; ++earlier)
      if (program[earlier].isOperation() && !before[earlier] &&
          conflict(program[earlier], program[later]))
        return true;
  }
  return false;
}

/// Draws operations, and an order before each one that needs it.
Program drawProgram(std::mt19937 &random, int streams) {
  auto draw = [&](int64_t below) { return int64_t(random() % below); };
  Program program;
  for (int i = 0; i < 25; ++i) {
    Call call{draw(4) ? Call::Mix : Call::Fill, int(draw(streams))};
    for (int64_t &at : call.at)
      at = draw(memoryBytes - size + 1);
    call.value = random();
    if (draw(3) == 0) { // an order that may turn out to be of use, or not
      int event = int(draw(3));
      program.push_back({Call::Record, int(draw(streams)), event});
      program.push_back({Call::Wait, int(draw(streams)), event});
    }
    for (;;) {
      program.push_back(call);
      std::vector<bool> before = callsBefore(program, program.size() - 1);
      program.pop_back();
      size_t other = program.size();
      while (other-- > 0)
        if (program[other].isOperation() && !before[other] &&
            conflict(program[other], call))
          break;
      if (other == SIZE_MAX)
        break;
      int from = program[other].stream;
      if (draw(5) == 0) {
        program.push_back({Call::Synchronize, from});
        continue;
      }
      int event = int(draw(3)); // records take the place of earlier ones
      program.push_back({Call::Record, from, event});
      program.push_back({Call::Wait, call.stream, event});
    }
    program.push_back(call);
  }
  return program;
}

/// Returns the memory after the program.
Bytes run(Device &device, const Program &program, int streamCount) {
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < streamCount; ++i)
    streams.push_back(device.makeStream("s"));
  for (int i = 0; i < 3; ++i)
    events.push_back(device.makeEvent());
  device.defineKernel({"mix", {size, size}, {size}});
  DevicePointer memory = device.allocate(memoryBytes, "memory");
  Bytes data = randomBytes(memoryBytes, 1);
  device.copyIn(streams[0], memory, data.data(), memoryBytes);
  device.synchronize(streams[0]);
  for (const Call &call : program) {
    Stream stream = streams[call.stream];
    switch (call.kind) {
    case Call::Mix: {
      void *arguments[] = {(memory + call.at[0]).opaque(),
                           (memory + call.at[1]).opaque(),
                           (memory + call.at[2]).opaque()};
      device.launch(stream, 0, mix, arguments, 1);
      break;
    }
    case Call::Fill:
      device.fill(stream, memory + call.at[2], call.value, size);
      break;
    case Call::Record:
      device.record(events[call.event], stream);
      break;
    case Call::Wait:
      device.wait(stream, events[call.event]);
      break;
    case Call::Synchronize:
      device.synchronize(stream);
      break;
    }
  }
  for (Stream stream : streams)
    device.synchronize(stream);
  device.copyOut(streams[0], data.data(), memory, memoryBytes);
  device.synchronize(streams[0]);
  return data;
}

class RandomPrograms : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 12));

TEST_P(RandomPrograms, AreRightInAnyOrderThatTheyAllow) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 20; ++round) {
    int streams = 2 + int(random() % 4);
    Program program = drawProgram(random, streams);
    ASSERT_FALSE(hasRace(program, SIZE_MAX));
    Bytes expected = run(*makeCpuDevice(1), program, streams);
    for (int seed = 0; seed < 4; ++seed) {
      FakeSettings settings(seed);
      EXPECT_EQ(run(*makeDevice(), program, streams), expected)
          << "round " << round << ", seed " << seed;
    }
  }
}

TEST_P(RandomPrograms, AreErrorsWithoutAnOrderThatTheyNeed) {
  std::mt19937 random(GetParam());
  int needed = 0, others = 0;
  for (int round = 0; round < 5; ++round) {
    int streams = 2 + int(random() % 4);
    Program program = drawProgram(random, streams);
    // run() synchronizes once before the program.
    int waits = 0, synchronizations = 1;
    for (size_t i = 0; i < program.size(); ++i) {
      bool isWait = program[i].kind == Call::Wait;
      if (!isWait && program[i].kind != Call::Synchronize)
        continue;
      std::string plant = isWait
                              ? fmt::format("drop-wait:{}", ++waits)
                              : fmt::format("drop-sync:{}", ++synchronizations);
      bool expected = hasRace(program, i), found = false;
      (expected ? needed : others)++;
      FakeSettings settings(int(random() % 100), plant);
      try {
        run(*makeDevice(), program, streams);
      } catch (const runtime::Error &error) {
        found = true;
        EXPECT_NE(std::string(error.what()).find("race: "), std::string::npos)
            << error.what();
      }
      EXPECT_EQ(found, expected) << "round " << round << ", " << plant;
    }
  }
  EXPECT_GT(needed, 10);
  EXPECT_GT(others, 10);
}

} // namespace
