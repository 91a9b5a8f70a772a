//===- WarpOperations.cpp - What lanes of a warp compute together ---------===//
//
// As the PTX ISA describes them; the tables of fragments are its.
//
//===----------------------------------------------------------------------===//

#include "WarpOperations.h"

#include <cstring>

using namespace emulated;

namespace {

bool isIn(uint32_t mask, unsigned lane) { return mask >> lane & 1; }

unsigned popcount(uint32_t mask) { return __builtin_popcount(mask); }

template <typename Function>
void forEachLane(uint32_t mask, Function function) {
  for (unsigned i = 0; i < kWarp; ++i)
    if (isIn(mask, i))
      function(i);
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

enum class Shuffle { Up, Down, Butterfly, Index };

/// The lane from which `lane` reads, and whether that is in its segment.
std::pair<unsigned, bool> sourceOf(Shuffle kind, unsigned lane, uint32_t b,
                                   uint32_t c) {
  unsigned value = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned most = (lane & segment) | (clamp & ~segment & 31);
  unsigned least = lane & segment;
  int from = 0;
  bool isInRange = false;
  switch (kind) {
  case Shuffle::Up:
    from = static_cast<int>(lane) - static_cast<int>(value);
    isInRange = from >= static_cast<int>(most);
    break;
  case Shuffle::Down:
    from = lane + value;
    isInRange = from <= static_cast<int>(most);
    break;
  case Shuffle::Butterfly:
    from = lane ^ value;
    isInRange = from <= static_cast<int>(most);
    break;
  case Shuffle::Index:
    from = least | (value & ~segment & 31);
    isInRange = from <= static_cast<int>(most);
    break;
  }
  return {isInRange ? from : lane, isInRange};
}

template <Shuffle kind> std::string shuffle(Lane *const *lanes, uint32_t mask) {
  std::string wrong;
  forEachLane(mask, [&](unsigned i) {
    auto [from, isInRange] =
        sourceOf(kind, i, lanes[i]->in[1].u32, lanes[i]->in[2].u32);
    if (!isIn(mask, from) && wrong.empty())
      wrong = "lane " + std::to_string(i) + " reads from lane " +
              std::to_string(from) + ", which takes no part";
    lanes[i]->out[0] = lanes[from]->in[0];
    lanes[i]->out[1].bits = isInRange;
  });
  return wrong;
}

//===----------------------------------------------------------------------===//
// Votes and barriers
//===----------------------------------------------------------------------===//

enum class Vote { All, Any, Uniform, Ballot };

template <Vote kind> std::string vote(Lane *const *lanes, uint32_t mask) {
  uint32_t ballot = 0;
  forEachLane(mask, [&](unsigned i) {
    ballot |= uint32_t(lanes[i]->in[0].bits & 1) << i;
  });
  uint32_t result = kind == Vote::All       ? ballot == mask
                    : kind == Vote::Any     ? ballot != 0
                    : kind == Vote::Uniform ? ballot == mask || ballot == 0
                                            : ballot;
  forEachLane(mask, [&](unsigned i) { lanes[i]->out[0].bits = result; });
  return "";
}

/// With a part of the lanes this orders those too that take no part: what they
/// race with is not found.
std::string orderWarp(Lane *const *, uint32_t) {
  Clock &clock = theDevice().clock;
  clock.warpBarrier[clock.thread / kWarp] = ++clock.now;
  return "";
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

std::string needAllLanes(uint32_t mask) {
  return popcount(mask) == kWarp ? "" : "not all lanes of the warp take part";
}

float bf16(uint32_t half) {
  uint32_t bits = half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Lane l has rows l/4 and l/4 + 8 of A and D, and column l/4 of B.
std::string multiply(Lane *const *lanes, uint32_t mask) {
  double a[16][16], b[16][8];
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    unsigned group = lane / 4, pair = lane % 4 * 2;
    const Word *in = lanes[lane]->in;
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned r = 0; r < 4; ++r)
        a[group + (r & 1) * 8][pair + half + (r >> 1) * 8] =
            bf16(in[r].u32 >> (16 * half) & 0xffff);
      for (unsigned r = 0; r < 2; ++r)
        b[pair + half + r * 8][group] =
            bf16(in[4 + r].u32 >> (16 * half) & 0xffff);
    }
  }
  for (unsigned lane = 0; lane < kWarp; ++lane)
    for (unsigned r = 0; r < 4; ++r) {
      unsigned row = lane / 4 + (r >> 1) * 8, column = lane % 4 * 2 + (r & 1);
      double sum = lanes[lane]->in[6 + r].f32;
      for (unsigned k = 0; k < 16; ++k)
        sum += a[row][k] * b[k][column];
      lanes[lane]->out[r].bits = 0;
      lanes[lane]->out[r].f32 = static_cast<float>(sum);
    }
  return needAllLanes(mask);
}

/// Lane l has the address of row l % 8 of matrix l / 8. It gets elements
/// 2(l%4) and 2(l%4) + 1 of row l/4 of each; of the column if transposed.
template <unsigned count, bool isTransposed>
std::string loadMatrix(Lane *const *lanes, uint32_t mask) {
  std::string wrong = needAllLanes(mask);
  Device &device = theDevice();
  for (unsigned i = 0; i < count * 8 && wrong.empty(); ++i) {
    Site row;
    row.bytes = row.align = 16;
    unsigned first = device.clock.thread / kWarp * kWarp;
    device.clock.thread = first + i;
    if (!device.memory.check(lanes[i]->in[0].bits, 16, false, &row))
      wrong = "lane " + std::to_string(i) + " " + device.memory.getWrong();
  }
  for (unsigned lane = 0; lane < kWarp && wrong.empty(); ++lane)
    for (unsigned m = 0; m < count; ++m) {
      uint32_t halves = 0;
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane / 4, column = lane % 4 * 2 + half;
        if (isTransposed)
          std::swap(row, column);
        const auto *elements =
            reinterpret_cast<const uint16_t *>(lanes[m * 8 + row]->in[0].bits);
        halves |= uint32_t(elements[column]) << (16 * half);
      }
      lanes[lane]->out[m].bits = halves;
    }
  return wrong;
}

} // namespace

