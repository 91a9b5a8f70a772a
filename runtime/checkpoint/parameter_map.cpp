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
             "ignored", "tied"});
  if (!document.contains("parameters"))
    throw Error("{}: has no \"parameters\"", path);

  if (document.contains("optional_prefix"))
    prefix_ = textOf(path + ": optional_prefix", document["optional_prefix"]);
  std::string where = path + ": parameters";
  for (const auto &[name, value] :
       objectOf(where, document["parameters"]).items()) {
    std::string here = fmt::format("{}: '{}'", where, name);
    const json *tensor = &value;
    bool transposed = false;
    if (value.is_object()) {
      checkKeys(here, value, {"tensor", "transpose"});
      if (!value.contains("tensor"))
        throw Error("{}: has no \"tensor\"", here);
      tensor = &value["tensor"];
      if (value.contains("transpose")) {
        if (!value["transpose"].is_boolean())
          throw Error("{}: transpose: is neither true nor false", here);
        transposed = value["transpose"].get<bool>();
      }
    }
    Entry entry{patternOf(where, name), patternOf(here, *tensor), transposed};
    if (entry.parameter.placeholders() != entry.tensor.placeholders())
      throw Error("{}: the tensor '{}' has other placeholders", here,
                  entry.tensor.text());
    if (entry.tensor.text() == "__metadata__")
      throw Error("{}: no tensor of a safetensors file is named "
                  "'__metadata__'",
                  here);
    entries_.push_back(std::move(entry));
  }

  where = path + ": ignored";
  json ignored = document.value("ignored", json::array());
  if (!ignored.is_array())
    throw Error("{}: is not a list", where);
  for (const json &name : ignored)
    ignored_.push_back(patternOf(where, name));

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

const ParameterMap::Entry *
ParameterMap::entryOf(const std::string &parameter,
                      NamePattern::Numbers &numbers) const {
  const Entry *found = nullptr;
  for (const Entry &entry : entries_) {
    std::optional<NamePattern::Numbers> match =
        entry.parameter.match(parameter);
    if (!match)
      continue;
    if (found)
      throw Error("{}: the parameter '{}' has two entries: '{}' and '{}'",
                  path_, parameter, found->parameter.text(),
                  entry.parameter.text());
    found = &entry;
    numbers = *match;
  }
  return found;
}

std::vector<ParameterTensor>
ParameterMap::tensorsOf(const Program &program, bool mayLackEntries) const {
  std::vector<ParameterTensor> tensors;
  std::vector<std::string> without;
  std::map<std::string, std::string> takers;
  for (const Parameter &parameter : program.parameters) {
    NamePattern::Numbers numbers;
    const Entry *entry = entryOf(parameter.name, numbers);
    if (!entry) {
      without.push_back(parameter.name);
      tensors.emplace_back();
      continue;
    }
    ParameterTensor tensor{entry->tensor.fill(numbers), entry->transposed};
    auto [taker, isNew] = takers.emplace(tensor.name, parameter.name);
    if (!isNew)
      throw Error("{}: the tensor '{}' is taken twice, as the parameters '{}' "
                  "and '{}'",
                  path_, tensor.name, taker->second, parameter.name);
    if (ignores(tensor.name))
      throw Error("{}: the tensor '{}' is ignored, and is the parameter '{}'",
                  path_, tensor.name, parameter.name);
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

bool ParameterMap::ignores(const std::string &tensor) const {
  return std::any_of(
      ignored_.begin(), ignored_.end(),
      [&](const NamePattern &name) { return name.match(tensor).has_value(); });
}

} // namespace ppopt::train
