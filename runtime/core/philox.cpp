//===- philox.cpp - Random numbers by counter -----------------------------===//

#include "core/philox.h"

namespace ppopt::runtime {

PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
        uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += 0x9E3779B9; // golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return counter;
}

uint64_t streamOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

PhiloxBlock randomBlock(int64_t seed, uint64_t stream, uint64_t group,
                        uint64_t step) {
  uint64_t key = uint64_t(seed) ^ stream;
  return philox4x32({uint32_t(group), uint32_t(group >> 32), uint32_t(step),
                     uint32_t(step >> 32)},
                    {uint32_t(key), uint32_t(key >> 32)});
}

uint32_t randomBits(int64_t seed, uint64_t stream, uint64_t index,
                    uint64_t step) {
  return randomBlock(seed, stream, index / 4, step)[index % 4];
}

float dropoutUniform(int64_t seed, uint64_t stream, uint64_t index,
                     uint64_t step) {
  return float(randomBits(seed, stream, index, step) >> 8) * 0x1p-24f;
}

bool dropoutDrops(int64_t seed, uint64_t stream, uint64_t index, uint64_t step,
                  float p) {
  return dropoutUniform(seed, stream, index, step) < p;
}

} // namespace ppopt::runtime
