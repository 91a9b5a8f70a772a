//===- parameter_map.cpp - Names of parameters in other programs' files ---===//

#include "checkpoint/parameter_map.h"

#include "base/json_structure.h"
#include "base/mapped_file.h"
#include "checkpoint/tensor_set.h"
#include "ppopt/nearest_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace ppopt::train {
namespace {

using nlohmann::json;
using runtime::Parameter;
using runtime::Program;

constexpr const char *kFormat = "ppopt parameter map";
constexpr int kVersion = 1;

/// Throws Error for unknown keys.
void checkKeys(const std::string &where, const json &object,
               const std::vector<std::string> &known) {
  for (const auto &[key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end())
      continue;
    std::string nearest = nearestName(key, known);
    throw Error("{}: unknown key '{}'{}", where, key,
                nearest.empty() ? ""
                                : fmt::format("; did you mean '{}'?", nearest));
  }
}

std::string textOf(const std::string &where, const json &value) {
  if (!value.is_string() || value.get<std::string>().empty())
    throw Error("{}: is not a name in quotes", where);
  return value.get<std::string>();
}

NamePattern patternOf(const std::string &where, const json &value) {
  std::string text = textOf(where, value);
  try {
    return NamePattern(text);
  } catch (const std::invalid_argument &error) {
    throw Error("{}: '{}': {}", where, text, error.what());
  }
}

/// Reads a list of names.
std::vector<NamePattern> patternsOf(const std::string &where,
                                    const json &value) {
  if (!value.is_array())
    throw Error("{}: is not a list", where);
  std::vector<NamePattern> patterns;
  for (const json &name : value)
    patterns.push_back(patternOf(where, name));
  return patterns;
}

/// Returns the placeholder that the names of a stack's parts have, and its own
/// name lacks.
std::string partOf(const std::string &where, const NamePattern &stack,
                   const NamePattern &parts) {
  std::set<std::string> more = parts.placeholders();
  for (const std::string &placeholder : stack.placeholders())
    if (more.erase(placeholder) == 0)
      throw Error("{}: the stack '{}' lacks {{{}}}", where, parts.text(),
                  placeholder);
  if (more.size() != 1)
    throw Error("{}: the stack '{}' needs one more placeholder than the "
                "parameter, that of its parts",
                where, parts.text());
  return *more.begin();
}

const json &objectOf(const std::string &where, const json &value) {
  if (!value.is_object())
    throw Error("{}: is not an object", where);
  return value;
}

} // namespace

std::vector<ParameterTensor> ownTensors(const Program &program) {
  std::vector<ParameterTensor> tensors;
  for (const Parameter &parameter : program.parameters)
    tensors.push_back(
        {parameter.name, /*transposed=*/false, parameter.aliases});
  return tensors;
}

std::vector<int64_t> shapeInFile(const Parameter &parameter,
                                 const ParameterTensor &tensor) {
  std::vector<int64_t> shape = parameter.globalShape();
  if (tensor.transposed)
    std::reverse(shape.begin(), shape.end());
  if (!tensor.parts.empty())
    shape.erase(shape.begin());
  return shape;
}

ParameterMap ParameterMap::read(const std::string &path) {
  MappedFile file(path);
  return {path, file.text()};
}

ParameterMap::ParameterMap(const std::string &path, std::string_view text)
    : path_(path) {
  json document = runtime::parseUnambiguous(path, text);
  if (!document.is_object() || document.value("format", json()) != kFormat)
    throw Error("{}: is not a map of parameters: it has no \"format\": \"{}\"",
                path, kFormat);
  if (json version = document.value("version", json()); version != kVersion)
    throw Error("{}: is a map of version {}, and this program reads version {}",
                path, version.dump(), kVersion);
  checkKeys(path, document,
            {"format", "version", "about", "optional_prefix", "parameters",
             "ignored", "omitted", "tied"});
  if (!document.contains("parameters"))
    throw Error("{}: has no \"parameters\"", path);

  if (document.contains("optional_prefix"))
    prefix_ = textOf(path + ": optional_prefix", document["optional_prefix"]);
  std::string where = path + ": parameters";
  for (const auto &[name, value] :
       objectOf(where, document["parameters"]).items()) {
    entries_.push_back(
        readEntry(fmt::format("{}: '{}'", where, name), name, value));
  }

  ignored_ =
      patternsOf(path + ": ignored", document.value("ignored", json::array()));
  omitted_ =
      patternsOf(path + ": omitted", document.value("omitted", json::array()));

  where = path + ": tied";
  json tied = document.value("tied", json::object());
  for (const auto &[copy, original] : objectOf(where, tied).items()) {
    tied_[copy] = textOf(fmt::format("{}: '{}'", where, copy), original);
    if (tied_[copy] == copy)
      throw Error("{}: '{}': is tied to itself", where, copy);
  }
  if (!prefix_.empty() && !usesPrefix())
    throw Error("{}: optional_prefix: no tensor of the map begins with '{}'; "
                "write it in their names, or leave it out",
                path, prefix_);
}

