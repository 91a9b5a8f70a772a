//===- read_fields.h - Reads structs of the schema strictly ---------------===//
//
// A field that is missing, of the wrong type or beyond its limits throws an
// Error that names its path. Fields that the schema does not have are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H
#define PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H

#include "check/check_fields.h"
#include "schema/visit.h"

#include <nlohmann/json.hpp>

namespace ppopt::runtime {

using Json = nlohmann::json;

template <typename T>
void readValue(const Json &json, const Path &path, T &value,
               schema::Limits limits);

/// Returns an integer within the limits.
inline int64_t readInteger(const Json &json, const Path &path,
                           schema::Limits limits) {
  bool fits = json.is_number_unsigned()
                  ? json.get<uint64_t>() <= uint64_t(INT64_MAX)
                  : json.is_number_integer();
  if (!fits)
    path.fail("is not an integer");
  int64_t number = json.get<int64_t>();
  checkLimits(number, path, limits);
  return number;
}

/// Reads the fields of one struct from an object.
class FieldReader {
public:
  FieldReader(const Json &object, const Path &path)
      : object(object), path(path) {
    if (!object.is_object())
      path.fail("is not an object");
  }

  template <typename T>
  void operator()(const char *name, T &value, const char *,
                  schema::Limits limits = {}) {
    readValue(get(name), path[name], value, limits);
  }

  template <typename T>
  void optional(const char *name, T &value, const char *,
                schema::Limits limits = {}) {
    if (object.contains(name))
      readValue(object[name], path[name], value, limits);
  }

  template <typename Declare>
  void nested(const char *name, const char *, const Declare &declare) {
    const Json &inner = get(name);
    Path innerPath = path[name];
    FieldReader reader(inner, innerPath);
    declare(reader);
  }

  template <typename Declare>
  void when(bool condition, const char *, const Declare &declare) {
    if (condition)
      declare(*this);
  }

private:
  const Json &get(const char *name) const {
    auto found = object.find(name);
    if (found == object.end())
      path[name].fail("is missing");
    return *found;
  }

  const Json &object;
  const Path &path;
};

template <typename T>
void readList(const Json &json, const Path &path, T &list,
              schema::Limits limits) {
  if (!json.is_array())
    path.fail("is not an array");
  if constexpr (std::is_same_v<T, std::vector<typename T::value_type>>)
    list.resize(json.size());
  if (json.size() != list.size())
    path.fail(fmt::format("has {} elements, not {}", json.size(), list.size()));
  for (size_t i = 0; i < list.size(); ++i)
    readValue(json[i], path[i], list[i], limits);
}

template <typename E>
void readWord(const Json &json, const Path &path, E &value) {
  if (!json.is_string())
    path.fail("is not a string");
  auto word = json.get_ref<const std::string &>();
  std::optional<E> parsed = schema::parseWord<E>(word);
  if (!parsed)
    path.fail("is '" + word + "', not one of " + schema::listWords<E>());
  value = *parsed;
}

template <typename T>
void readValue(const Json &json, const Path &path, T &value,
               schema::Limits limits) {
  using schema::Shape;
  constexpr Shape shape = schema::shapeOf<T>();
  if constexpr (shape == Shape::boolean) {
    if (!json.is_boolean())
      path.fail("is not true or false");
    value = json.get<bool>();
  } else if constexpr (shape == Shape::integer) {
    value = readInteger(json, path, limits);
  } else if constexpr (shape == Shape::number) {
    if (!json.is_number())
      path.fail("is not a number");
    value = json.get<double>();
  } else if constexpr (shape == Shape::text) {
    if (!json.is_string())
      path.fail("is not a string");
    value = json.get<std::string>();
  } else if constexpr (shape == Shape::word) {
    readWord(json, path, value);
  } else if constexpr (shape == Shape::list) {
    readList(json, path, value, limits);
  } else if constexpr (shape == Shape::orNull) {
    if (!json.is_null())
      readValue(json, path, value.emplace(), limits);
  } else {
    if constexpr (shape == Shape::address) {
      if (!json.is_object()) {
        value.base = readInteger(json, path, limits);
        return;
      }
    }
    FieldReader reader(json, path);
    T::visit(reader, value);
  }
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H
