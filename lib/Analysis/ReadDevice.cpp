//===- ReadDevice.cpp - Reads a device's document strictly ----------------===//

#include "ppopt/Analysis/Device.h"

#include "schema/visit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;
using namespace ::ppopt::schema;
namespace json = llvm::json;

namespace {

/// Reads the fields of a struct from an object. Keeps the first error, and
/// reads nothing after it. Fields that the schema does not have are errors: a
/// misspelled one would otherwise be missed.
class FieldReader {
public:
  FieldReader(const json::Object &object, std::string path, std::string &error)
      : object(object), path(std::move(path)), error(error) {}

  template <typename T>
  void operator()(const char *name, T &value, const char *,
                  Limits limits = {}) {
    known.push_back(name);
    std::string at = path.empty() ? name : path + "." + name;
    const json::Value *found = object.get(name);
    if (found)
      read(*found, at, value, limits);
    else
      fail(at, "is missing");
  }

  /// Of a field that may be left out.
  template <typename T>
  void optional(const char *name, T &value, const char *meaning,
                Limits limits = {}) {
    if (object.get(name))
      (*this)(name, value, meaning, limits);
    else
      known.push_back(name);
  }

  void refuseUnknown() {
    for (const auto &field : object)
      if (StringRef name = field.first; !llvm::is_contained(known, name))
        fail(path.empty() ? name.str() : path + "." + name.str(),
             "is no field of a device");
  }

private:
  void fail(const std::string &at, const llvm::Twine &what) {
    if (error.empty())
      error = (at + " " + what).str();
  }

  void readNumber(const json::Value &from, const std::string &at, double &value,
                  Limits limits) {
    std::optional<double> number = from.getAsNumber();
    if (!number || !std::isfinite(*number))
      return fail(at, "is not a number");
    if (limits.least > 0 ? *number <= 0 : *number < 0)
      return fail(at, limits.least > 0 ? "must be greater than 0"
                                       : "must not be less than 0");
    value = *number;
  }

  void readInteger(const json::Value &from, const std::string &at,
                   int64_t &value, Limits limits) {
    std::optional<int64_t> number = from.getAsInteger();
    if (!number)
      return fail(at, "is not a whole number");
    if (*number < limits.least)
      return fail(at, "must be at least " + llvm::Twine(limits.least));
    value = *number;
  }

  template <typename T>
  void read(const json::Value &from, const std::string &at, T &value,
            Limits limits) {
    if (!error.empty())
      return;
    constexpr Shape shape = shapeOf<T>();
    if constexpr (shape == Shape::boolean) {
      if (std::optional<bool> flag = from.getAsBoolean())
        value = *flag;
      else
        fail(at, "is not true or false");
    } else if constexpr (shape == Shape::number) {
      readNumber(from, at, value, limits);
    } else if constexpr (shape == Shape::integer) {
      readInteger(from, at, value, limits);
    } else if constexpr (shape == Shape::text) {
      if (std::optional<StringRef> text = from.getAsString())
        value = text->str();
      else
        fail(at, "is not a text");
    } else if constexpr (shape == Shape::word) {
      std::string word = from.getAsString().value_or("").str();
      if (std::optional<T> known = parseWord<T>(word))
        value = *known;
      else
        fail(at, "is not one of " + listWords<T>());
    } else if constexpr (shape == Shape::list) {
      const json::Array *list = from.getAsArray();
      if (!list || list->empty())
        return fail(at, "is not a list with elements");
      value.resize(list->size());
      for (size_t i = 0; i < value.size(); ++i)
        read((*list)[i], at + "[" + std::to_string(i) + "]", value[i], limits);
    } else if constexpr (shape == Shape::orNull) {
      if (!from.getAsNull())
        read(from, at, value.emplace(), limits);
    } else {
      const json::Object *fields = from.getAsObject();
      if (!fields)
        return fail(at, "is not an object");
      FieldReader reader(*fields, at, error);
      T::visit(reader, value);
      reader.refuseUnknown();
    }
  }

  const json::Object &object;
  std::string path;
  std::string &error;
  SmallVector<StringRef> known;
};

} // namespace

/// Returns what is wrong with a list that has to have one entry per type.
template <typename T>
static std::string checkTypes(StringRef list, const std::vector<T> &entries) {
  for (auto [i, entry] : llvm::enumerate(entries))
    for (const T &before : ArrayRef(entries).take_front(i))
      if (before.type == entry.type)
        return (list + " has " + spell(entry.type) + " twice").str();
  for (auto type : {::ppopt::MatmulType::f32, ::ppopt::MatmulType::f64,
                    ::ppopt::MatmulType::bf16})
    if (llvm::none_of(entries, [&](const T &e) { return e.type == type; }))
      return (list + " lacks " + spell(type)).str();
  return "";
}

static bool isAscending(const std::vector<int64_t> &sizes) {
  return llvm::is_sorted(sizes, std::less_equal<int64_t>());
}

/// Returns what is wrong beyond single fields; empty if nothing is.
static std::string check(const Device &device) {
  if (std::string wrong = checkTypes("matmuls", device.matmuls); !wrong.empty())
    return wrong;
  if (std::string wrong = checkTypes("attention", device.attention);
      !wrong.empty())
    return wrong;
  if (std::string wrong = checkTypes("elements", device.elements);
      !wrong.empty())
    return wrong;
  for (auto [i, matmul] : llvm::enumerate(device.matmuls)) {
    std::string at = "matmuls[" + std::to_string(i) + "]";
    for (auto [name, sizes] :
         {std::pair("m", &matmul.m), std::pair("n", &matmul.n),
          std::pair("k", &matmul.k)})
      if (!isAscending(*sizes))
        return at + "." + name + " is not in ascending order";
    size_t points = matmul.m.size() * matmul.n.size() * matmul.k.size();
    for (auto [name, rates] : {std::pair("rates", &matmul.rates),
                               std::pair("transposed", &matmul.transposed)})
      if (rates->size() != points)
        return at + "." + name + " has " + std::to_string(rates->size()) +
               " elements, and m, n and k make " + std::to_string(points);
  }
  for (size_t i = 1; i < device.memory.size(); ++i)
    if (device.memory[i].bytes <= device.memory[i - 1].bytes)
      return "memory is not in ascending order of bytes";
  return "";
}

std::optional<Device> pp::readDevice(StringRef text, std::string &error) {
  llvm::Expected<json::Value> document = json::parse(text);
  if (!document) {
    error = "is not JSON: " + llvm::toString(document.takeError());
    return std::nullopt;
  }
  const json::Object *object = document->getAsObject();
  if (!object) {
    error = "is not the document of a device";
    return std::nullopt;
  }
  if (object->getInteger("version") != 1) {
    error = "version is not 1, the version that this ppopt reads";
    return std::nullopt;
  }
  Device device;
  FieldReader reader(*object, "", error);
  Device::visit(reader, device);
  reader.refuseUnknown();
  if (error.empty())
    error = check(device);
  if (!error.empty())
    return std::nullopt;
  return device;
}
