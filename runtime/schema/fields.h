//===- fields.h - How the schema declares fields --------------------------===//
//
// Each struct of the schema declares its fields once, in `visit`: name, value,
// meaning, limits. Writer, reader and reference follow from that; adding a
// field is a member and a line in `visit`. A visitor V has
//   f(name, value, meaning[, limits])           a field
//   f.optional(name, value, meaning[, limits])  left out where it is the
//   default f.nested(name, meaning, declare)            an object whose fields
//                                               `declare(f)` declares
//   f.when(condition, label, declare)           fields that only some values
//                                               of the struct have
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_FIELDS_H
#define PPOPT_RUNTIME_SCHEMA_FIELDS_H

#include <cstdint>

namespace ppopt::schema {

/// The least and the greatest value of an integer, or of each of a list.
struct Limits {
  int64_t least = 0;
  int64_t most = INT64_MAX;
};
inline constexpr Limits anyInteger{INT64_MIN, INT64_MAX};
inline constexpr Limits positive{1, INT64_MAX};

/// Of ranks, and of microbatches.
inline constexpr int64_t mostRanks = 1 << 20;

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_FIELDS_H
