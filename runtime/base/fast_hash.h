//===- fast_hash.h - A hash for comparing memory --------------------------===//
//
// To see whether numbers that should be equal are: of one run, not stored for
// other versions. Checksums of files are in checksum.h.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_FAST_HASH_H
#define PPOPT_RUNTIME_BASE_FAST_HASH_H

#include <cstdint>
#include <cstring>

namespace ppopt::train {

constexpr uint64_t kHashOfNothing = 0xcbf29ce484222325;

/// Adds data to a hash, eight bytes at a time.
inline uint64_t addBytes(uint64_t hash, const char *data, int64_t bytes) {
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    mix(word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, data, bytes);
  mix(rest);
  return hash;
}

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_FAST_HASH_H
