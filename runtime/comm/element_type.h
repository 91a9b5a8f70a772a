//===- element_type.h - Element types of collectives ----------------------===//
//
// The spellings are those of docs/program.md. bf16 is added in f32 and rounded
// to nearest even after each addition.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_ELEMENT_TYPE_H
#define PPOPT_COMM_ELEMENT_TYPE_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace ppopt::comm {

enum class ElementType { F32, F64, BF16, I32, I64 };

/// Returns the bytes of one element.
constexpr size_t sizeOf(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return 2;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  }
  return 0;
}

constexpr const char *nameOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::F64:
    return "f64";
  case ElementType::BF16:
    return "bf16";
  case ElementType::I32:
    return "i32";
  case ElementType::I64:
    return "i64";
  }
  return "?";
}

/// Returns the type spelled `name`, or nullopt if collectives do not add it.
inline std::optional<ElementType> parseElementType(std::string_view name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::I32,
        ElementType::I64})
    if (name == nameOf(type))
      return type;
  return std::nullopt;
}

} // namespace ppopt::comm

#endif // PPOPT_COMM_ELEMENT_TYPE_H
