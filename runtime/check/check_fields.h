//===- check_fields.h - Whether fields are within their limits ------------===//

#ifndef PPOPT_RUNTIME_CHECK_CHECK_FIELDS_H
#define PPOPT_RUNTIME_CHECK_CHECK_FIELDS_H

#include "check/path.h"
#include "schema/visit.h"

#include <fmt/format.h>

namespace ppopt::runtime {

inline void checkLimits(int64_t number, const Path &path,
                        schema::Limits limits) {
  if (number < limits.least || number > limits.most)
    path.fail(limits.most == INT64_MAX
                  ? fmt::format("is {}, less than {}", number, limits.least)
                  : fmt::format("is {}, not in [{}, {}]", number, limits.least,
                                limits.most));
}

/// Checks the integers in a value, as a reader of its document does
/// (program/read_fields.h). Throws Error.
template <typename T>
void checkFields(const T &value, const Path &path, schema::Limits limits);

/// Checks the fields of one struct.
class FieldChecker {
public:
  explicit FieldChecker(const Path &path) : path(path) {}

  template <typename T>
  void operator()(const char *name, const T &value, const char *,
                  schema::Limits limits = {}) {
    checkFields(value, path[name], limits);
  }

  /// A field that has the value of a new struct is not in the document.
  template <typename T>
  void optional(const char *name, const T &value, const char *,
                schema::Limits limits = {}) {
    if constexpr (schema::shapeOf<T>() == schema::Shape::integer)
      if (value == T())
        return;
    checkFields(value, path[name], limits);
  }

  template <typename Declare>
  void nested(const char *name, const char *, const Declare &declare) {
    Path inner = path[name];
    FieldChecker checker(inner);
    declare(checker);
  }

  template <typename Declare>
  void when(bool condition, const char *, const Declare &declare) {
    if (condition)
      declare(*this);
  }

private:
  const Path &path;
};

template <typename T>
void checkFields(const T &value, const Path &path, schema::Limits limits) {
  using schema::Shape;
  constexpr Shape shape = schema::shapeOf<T>();
  if constexpr (shape == Shape::integer) {
    checkLimits(value, path, limits);
  } else if constexpr (shape == Shape::list) {
    for (size_t i = 0; i < value.size(); ++i)
      checkFields(value[i], path[i], limits);
  } else if constexpr (shape == Shape::orNull) {
    if (value)
      checkFields(*value, path, limits);
  } else if constexpr (shape == Shape::address) {
    if (value.strides.empty()) {
      checkLimits(value.base, path, limits);
      return;
    }
    FieldChecker checker(path);
    T::visit(checker, value);
  } else if constexpr (shape == Shape::object) {
    FieldChecker checker(path);
    T::visit(checker, value);
  }
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_CHECK_CHECK_FIELDS_H
