//===- read_fields.h - Reads structs of the schema strictly ---------------===//
//
// A field that is missing, of the wrong type or beyond its bounds throws an
// Error that names its path. So does a field that the schema does not have, if
// the scope refuses it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H
#define PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H

#include "program/bounds.h"
#include "schema/visit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace ppopt::runtime {

/// That of schema/write_fields.h, so that what is written can be read without
/// its text.
using Json = nlohmann::ordered_json;

template <typename T>
void readValue(const Json &json, const Path &path, T &value,
               const schema::Bounds &bounds, const Scope &scope = {});

/// Returns whether the bounds of a field are those of numbers.
template <typename T> constexpr bool hasNumbers() {
  constexpr schema::Shape shape = schema::shapeOf<T>();
  if constexpr (shape == schema::Shape::list || shape == schema::Shape::orNull)
    return hasNumbers<typename T::value_type>();
  return shape == schema::Shape::number;
}

/// Returns an integer within the bounds.
inline int64_t readInteger(const Json &json, const Path &path,
                           const schema::Bounds &bounds,
                           const Scope &scope = {}) {
  bool fits = json.is_number_unsigned()
                  ? json.get<uint64_t>() <= uint64_t(INT64_MAX)
                  : json.is_number_integer();
  if (!fits)
    path.fail("is not an integer");
  int64_t number = json.get<int64_t>();
  checkInteger(number, bounds, scope, path);
  return number;
}

/// Reads the fields of one struct from an object.
class FieldReader {
public:
  /// Addresses among the fields have the bounds `ofAddresses` if they have none
  /// of their own.
  FieldReader(const Json &object, const Path &path, const Scope &scope,
              const schema::Bounds &ofAddresses)
      : object(object), path(path), scope(scope), ofAddresses(ofAddresses) {
    if (!object.is_object())
      path.fail("is not an object");
  }

  template <typename T, typename... B>
  void operator()(const char *name, T &value, const char *,
                  const B &...bounds) {
    note(name);
    read(get(name), name, value, boundsOf<T>(bounds...));
  }

  template <typename T, typename... B>
  void optional(const char *name, T &value, const char *, const B &...bounds) {
    note(name);
    auto found = object.find(name);
    if (found != object.end())
      read(*found, name, value, boundsOf<T>(bounds...));
    else
      enterArena(value, boundsOf<T>(bounds...));
  }

  template <typename Declare>
  void nested(const char *name, const char *, const Declare &declare) {
    note(name);
    const Json &inner = get(name);
    Path innerPath = path[name];
    FieldReader reader(inner, innerPath, scope, ofAddresses);
    declare(reader);
    reader.refuseUnknown();
  }

  template <typename Declare>
  void when(bool condition, const char *, const Declare &declare) {
    if (condition)
      declare(*this);
  }

  void refuseUnknown() const {
    if (!scope.refusesUnknown)
      return;
    for (const auto &field : object.items())
      if (std::find(known.begin(), known.end(), field.key()) == known.end())
        path[field.key().c_str()].fail("is no field of the document");
  }

private:
  void note(const char *name) {
    if (scope.refusesUnknown)
      known.push_back(name);
  }

  const Json &get(const char *name) const {
    auto found = object.find(name);
    if (found == object.end())
      path[name].fail("is missing");
    return *found;
  }

  template <typename T> schema::Bounds boundsOf() const {
    if constexpr (schema::shapeOf<T>() == schema::Shape::address)
      return ofAddresses;
    else if constexpr (hasNumbers<T>())
      return schema::anyInteger;
    else
      return {};
  }
  template <typename T, typename B>
  schema::Bounds boundsOf(const B &declared) const {
    if constexpr (std::is_convertible_v<B, schema::Bounds>)
      return declared;
    else
      return declared(*scope.program);
  }

  template <typename T>
  void read(const Json &json, const char *name, T &value,
            const schema::Bounds &bounds) {
    readValue(json, path[name], value, bounds, scope);
    enterArena(value, bounds);
  }

