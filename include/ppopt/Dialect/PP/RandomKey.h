//===- RandomKey.h - The elements of the random key -------------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_RANDOMKEY_H
#define PPOPT_DIALECT_PP_RANDOMKEY_H

#include "geometry/axes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::pp {

/// The elements of the random key, which are the fields of ppopt_key. From
/// `Coordinates` up to `Rows` they are the rank's coordinates on the axes of
/// the mesh, in their order.
enum class KeyElement : int64_t {
  Seed,
  Step,
  Training,
  Microbatch,
  Coordinates,
  Rows = Coordinates + ppopt::geometry::mostAxes,
  AllRows,
  Batches
};

constexpr int64_t indexOf(KeyElement element) {
  return static_cast<int64_t>(element);
}

inline constexpr int64_t kKeyElements = indexOf(KeyElement::Batches) + 1;

inline RankedTensorType getKeyType(MLIRContext *context) {
  return RankedTensorType::get({kKeyElements}, IntegerType::get(context, 64));
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_RANDOMKEY_H
