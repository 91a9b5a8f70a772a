//===- philox.cpp - Counter-based random numbers --------------------------===//

#include "executor/philox.h"

namespace ppopt::runtime {

uint64_t streamOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

PhiloxBlock randomBlock(int64_t seed, uint64_t stream, uint64_t group,
                        uint64_t step) {
  return keyedBlock(uint64_t(seed) ^ stream, group, step);
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
