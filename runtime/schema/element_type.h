//===- element_type.h - Types of elements ---------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_ELEMENT_TYPE_H
#define PPOPT_RUNTIME_SCHEMA_ELEMENT_TYPE_H

#include "ppopt/matmul.h"
#include "schema/bounds.h"
#include "schema/enums.h"

#include <cstdint>
#include <vector>

namespace ppopt::schema {

enum class ElementType { f32, f64, bf16, i32, i64, i1 };
template <> struct Words<ElementType> {
  static constexpr const char *words[] = {"f32", "f64", "bf16",
                                          "i32", "i64", "i1"};
};

// Which a field may have.
inline constexpr Bounds ofSums =
    oneOf(ElementType::f32, ElementType::f64, ElementType::bf16,
          ElementType::i32, ElementType::i64);
inline constexpr Bounds ofScalars = oneOf(ElementType::f32, ElementType::f64,
                                          ElementType::i32, ElementType::i64);
inline constexpr Bounds ofFloats = oneOf(ElementType::f32, ElementType::f64);
inline constexpr Bounds ofIds = oneOf(ElementType::i32, ElementType::i64);

template <> struct Words<MatmulType> {
  static constexpr const char *words[] = {"f32", "f64", "bf16"};
};

/// Returns the bytes of one element.
int64_t byteSize(ElementType type);

/// Returns the product of the dimensions.
int64_t elementCount(const std::vector<int64_t> &shape);

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_ELEMENT_TYPE_H
