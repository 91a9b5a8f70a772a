//===- access_map.h - Who last read and wrote each byte -------------------===//

#ifndef PPOPT_TEST_FAKE_ACCESS_MAP_H
#define PPOPT_TEST_FAKE_ACCESS_MAP_H

#include "device/fake/clocks.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ppopt::fake {

enum class Kind { copyIn, copyOut, fill, launch, matmul, exchange };

/// The `number`-th operation of a stream, from 1. `index` is of a kernel, a
/// matmul, or the name of what is exchanged with other ranks.
struct Operation {
  Kind kind = Kind::fill;
  int stream = -1;
  int64_t number = 0;
  int index = -1;
};

/// Bytes that an operation reads or writes: of the device or of the host.
struct Access {
  uintptr_t begin = 0;
  int64_t bytes = 0;
  bool writes = false;

  uintptr_t end() const { return begin + bytes; }
};

/// Two operations that touch the same bytes, at least one of which writes, in
/// no order.
struct Race {
  Operation first, second;
  bool firstWrites = false, secondWrites = false;
  uintptr_t begin = 0, end = 0; ///< some of the bytes
};

/// The accesses that the host does not yet know to be complete.
class AccessMap {
public:
  /// Adds an access of `operation`, the last one added to its stream's clock.
  /// Returns a race with an earlier operation if there is one.
  std::optional<Race> add(const Operation &operation, const Access &access,
                          const Clocks &clocks);

  // Whether an operation that the host has not seen touches, or writes, bytes:
  bool isInUse(uintptr_t begin, int64_t bytes, const Clocks &clocks) const;
  bool isWritten(uintptr_t begin, int64_t bytes, const Clocks &clocks) const;

  void clear() { pieces.clear(); }

private:
  /// Bytes with the same history.
  struct Piece {
    uintptr_t end;
    std::optional<Operation> write; ///< the last
    std::vector<Operation> reads;   ///< the last of each stream since
  };
  using Pieces = std::map<uintptr_t, Piece>;

  /// Returns whether `test(piece)` is true for one of the pieces in the bytes.
  template <typename Test>
  bool hasPiece(uintptr_t begin, int64_t bytes, const Test &test) const;
  void splitAt(uintptr_t address);
  void fillGaps(uintptr_t begin, uintptr_t end);

  Pieces pieces; ///< by their begin, without overlap
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_ACCESS_MAP_H
