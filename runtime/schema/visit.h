//===- visit.h - Which types of fields there are --------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_VISIT_H
#define PPOPT_RUNTIME_SCHEMA_VISIT_H

#include "schema/program.h"

#include <array>
#include <type_traits>

namespace ppopt::schema {

template <typename T> struct IsList : std::false_type {};
template <typename T> struct IsList<std::vector<T>> : std::true_type {};
template <typename T, size_t N>
struct IsList<std::array<T, N>> : std::true_type {};

template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

/// What a document has for a field's type.
enum class Shape {
  boolean,
  integer,
  number,
  text,
  word, ///< an enumerator
  list,
  orNull,
  address, ///< a number, or an object if it has strides
  object
};

template <typename T> constexpr Shape shapeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return Shape::boolean;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Shape::integer;
  else if constexpr (std::is_same_v<T, double>)
    return Shape::number;
  else if constexpr (std::is_same_v<T, std::string>)
    return Shape::text;
  else if constexpr (std::is_enum_v<T>)
    return Shape::word;
  else if constexpr (IsList<T>::value)
    return Shape::list;
  else if constexpr (IsOptional<T>::value)
    return Shape::orNull;
  else if constexpr (std::is_same_v<T, Address>)
    return Shape::address;
  else
    return Shape::object;
}

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_VISIT_H