ParameterMap::Entry ParameterMap::readEntry(const std::string &where,
                                            const std::string &name,
                                            const json &value) const {
  const json *tensor = &value;
  bool transposed = false;
  std::optional<Plus> plus;
  bool isStack = value.is_object() && value.contains("stack");
  if (isStack) {
    checkKeys(where, value, {"stack"});
    tensor = &value["stack"];
  } else if (value.is_object()) {
    checkKeys(where, value, {"tensor", "stack", "transpose", "plus"});
    if (!value.contains("tensor"))
      throw Error("{}: has no \"tensor\"", where);
    tensor = &value["tensor"];
    if (value.contains("transpose")) {
      if (!value["transpose"].is_boolean())
        throw Error("{}: transpose: is neither true nor false", where);
      transposed = value["transpose"].get<bool>();
    }
    if (value.contains("plus")) {
      std::string here = where + ": plus";
      const json &added = objectOf(here, value["plus"]);
      checkKeys(here, added, {"product", "scale"});
      json product = added.value("product", json());
      if (!product.is_array() || product.size() != 2)
        throw Error("{}: product: is not a list of two parameters", here);
      json scale = added.value("scale", json(1.0));
      if (!scale.is_number())
        throw Error("{}: scale: is not a number", here);
      plus = {patternOf(here, product[0]), patternOf(here, product[1]),
              scale.get<double>()};
    }
  }
  Entry entry{patternOf(path_ + ": parameters", name),
              patternOf(where, *tensor), transposed, std::move(plus)};
  auto check = [&](const NamePattern &other, const char *what) {
    if (entry.parameter.placeholders() != other.placeholders())
      throw Error("{}: the {} '{}' has other placeholders", where, what,
                  other.text());
  };
  if (isStack)
    entry.part = partOf(where, entry.parameter, entry.tensor);
  else
    check(entry.tensor, "tensor");
  if (entry.plus) {
    check(entry.plus->left, "parameter");
    check(entry.plus->right, "parameter");
  }
  if (entry.tensor.text() == "__metadata__")
    throw Error("{}: no tensor of a safetensors file is named "
                "'__metadata__'",
                where);
  return entry;
}

/// Returns what an entry adds to a parameter; nothing if the model has neither
/// factor.
std::optional<AddedProduct>
ParameterMap::productOf(const Program &program, size_t parameter,
                        const Entry &entry,
                        const NamePattern::Numbers &numbers) const {
  if (!entry.plus)
    return std::nullopt;
  std::string names[] = {entry.plus->left.fill(numbers),
                         entry.plus->right.fill(numbers)};
  std::optional<size_t> found[2];
  for (size_t i = 0; i < program.parameters.size(); ++i)
    for (int side : {0, 1})
      if (program.parameters[i].name == names[side])
        found[side] = i;
  if (!found[0] && !found[1])
    return std::nullopt;
  for (int side : {0, 1})
    if (!found[side])
      throw Error("{}: the model has a parameter '{}', and no '{}' to multiply "
                  "it with",
                  path_, names[1 - side], names[side]);
  const Parameter &sum = program.parameters[parameter],
                  &left = program.parameters[*found[0]],
                  &right = program.parameters[*found[1]];
  auto shape = sum.globalShape(), rows = left.globalShape(),
       columns = right.globalShape();
  if (shape.size() != 2 || rows.size() != 2 || columns.size() != 2 ||
      shape[0] != rows[0] || shape[1] != columns[1] || rows[1] != columns[0])
    throw Error("{}: '{}' x '{}' has not the shape of '{}'", path_, names[0],
                names[1], sum.name);
  return AddedProduct{*found[0], *found[1], entry.plus->scale};
}

