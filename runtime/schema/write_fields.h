//===- write_fields.h - Writes structs of the schema ----------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_WRITE_FIELDS_H
#define PPOPT_RUNTIME_SCHEMA_WRITE_FIELDS_H

#include "ppopt/utf8.h"
#include "schema/visit.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <type_traits>

namespace ppopt::schema {

/// Keeps the order in which a struct declares its fields.
using OrderedJson = nlohmann::ordered_json;

template <typename T> OrderedJson toJson(const T &value);

/// Adds the fields of a struct to an object.
class FieldWriter {
public:
  explicit FieldWriter(OrderedJson &object) : object(object) {}

  template <typename T, typename... B>
  void operator()(const char *name, const T &value, const char *,
                  const B &...) {
    object[name] = toJson(value);
  }

  template <typename T, typename... B>
  void optional(const char *name, const T &value, const char *, const B &...) {
    OrderedJson written = toJson(value);
    if (written != toJson(T()))
      object[name] = std::move(written);
  }

  template <typename Declare>
  void nested(const char *name, const char *, const Declare &declare) {
    OrderedJson inner = OrderedJson::object();
    FieldWriter writer(inner);
    declare(writer);
    object[name] = std::move(inner);
  }

  template <typename Declare>
  void when(bool condition, const char *, const Declare &declare) {
    if (condition)
      declare(*this);
  }

private:
  OrderedJson &object;
};

template <typename T> OrderedJson fieldsOf(const T &value) {
  OrderedJson object = OrderedJson::object();
  FieldWriter writer(object);
  T::visit(writer, value);
  return object;
}

template <typename T> OrderedJson toJson(const T &value) {
  constexpr Shape shape = shapeOf<T>();
  if constexpr (shape == Shape::word) {
    return spell(value);
  } else if constexpr (shape == Shape::list) {
    OrderedJson list = OrderedJson::array();
    for (const auto &element : value)
      list.push_back(toJson(element));
    return list;
  } else if constexpr (shape == Shape::orNull) {
    return value ? toJson(*value) : OrderedJson();
  } else if constexpr (shape == Shape::address) {
    return value.strides.empty() ? OrderedJson(value.base) : fieldsOf(value);
  } else if constexpr (shape == Shape::object) {
    return fieldsOf(value);
  } else if constexpr (shape == Shape::number) {
    // JSON has no text for other numbers: null.
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return escapeNonUtf8(value);
  } else {
    return value;
  }
}

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_WRITE_FIELDS_H