namespace emulated {

const WarpOperation shuffleUp{"shfl.sync.up", shuffle<Shuffle::Up>};
const WarpOperation shuffleDown{"shfl.sync.down", shuffle<Shuffle::Down>};
const WarpOperation shuffleButterfly{"shfl.sync.bfly",
                                     shuffle<Shuffle::Butterfly>};
const WarpOperation shuffleIndex{"shfl.sync.idx", shuffle<Shuffle::Index>};

const WarpOperation voteAll{"vote.sync.all", vote<Vote::All>};
const WarpOperation voteAny{"vote.sync.any", vote<Vote::Any>};
const WarpOperation voteUniform{"vote.sync.uni", vote<Vote::Uniform>};
const WarpOperation voteBallot{"vote.sync.ballot", vote<Vote::Ballot>};

const WarpOperation warpBarrier{"bar.warp.sync", orderWarp};

const WarpOperation mmaM16N8K16BF16{"mma.m16n8k16.bf16", multiply};
const WarpOperation loadMatrix1{"ldmatrix.x1", loadMatrix<1, false>};
const WarpOperation loadMatrix2{"ldmatrix.x2", loadMatrix<2, false>};
const WarpOperation loadMatrix4{"ldmatrix.x4", loadMatrix<4, false>};
const WarpOperation loadMatrix1Transposed{"ldmatrix.x1.trans",
                                          loadMatrix<1, true>};
const WarpOperation loadMatrix2Transposed{"ldmatrix.x2.trans",
                                          loadMatrix<2, true>};
const WarpOperation loadMatrix4Transposed{"ldmatrix.x4.trans",
                                          loadMatrix<4, true>};

} // namespace emulated
