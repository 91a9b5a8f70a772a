//===- program_fields.h - Reading a JSON document strictly ----------------===//
//
// A field knows its path in the document. Every check that fails throws an
// Error that names the path.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_FIELDS_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_FIELDS_H

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ppopt::runtime {

class Field {
public:
  Field(const nlohmann::json &value, std::string path)
      : value(value), path(std::move(path)) {}

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("program: {} {}; the executable does not fit its runtime: "
                "compile it again",
                path.empty() ? "the document" : path, what);
  }

  Field operator[](const char *key) const {
    if (!value.is_object())
      fail("is not an object");
    auto it = value.find(key);
    std::string inner = path.empty() ? key : path + "." + key;
    if (it == value.end())
      Field(value, inner).fail("is missing");
    return Field(*it, inner);
  }

  bool has(const char *key) const {
    return value.is_object() && value.contains(key);
  }

  bool isNull() const { return value.is_null(); }

  std::string text() const {
    if (!value.is_string())
      fail("is not a string");
    return value.get<std::string>();
  }

  bool boolean() const {
    if (!value.is_boolean())
      fail("is not true or false");
    return value.get<bool>();
  }

  double number() const {
    if (!value.is_number())
      fail("is not a number");
    return value.get<double>();
  }

  /// Returns an integer in [least, most].
  int64_t integer(int64_t least = 0, int64_t most = INT64_MAX) const {
    bool fits = value.is_number_unsigned()
                    ? value.get<uint64_t>() <= uint64_t(INT64_MAX)
                    : value.is_number_integer();
    if (!fits)
      fail("is not an integer");
    int64_t number = value.get<int64_t>();
    if (number < least || number > most)
      fail(most == INT64_MAX
               ? fmt::format("is {}, less than {}", number, least)
               : fmt::format("is {}, not in [{}, {}]", number, least, most));
    return number;
  }

  size_t size() const {
    if (!value.is_array())
      fail("is not an array");
    return value.size();
  }

  /// Calls `read(element)` for each element of an array, in order.
  template <typename Read> void forEach(const Read &read) const {
    for (size_t i = 0, e = size(); i < e; ++i)
      read(Field(value[i], fmt::format("{}[{}]", path, i)));
  }

  std::vector<int64_t> integers(int64_t least, int64_t most = INT64_MAX) const {
    std::vector<int64_t> numbers;
    forEach([&](const Field &f) { numbers.push_back(f.integer(least, most)); });
    return numbers;
  }

private:
  const nlohmann::json &value;
  std::string path;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_FIELDS_H
