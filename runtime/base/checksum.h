//===- checksum.h - Checksums of files and of memory ----------------------===//

#ifndef PPOPT_RUNTIME_BASE_CHECKSUM_H
#define PPOPT_RUNTIME_BASE_CHECKSUM_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ppopt::train {

/// 64-bit XXH3, to see whether bytes that should be equal are. `before` is the
/// checksum of what precedes them, if they arrive in pieces: the same bytes in
/// other pieces have another one.
uint64_t checksumOf(std::string_view bytes, uint64_t before = 0);

/// 128-bit XXH3 of bytes that arrive in pieces (`xxhsum -H128` computes the
/// same).
class Checksum {
public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum &) = delete;
  Checksum &operator=(const Checksum &) = delete;

  void add(const void *data, uint64_t bytes);
  /// Returns the checksum of all bytes so far: 32 hexadecimal digits.
  std::string hexadecimal() const;

  static std::string of(std::string_view bytes);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_CHECKSUM_H