  /// What a place lists is in its own arena.
  template <typename T>
  void enterArena(T &value, const schema::Bounds &bounds) {
    if constexpr (schema::shapeOf<T>() == schema::Shape::integer) {
      if (bounds.isArena && scope.place)
        value = scope.place->place;
      else if (bounds.isArena)
        scope.place = &scope.program->places[value];
    }
  }

  const Json &object;
  const Path &path;
  Scope scope;
  const schema::Bounds ofAddresses;
  std::vector<std::string_view> known; ///< fields that the struct declares
};

/// Returns a number within the bounds, of which only the least matters: 0, more
/// than 0, or any.
inline double readNumber(const Json &json, const Path &path,
                         const schema::Bounds &bounds) {
  if (!json.is_number())
    path.fail("is not a number");
  double number = json.get<double>();
  if (bounds.least > 0 && number <= 0)
    path.fail("must be greater than 0");
  if (bounds.least == 0 && number < 0)
    path.fail("must not be less than 0");
  return number;
}

template <typename T>
void readList(const Json &json, const Path &path, T &list,
              const schema::Bounds &bounds, const Scope &scope) {
  if (!json.is_array())
    path.fail("is not an array");
  if constexpr (std::is_same_v<T, std::vector<typename T::value_type>>)
    list.resize(json.size());
  if (json.size() != list.size())
    path.fail(fmt::format("has {} elements, not {}", json.size(), list.size()));
  if (bounds.length != schema::List::none)
    checkLength(list.size(), bounds.length, scope, path);
  for (size_t i = 0; i < list.size(); ++i)
    readValue(json[i], path[i], list[i], bounds, scope);
  if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    if (bounds.isShape)
      checkShape(list, path);
}

template <typename E>
void readWord(const Json &json, const Path &path, E &value, uint64_t allowed) {
  if (!json.is_string())
    path.fail("is not a string");
  auto word = json.get_ref<const std::string &>();
  std::optional<E> parsed = schema::parseWord<E>(word);
  if (!parsed || !(allowed >> static_cast<int>(*parsed) & 1))
    path.fail("is '" + word + "', not one of " + schema::listWords<E>(allowed));
  value = *parsed;
}

template <typename T>
void readFields(const Json &json, const Path &path, T &value,
                const schema::Bounds &bounds, const Scope &scope) {
  FieldReader reader(json, path, scope, bounds);
  T::visit(reader, value);
  reader.refuseUnknown();
  if (std::string wrong = schema::whyUnfit(value); !wrong.empty())
    path.fail("contradicts itself: " + wrong);
}

template <typename T>
void readValue(const Json &json, const Path &path, T &value,
               const schema::Bounds &bounds, const Scope &scope) {
  using schema::Shape;
  constexpr Shape shape = schema::shapeOf<T>();
  if constexpr (shape == Shape::boolean) {
    if (!json.is_boolean())
      path.fail("is not true or false");
    value = json.get<bool>();
  } else if constexpr (shape == Shape::integer) {
    value = readInteger(json, path, bounds, scope);
  } else if constexpr (shape == Shape::number) {
    value = readNumber(json, path, bounds);
  } else if constexpr (shape == Shape::text) {
    if (!json.is_string())
      path.fail("is not a string");
    value = json.get<std::string>();
  } else if constexpr (shape == Shape::word) {
    readWord(json, path, value, bounds.words);
  } else if constexpr (shape == Shape::list) {
    readList(json, path, value, bounds, scope);
  } else if constexpr (shape == Shape::orNull) {
    if (!json.is_null())
      readValue(json, path, value.emplace(), bounds, scope);
  } else if constexpr (shape == Shape::address) {
    if (json.is_object())
      readFields(json, path, value, {}, scope);
    else
      value.base = readInteger(json, path, {});
    checkAddress(value, bounds, scope, path);
  } else {
    readFields(json, path, value, bounds, scope);
  }
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_READ_FIELDS_H
