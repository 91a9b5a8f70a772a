//===- JsonValue.cpp - Reads JSON documents of others strictly ------------===//

#include "JsonValue.h"

using namespace mlir::pp;
using namespace mlir::pp::pt2;
using namespace llvm;

static const nlohmann::json nothing;

JsonDocument::JsonDocument(StringRef text, StringRef name)
    : json(nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                 /*allow_exceptions=*/false)),
      name(name) {
  if (json.is_discarded()) {
    json = nullptr;
    fail(name + ": is not JSON");
  }
}

JsonValue JsonDocument::root() { return JsonValue(*this, &json); }

std::string JsonValue::getPath() const {
  if (!outer)
    return "";
  std::string path = outer->getPath();
  if (name.empty())
    return path + "[" + std::to_string(index) + "]";
  return path.empty() ? name.str() : path + "." + name.str();
}

void JsonValue::fail(const Twine &message) const {
  std::string path = getPath();
  document.fail(document.getName() + ": " +
                (path.empty() ? std::string() : path + ": ") + message);
}

bool JsonValue::has(StringRef field) const {
  return json->is_object() && json->contains(field.str());
}

JsonValue JsonValue::get(StringRef field) const {
  if (json->is_object()) {
    auto found = json->find(field.str());
    if (found != json->end())
      return JsonValue(document, &*found, this, field);
    fail("lacks '" + field + "'");
  } else {
    fail("is not an object");
  }
  return JsonValue(document, &nothing, this, field);
}

int64_t JsonValue::asInteger() const {
  if (json->is_number_unsigned()) {
    auto value = json->get<uint64_t>();
    if (value <= uint64_t(INT64_MAX))
      return value;
  } else if (json->is_number_integer()) {
    return json->get<int64_t>();
  }
  fail("is not an integer of 64 bits");
  return 0;
}

double JsonValue::asNumber() const {
  if (json->is_number())
    return json->get<double>();
  fail("is not a number");
  return 0;
}

bool JsonValue::asBool() const {
  if (json->is_boolean())
    return json->get<bool>();
  fail("is not true or false");
  return false;
}

StringRef JsonValue::asText() const {
  if (json->is_string())
    return json->get_ref<const std::string &>();
  fail("is not a string");
  return "";
}

bool JsonValue::mayDescend() const {
  constexpr unsigned deepest = 500;
  if (depth >= deepest)
    fail("nests deeper than " + Twine(deepest) + " values");
  return depth < deepest;
}

void JsonValue::forEach(function_ref<void(const JsonValue &)> read) const {
  if (!json->is_array())
    return fail("is not a list");
  if (!mayDescend())
    return;
  for (size_t i = 0; i < json->size(); ++i)
    read(JsonValue(document, &(*json)[i], this, "", i));
}

void JsonValue::forEachField(
    function_ref<void(StringRef, const JsonValue &)> read) const {
  if (!json->is_object())
    return fail("is not an object");
  if (!mayDescend())
    return;
  for (const auto &[key, value] : json->items())
    read(key, JsonValue(document, &value, this, key));
}

void JsonValue::readUnion(
    function_ref<void(StringRef, const JsonValue &)> read) const {
  if (!json->is_object() || json->size() != 1)
    return fail("is not an object with one field");
  forEachField(read);
}
