//===- address.h - Offsets that depend on the rank ------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_ADDRESS_H
#define PPOPT_RUNTIME_SCHEMA_ADDRESS_H

#include "schema/bounds.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::schema {

/// The bytes from one coordinate on an axis of the mesh to the next.
struct AxisStride {
  static constexpr const char *title = "Stride";
  std::string axis;
  int64_t stride = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("axis", self.axis, "an axis of the mesh");
    f("stride", self.stride, "bytes from one coordinate to the next",
      Limits{1, INT64_MAX / (2 * mostRanks)});
  }
};

/// An offset in an arena that is affine in the coordinates of the rank: base +
/// Σ coordinate(axis)·stride. So all ranks of a place share one table of
/// actions although each owns another part. A document spells an address
/// without strides as a number.
struct Address {
  static constexpr const char *title = "Address";
  int64_t base = 0;
  std::vector<AxisStride> strides;

  Address(int64_t base = 0, std::vector<AxisStride> strides = {})
      : base(base), strides(std::move(strides)) {}

  /// Returns the offset. Only of an address without strides: `resolve` makes
  /// those of a rank.
  int64_t offset() const;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("base", self.base, "the offset of the rank with coordinates 0");
    f("strides", self.strides, "what each coordinate adds");
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_ADDRESS_H
