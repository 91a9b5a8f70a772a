//===- bounds.h - What protects memory ------------------------------------===//
//
// Limits of fields that follow from the rest of a program: an index is of an
// element that its list has, and what lies at an address ends in its arena. A
// field is declared with `Bounds`, or with a function of the program that
// returns them. They may follow from fields that are declared before.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_BOUNDS_H
#define PPOPT_RUNTIME_SCHEMA_BOUNDS_H

#include "schema/enums.h"
#include "schema/fields.h"

#include <cstdint>
#include <string>

namespace ppopt::schema {

/// What a program has several of.
enum class List {
  none,
  stages,
  inputs,
  parameters,
  counts,
  metrics,
  outputs,
  checks,
  transfers,
  tasks,
  places,
  microbatches
};

/// Sizes and offsets are less, so that sums of a few do not overflow.
inline constexpr int64_t mostBytes = int64_t{1} << 56;

/// Those of a list are for each element; those of a struct are for the
/// addresses in it that have none.
struct Bounds : Limits {
  constexpr Bounds() : Limits{0, mostBytes} {}
  constexpr Bounds(const Limits &limits) : Limits(limits) {}

  List index = List::none; ///< an integer is less than the list's length
  /// Of the number of a place: the addresses in the rest of the struct are in
  /// its arena.
  bool isArena = false;
  List length = List::none;      ///< a list is as long as this one
  bool isShape = false;          ///< the product of a list has the limits too
  uint64_t words = ~uint64_t{0}; ///< a bit for each enumerator that is allowed
  // What the runtime reads or writes at an address.
  int64_t bytes = 0;
  int64_t alignment = 1;
};

constexpr Bounds atLeast(int64_t least) { return Limits{least, mostBytes}; }
/// Of work, which is more than memory.
inline constexpr Bounds anyCount = Limits{0, INT64_MAX};

constexpr Bounds indexOf(List list, int64_t least = 0) {
  Bounds bounds = atLeast(least);
  bounds.index = list;
  return bounds;
}

constexpr Bounds arena() {
  Bounds bounds = indexOf(List::places);
  bounds.isArena = true;
  return bounds;
}

constexpr Bounds asLongAs(List list) {
  Bounds bounds;
  bounds.length = list;
  return bounds;
}

constexpr Bounds sizes(int64_t least) {
  Bounds bounds = atLeast(least);
  bounds.isShape = true;
  return bounds;
}

template <typename... E> constexpr Bounds oneOf(E... allowed) {
  Bounds bounds;
  bounds.words = ((uint64_t{1} << static_cast<int>(allowed)) | ...);
  return bounds;
}

/// Buffers begin at multiples of PPOPT_ALIGNMENT.
constexpr Bounds memory(int64_t bytes, int64_t alignment = 64) {
  Bounds bounds;
  bounds.bytes = bytes;
  bounds.alignment = alignment;
  return bounds;
}

/// Returns the bytes of several things; INT64_MAX if they are more.
inline int64_t times(int64_t count, int64_t bytes) {
  int64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? INT64_MAX : product;
}

/// Returns the words of the enumerators that are allowed: "f32, f64".
template <typename E> std::string listWords(uint64_t allowed) {
  std::string list;
  for (size_t i = 0; i < std::size(Words<E>::words); ++i)
    if (allowed >> i & 1)
      list += (list.empty() ? "" : ", ") + std::string(Words<E>::words[i]);
  return list;
}

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_BOUNDS_H
