//===- write.cpp - Writes a program as its document -----------------------===//

#include "schema/write.h"

#include "schema/visit.h"

#include <nlohmann/json.hpp>

namespace ppopt::schema {

namespace {

using Json = nlohmann::ordered_json;

template <typename T> Json toJson(const T &value);

/// Adds the fields of a struct to an object.
class FieldWriter {
public:
  explicit FieldWriter(Json &object) : object(object) {}

  template <typename T>
  void operator()(const char *name, const T &value, const char *, Limits = {}) {
    object[name] = toJson(value);
  }

  template <typename T>
  void optional(const char *name, const T &value, const char *, Limits = {}) {
    Json written = toJson(value);
    if (written != toJson(T()))
      object[name] = std::move(written);
  }

  template <typename Declare>
  void nested(const char *name, const char *, const Declare &declare) {
    Json inner = Json::object();
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
  Json &object;
};

template <typename T> Json fieldsOf(const T &value) {
  Json object = Json::object();
  FieldWriter writer(object);
  T::visit(writer, value);
  return object;
}

template <typename T> Json toJson(const T &value) {
  constexpr Shape shape = shapeOf<T>();
  if constexpr (shape == Shape::word) {
    return spell(value);
  } else if constexpr (shape == Shape::list) {
    Json list = Json::array();
    for (const auto &element : value)
      list.push_back(toJson(element));
    return list;
  } else if constexpr (shape == Shape::orNull) {
    return value ? toJson(*value) : Json();
  } else if constexpr (shape == Shape::address) {
    return value.strides.empty() ? Json(value.base) : fieldsOf(value);
  } else if constexpr (shape == Shape::object) {
    return fieldsOf(value);
  } else {
    return value;
  }
}

std::string dump(const Json &document) {
  return document.dump(/*indent=*/-1, /*indent_char=*/' ',
                       /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

} // namespace

std::string writeProgram(const Program &program) {
  return dump(toJson(program));
}

std::string writeRefusedGeneration(int64_t abi, const std::string &reason) {
  return dump({{"abi", abi}, {"generation", {{"refused", reason}}}});
}

std::string writeDevice(const Device &device) {
  return toJson(device).dump(/*indent=*/1, /*indent_char=*/' ',
                             /*ensure_ascii=*/false,
                             Json::error_handler_t::replace) +
         "\n";
}

} // namespace ppopt::schema
