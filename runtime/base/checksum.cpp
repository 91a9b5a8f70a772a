//===- checksum.cpp - Checksums of files and of memory --------------------===//

#include "base/checksum.h"

// xxHash as a header only: executables need no library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

namespace ppopt::train {

uint64_t checksumOf(std::string_view bytes, uint64_t before) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), before);
}

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

Checksum::~Checksum() = default;

void Checksum::add(const void *data, uint64_t bytes) {
  XXH3_128bits_update(&state_->xxh3, data, bytes);
}

std::string Checksum::hexadecimal() const {
  XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string Checksum::of(std::string_view bytes) {
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return checksum.hexadecimal();
}

} // namespace ppopt::train