/// Returns the tensors of a parameter that is a stack of them.
ParameterTensor ParameterMap::stackOf(const Parameter &parameter,
                                      const Entry &entry,
                                      NamePattern::Numbers numbers) const {
  if (parameter.shape.empty())
    throw Error("{}: the parameter '{}' has no dimensions, and cannot be a "
                "stack",
                path_, parameter.name);
  ParameterTensor tensor;
  numbers[entry.part] = "{" + entry.part + "}";
  tensor.name = entry.tensor.fill(numbers);
  for (int64_t part = 0; part < parameter.globalShape()[0]; ++part) {
    numbers[entry.part] = std::to_string(part);
    tensor.parts.push_back(entry.tensor.fill(numbers));
  }
  return tensor;
}

bool ParameterMap::usesPrefix() const {
  auto hasPrefix = [&](const std::string &name) {
    return name.compare(0, prefix_.size(), prefix_) == 0;
  };
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry &entry) {
                       return hasPrefix(entry.tensor.text());
                     }) ||
         std::any_of(
             ignored_.begin(), ignored_.end(),
             [&](const NamePattern &name) { return hasPrefix(name.text()); });
}

ParameterMap::Match ParameterMap::match(const std::string &parameter) const {
  Match found;
  for (const Entry &entry : entries_) {
    std::optional<NamePattern::Numbers> numbers =
        entry.parameter.match(parameter);
    if (!numbers)
      continue;
    if (found.entry)
      throw Error("{}: the parameter '{}' has two entries: '{}' and '{}'",
                  path_, parameter, found.entry->parameter.text(),
                  entry.parameter.text());
    found = {&entry, std::move(*numbers)};
  }
  return found;
}

std::vector<ParameterTensor>
ParameterMap::tensorsOf(const Program &program, bool mayLackEntries) const {
  std::vector<ParameterTensor> tensors;
  std::vector<std::string> without;
  std::map<std::string, std::string> takers;
  std::map<size_t, std::string> factors; // of what is added to a parameter
  std::vector<Match> matches;
  std::vector<std::optional<AddedProduct>> products;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const auto &[entry, numbers] =
        matches.emplace_back(match(program.parameters[i].name));
    products.push_back(entry ? productOf(program, i, *entry, numbers)
                             : std::nullopt);
    if (products.back())
      for (size_t factor : {products.back()->left, products.back()->right})
        factors.emplace(factor, program.parameters[i].name);
  }
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    const auto &[entry, numbers] = matches[i];
    auto sum = factors.find(i);
    if (entry && omits(parameter.name))
      throw Error("{}: the parameter '{}' is omitted, and has an entry", path_,
                  parameter.name);
    if (entry && sum != factors.end())
      throw Error("{}: the parameter '{}' has an entry, and is added to '{}'",
                  path_, parameter.name, sum->second);
    if (!entry) {
      if (sum == factors.end() && !omits(parameter.name))
        without.push_back(parameter.name);
      tensors.emplace_back();
      continue;
    }
    ParameterTensor tensor =
        entry->part.empty()
            ? ParameterTensor{entry->tensor.fill(numbers), entry->transposed,
                              /*aliases=*/{}, products[i]}
            : stackOf(parameter, *entry, numbers);
    std::vector<std::string> names = tensor.parts;
    if (names.empty())
      names.push_back(tensor.name);
    for (const std::string &name : names) {
      auto [taker, isNew] = takers.emplace(name, parameter.name);
      if (!isNew)
        throw Error("{}: the tensor '{}' is taken twice, as the parameters "
                    "'{}' and '{}'",
                    path_, name, taker->second, parameter.name);
      if (ignores(name))
        throw Error("{}: the tensor '{}' is ignored, and is the parameter '{}'",
                    path_, name, parameter.name);
    }
    if (tensor.transposed && parameter.shape.size() != 2)
      throw Error("{}: the parameter '{}' has {} dimensions, and only matrices "
                  "can be transposed",
                  path_, parameter.name, parameter.shape.size());
    tensors.push_back(std::move(tensor));
  }
  if (!without.empty() && !mayLackEntries)
    throw Error("{}: no entry for the model's parameters {}; add them to its "
                "\"parameters\"",
                path_, listNames(without));
  return tensors;
}

/// Returns whether some of the patterns match.
static bool matchesAny(const std::vector<NamePattern> &patterns,
                       const std::string &name) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [&](const NamePattern &each) { return each.match(name).has_value(); });
}

bool ParameterMap::ignores(const std::string &tensor) const {
  return matchesAny(ignored_, tensor);
}

bool ParameterMap::omits(const std::string &parameter) const {
  return matchesAny(omitted_, parameter);
}

} // namespace ppopt::train
