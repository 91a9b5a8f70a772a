//===- parameter_file.cpp - Parameters in safetensors files ---------------===//

#include "train/parameter_file.h"

#include "core/error.h"
#include "core/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace ppopt::train {
namespace {

using runtime::Buffer;
using runtime::Parameter;
using runtime::Program;

std::string dtypeOf(const Parameter &parameter) {
  return safetensorsDtype(spelling(parameter.type));
}

/// The first names of a list, and how many more there are.
std::string listed(const std::vector<std::string> &names) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown(
      names.begin(), names.begin() + std::min(names.size(), kShown));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kShown)
    text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

} // namespace

InitialParameters::InitialParameters(const Program &program,
                                     const std::string &path)
    : program_(program), file_(path) {
  std::vector<std::string> missing, extra, types, shapes;
  for (const Parameter &parameter : program.parameters) {
    const StoredTensor *tensor = file_.find(parameter.name);
    if (!tensor) {
      missing.push_back(parameter.name);
      continue;
    }
    std::string difference =
        fmt::format("{} (file {}, model {})", parameter.name,
                    describeTensor(tensor->dtype, tensor->shape),
                    describeTensor(dtypeOf(parameter), parameter.shape));
    if (tensor->shape != parameter.shape)
      shapes.push_back(difference);
    else if (tensor->dtype != dtypeOf(parameter))
      types.push_back(difference);
  }
  for (const StoredTensor &tensor : file_.tensors())
    if (std::none_of(program.parameters.begin(), program.parameters.end(),
                     [&](const Parameter &parameter) {
                       return parameter.name == tensor.name;
                     }))
      extra.push_back(tensor.name);

  std::vector<std::string> wrong;
  if (!missing.empty())
    wrong.push_back("missing: " + listed(missing));
  if (!extra.empty())
    wrong.push_back("not a parameter: " + listed(extra));
  if (!shapes.empty())
    wrong.push_back("of another shape: " + listed(shapes));
  if (!types.empty())
    wrong.push_back("of another type: " + listed(types) +
                    " (convert the file, nothing is converted here)");
  if (!wrong.empty())
    throw Error("--init {}: the tensors are not this model's parameters; {}",
                path, fmt::join(wrong, "; "));
}

void InitialParameters::load(const std::vector<Buffer> &parameters) const {
  for (const Buffer &buffer : parameters) {
    const StoredTensor &tensor =
        *file_.find(program_.parameters[buffer.index].name);
    std::memcpy(buffer.data, tensor.data, tensor.bytes);
  }
}

void exportParameters(const ppopt_rank &rank, const std::string &path) {
  std::vector<TensorToStore> tensors;
  for (const runtime::PlaceParameter &held : rank.place.parameters) {
    const Parameter &parameter = rank.program.parameters[held.parameter];
    tensors.push_back({parameter.name, dtypeOf(parameter), parameter.shape,
                       rank.at(held.offset)});
  }
  writeSafetensors(path, tensors, {{"format", "pt"}});
}

void exportGradients(const ppopt_rank &rank, const std::string &path) {
  std::vector<TensorToStore> tensors;
  for (const runtime::PlaceParameter &held : rank.place.parameters) {
    const Parameter &parameter = rank.program.parameters[held.parameter];
    if (held.gradient >= 0)
      tensors.push_back({parameter.name, dtypeOf(parameter), parameter.shape,
                         rank.at(held.gradient)});
  }
  writeSafetensors(path, tensors, {{"format", "pt"}});
}

} // namespace ppopt::train
