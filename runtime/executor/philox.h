//===- philox.h - Counter-based random numbers ----------------------------===//
//
// Philox4x32-10 of Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011), and how ppopt keys it. docs/random-numbers.md
// fixes the scheme; the compiler's kernels draw the same numbers.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_PHILOX_H
#define PPOPT_RUNTIME_EXECUTOR_PHILOX_H

#include <array>
#include <cstdint>
#include <string_view>

namespace ppopt::runtime {

using PhiloxBlock = std::array<uint32_t, 4>;

/// Ten rounds. `counter` and `key` have the least significant word first. (In
/// the header, so that bulk generation is vectorized.)
[[gnu::always_inline]] inline PhiloxBlock
philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    uint64_t matmul0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t matmul1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {uint32_t(matmul1 >> 32) ^ counter[1] ^ key[0], uint32_t(matmul1),
               uint32_t(matmul0 >> 32) ^ counter[3] ^ key[1],
               uint32_t(matmul0)};
    key[0] += 0x9E3779B9; // golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return counter;
}

/// Returns the 64-bit FNV-1a hash of a parameter's name or a call path.
uint64_t streamOf(std::string_view name);

/// `key` has 64 bits; the counter is (group, step), 64 bits each, low word
/// first.
[[gnu::always_inline]] inline PhiloxBlock
keyedBlock(uint64_t key, uint64_t group, uint64_t step) {
  return philox4x32({uint32_t(group), uint32_t(group >> 32), uint32_t(step),
                     uint32_t(step >> 32)},
                    {uint32_t(key), uint32_t(key >> 32)});
}

/// Returns the block with elements 4·group .. 4·group+3 of a stream at a step:
/// key = seed xor stream.
PhiloxBlock randomBlock(int64_t seed, uint64_t stream, uint64_t group,
                        uint64_t step);

/// Returns the 32 bits of element `index`: lane index mod 4 of block index / 4.
uint32_t randomBits(int64_t seed, uint64_t stream, uint64_t index,
                    uint64_t step);

/// Returns dropout's uniform number in [0, 1), a multiple of 2^-24: exact in
/// f32.
float dropoutUniform(int64_t seed, uint64_t stream, uint64_t index,
                     uint64_t step);

/// Returns whether dropout with probability `p` drops element `index`: u < p.
/// The reference for the compiler's lowering.
bool dropoutDrops(int64_t seed, uint64_t stream, uint64_t index, uint64_t step,
                  float p);

/// The `step` of numbers that are drawn before the first step: initial values.
inline constexpr uint64_t initialStep = ~uint64_t{0};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_PHILOX_H
