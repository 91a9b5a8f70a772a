//===- Intrinsics.cpp - The table of intrinsics ---------------------------===//

#include "Intrinsics.h"

#include "Approximations.h"
#include "Device.h"
#include "WarpOperations.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

using namespace emulated;

namespace {

//===----------------------------------------------------------------------===//
// Where a thread is
//===----------------------------------------------------------------------===//

int32_t threadInBlock() { return theDevice().clock.thread; }
int32_t blockInGrid() { return theDevice().clock.block; }
int32_t threadsOfBlock() { return theDevice().getLaunch().threads; }
int32_t blocksOfGrid() { return theDevice().getLaunch().grid; }
int32_t laneInWarp() { return theDevice().clock.thread % kWarp; }
int32_t threadsOfWarp() { return kWarp; }
int32_t zero() { return 0; }
int32_t one() { return 1; }

//===----------------------------------------------------------------------===//
// Lanes and threads together
//===----------------------------------------------------------------------===//

/// Operand 0 is the mask; the others are the operation's.
template <const WarpOperation &operation> void withMask(Lane &lane) {
  uint32_t mask = lane.in[0].u32;
  memmove(lane.in, lane.in + 1, sizeof lane.in - sizeof(Word));
  theDevice().doWithWarp(operation, mask, lane);
}

template <const WarpOperation &operation> void withWarp(Lane &lane) {
  theDevice().doWithWarp(operation, ~0u, lane);
}

/// Operand 0 is the barrier's number.
template <bool isAligned> void barrier(Lane &lane) {
  Device &device = theDevice();
  if (lane.in[0].u32 != 0)
    return device.fail("waits at barrier " + std::to_string(lane.in[0].u32) +
                           "; only barrier 0 is emulated",
                       device.siteAt(device.site).text);
  device.waitForBlock(isAligned);
}

void trap() { theDevice().fail("executes a trap", ""); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

float multiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }
float multiplyAddFtz(float a, float b, float c) {
  return flush(std::fma(flush(a), flush(b), flush(c)));
}
double multiplyAddF64(double a, double b, double c) {
  return std::fma(a, b, c);
}
float squareRoot(float x) { return std::sqrt(x); }
float squareRootFtz(float x) { return flush(std::sqrt(flush(x))); }
double squareRootF64(double x) { return std::sqrt(x); }
float quotient(float x, float y) { return x / y; }
float reciprocal(float x) { return 1 / x; }
double reciprocalF64(double x) { return 1 / x; }
float saturate(float x) { return x > 0 ? std::fmin(x, 1.0f) : 0; }

int32_t lowWord(double x) {
  Word word;
  memcpy(&word.bits, &x, sizeof x);
  return word.i32;
}
int32_t highWord(double x) {
  Word word;
  memcpy(&word.bits, &x, sizeof x);
  return static_cast<int32_t>(word.bits >> 32);
}
double fromWords(int32_t low, int32_t high) {
  uint64_t bits = uint64_t(uint32_t(high)) << 32 | uint32_t(low);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

int32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned select = selector >> (4 * i) & 15;
    auto byte = static_cast<uint8_t>(bytes >> (8 * (select & 7)));
    if (select & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

uint32_t roundToBF16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (std::isnan(x))
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
void toBF16(Lane &lane) { lane.out[0].bits = roundToBF16(lane.in[0].f32); }
/// The first operand becomes the upper half.
void toTwoBF16(Lane &lane) {
  lane.out[0].bits =
      roundToBF16(lane.in[0].f32) << 16 | roundToBF16(lane.in[1].f32);
}

template <typename Function> void *at(Function *function) {
  return reinterpret_cast<void *>(function);
}

const DeviceIntrinsic table[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", at(threadInBlock), nullptr},
    {"llvm.nvvm.read.ptx.sreg.tid.y", at(zero), nullptr},
    {"llvm.nvvm.read.ptx.sreg.tid.z", at(zero), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ntid.x", at(threadsOfBlock), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ntid.y", at(one), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ntid.z", at(one), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", at(blockInGrid), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ctaid.y", at(zero), nullptr},
    {"llvm.nvvm.read.ptx.sreg.ctaid.z", at(zero), nullptr},
    {"llvm.nvvm.read.ptx.sreg.nctaid.x", at(blocksOfGrid), nullptr},
    {"llvm.nvvm.read.ptx.sreg.nctaid.y", at(one), nullptr},
    {"llvm.nvvm.read.ptx.sreg.nctaid.z", at(one), nullptr},
    {"llvm.nvvm.read.ptx.sreg.laneid", at(laneInWarp), nullptr},
    {"llvm.nvvm.read.ptx.sreg.warpsize", at(threadsOfWarp), nullptr},

    {"llvm.nvvm.shfl.sync.up.i32", nullptr, withMask<shuffleUp>},
    {"llvm.nvvm.shfl.sync.up.f32", nullptr, withMask<shuffleUp>},
    {"llvm.nvvm.shfl.sync.up.i32p", nullptr, withMask<shuffleUp>},
    {"llvm.nvvm.shfl.sync.up.f32p", nullptr, withMask<shuffleUp>},
    {"llvm.nvvm.shfl.sync.down.i32", nullptr, withMask<shuffleDown>},
    {"llvm.nvvm.shfl.sync.down.f32", nullptr, withMask<shuffleDown>},
    {"llvm.nvvm.shfl.sync.down.i32p", nullptr, withMask<shuffleDown>},
    {"llvm.nvvm.shfl.sync.down.f32p", nullptr, withMask<shuffleDown>},
    {"llvm.nvvm.shfl.sync.bfly.i32", nullptr, withMask<shuffleButterfly>},
    {"llvm.nvvm.shfl.sync.bfly.f32", nullptr, withMask<shuffleButterfly>},
    {"llvm.nvvm.shfl.sync.bfly.i32p", nullptr, withMask<shuffleButterfly>},
    {"llvm.nvvm.shfl.sync.bfly.f32p", nullptr, withMask<shuffleButterfly>},
    {"llvm.nvvm.shfl.sync.idx.i32", nullptr, withMask<shuffleIndex>},
    {"llvm.nvvm.shfl.sync.idx.f32", nullptr, withMask<shuffleIndex>},
    {"llvm.nvvm.shfl.sync.idx.i32p", nullptr, withMask<shuffleIndex>},
    {"llvm.nvvm.shfl.sync.idx.f32p", nullptr, withMask<shuffleIndex>},
    {"llvm.nvvm.vote.all.sync", nullptr, withMask<voteAll>},
    {"llvm.nvvm.vote.any.sync", nullptr, withMask<voteAny>},
    {"llvm.nvvm.vote.uni.sync", nullptr, withMask<voteUniform>},
    {"llvm.nvvm.vote.ballot.sync", nullptr, withMask<voteBallot>},
    {"llvm.nvvm.bar.warp.sync", nullptr, withMask<warpBarrier>},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", nullptr, barrier<true>},
    {"llvm.nvvm.barrier.cta.sync.all", nullptr, barrier<false>},
    {"llvm.nvvm.mma.m16n8k16.row.col.bf16", nullptr, withWarp<mmaM16N8K16BF16>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3", nullptr,
     withWarp<loadMatrix1>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3", nullptr,
     withWarp<loadMatrix2>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", nullptr,
     withWarp<loadMatrix4>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16.p3", nullptr,
     withWarp<loadMatrix1Transposed>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3", nullptr,
     withWarp<loadMatrix2Transposed>},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", nullptr,
     withWarp<loadMatrix4Transposed>},
    {"llvm.trap", at(trap), nullptr},

    {"llvm.nvvm.ex2.approx.f32", at(ex2Approx), nullptr},
    {"llvm.nvvm.ex2.approx.ftz.f32", at(ex2ApproxFtz), nullptr},
    {"llvm.nvvm.lg2.approx.f", at(lg2Approx), nullptr},
    {"llvm.nvvm.lg2.approx.ftz.f", at(lg2ApproxFtz), nullptr},
    {"llvm.nvvm.rcp.approx.ftz.f", at(rcpApproxFtz), nullptr},
    {"llvm.nvvm.sqrt.approx.f", at(sqrtApprox), nullptr},
    {"llvm.nvvm.sqrt.approx.ftz.f", at(sqrtApproxFtz), nullptr},
    {"llvm.nvvm.rsqrt.approx.f", at(rsqrtApprox), nullptr},
    {"llvm.nvvm.rsqrt.approx.ftz.f", at(rsqrtApproxFtz), nullptr},
    {"llvm.nvvm.sin.approx.f", at(sinApprox), nullptr},
    {"llvm.nvvm.cos.approx.f", at(cosApprox), nullptr},
    {"llvm.nvvm.div.full", at(divFull), nullptr},
    {"llvm.nvvm.div.full.ftz", at(divFullFtz), nullptr},
    {"llvm.nvvm.div.approx.f", at(divApprox), nullptr},
    {"llvm.nvvm.div.approx.ftz.f", at(divApproxFtz), nullptr},
    {"tanh.approx.f32", at(tanhApprox), nullptr},

    {"llvm.nvvm.fma.rn.f", at(multiplyAdd), nullptr},
    {"llvm.nvvm.fma.rn.ftz.f", at(multiplyAddFtz), nullptr},
    {"llvm.nvvm.fma.rn.d", at(multiplyAddF64), nullptr},
    {"llvm.nvvm.sqrt.f", at(squareRoot), nullptr},
    {"llvm.nvvm.sqrt.rn.f", at(squareRoot), nullptr},
    {"llvm.nvvm.sqrt.rn.ftz.f", at(squareRootFtz), nullptr},
    {"llvm.nvvm.sqrt.rn.d", at(squareRootF64), nullptr},
    {"llvm.nvvm.div.rn.f", at(quotient), nullptr},
    {"llvm.nvvm.rcp.rn.f", at(reciprocal), nullptr},
    {"llvm.nvvm.rcp.rn.d", at(reciprocalF64), nullptr},
    {"llvm.nvvm.saturate.f", at(saturate), nullptr},
    {"llvm.nvvm.d2i.lo", at(lowWord), nullptr},
    {"llvm.nvvm.d2i.hi", at(highWord), nullptr},
    {"llvm.nvvm.lohi.i2d", at(fromWords), nullptr},
    {"llvm.nvvm.prmt", at(permuteBytes), nullptr},
    {"llvm.nvvm.f2bf16.rn", nullptr, toBF16, false},
    {"llvm.nvvm.ff2bf16x2.rn", nullptr, toTwoBF16, false},
};

/// Without the types that end the name. Those of arithmetic are exact.
const char *const generic[] = {
    "llvm.abs",       "llvm.assume",       "llvm.bitreverse",
    "llvm.bswap",     "llvm.canonicalize", "llvm.ceil",
    "llvm.copysign",  "llvm.ctlz",         "llvm.ctpop",
    "llvm.cttz",      "llvm.expect",       "llvm.experimental.noalias",
    "llvm.fabs",      "llvm.floor",        "llvm.fma",
    "llvm.fmuladd",   "llvm.fptosi",       "llvm.fptoui",
    "llvm.fshl",      "llvm.fshr",         "llvm.invariant",
    "llvm.is",        "llvm.ldexp",        "llvm.lifetime",
    "llvm.maximum",   "llvm.maximumnum",   "llvm.maxnum",
    "llvm.memcpy",    "llvm.memmove",      "llvm.memset",
    "llvm.minimum",   "llvm.minimumnum",   "llvm.minnum",
    "llvm.nearbyint", "llvm.ptrmask",      "llvm.rint",
    "llvm.round",     "llvm.roundeven",    "llvm.sadd",
    "llvm.smax",      "llvm.smin",         "llvm.smul",
    "llvm.sqrt",      "llvm.ssub",         "llvm.trunc",
    "llvm.uadd",      "llvm.umax",         "llvm.umin",
    "llvm.umul",      "llvm.usub",         "llvm.vector"};

} // namespace

const DeviceIntrinsic *emulated::findIntrinsic(const std::string &name) {
  static const auto *byName = [] {
    auto *map = new std::unordered_map<std::string, const DeviceIntrinsic *>;
    for (const DeviceIntrinsic &each : table)
      map->emplace(each.name, &each);
    return map;
  }();
  auto it = byName->find(name);
  return it == byName->end() ? nullptr : it->second;
}

bool emulated::isOfEveryTarget(const std::string &name) {
  for (const char *prefix : generic) {
    size_t length = strlen(prefix);
    if (name.compare(0, length, prefix) == 0 &&
        (name.size() == length || name[length] == '.'))
      return true;
  }
  return false;
}
