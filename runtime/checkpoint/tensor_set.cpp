//===- tensor_set.cpp - The tensors of one or more files ------------------===//

#include "checkpoint/tensor_set.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ppopt::train {

std::string listNames(const std::vector<std::string> &names) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown(
      names.begin(), names.begin() + std::min(names.size(), kShown));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kShown)
    text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

namespace {

std::vector<int64_t> swapped(std::vector<int64_t> shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

/// Returns "h.w for w (file F32 [2, 3], model F32 [4, 2] transposed)".
std::string describeDifference(const StoredTensor &stored,
                               const WantedTensor &wanted) {
  bool looksTransposed = stored.shape.size() == 2 && !wanted.transposed &&
                         stored.shape != wanted.shape &&
                         stored.shape == swapped(wanted.shape);
  return fmt::format("{}{} (file {}, model {}{}{})", wanted.name,
                     wanted.parameter.empty() ? "" : " for " + wanted.parameter,
                     describeTensor(stored.dtype, stored.shape),
                     describeTensor(wanted.dtype, wanted.shape),
                     wanted.transposed ? " transposed" : "",
                     looksTransposed ? ": the file's is transposed" : "");
}

} // namespace

std::vector<WantedTensor> wantedParameters(const runtime::Program &program) {
  std::vector<WantedTensor> wanted;
  for (const runtime::Parameter &parameter : program.parameters)
    wanted.push_back({parameter.name, safetensorsDtype(spell(parameter.type)),
                      parameter.globalShape()});
  return wanted;
}

TensorSet::TensorSet(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    files_.emplace_back(path);
  std::map<std::string, std::string> homes;
  for (const SafetensorsFile &file : files_)
    for (const StoredTensor &tensor : file.tensors()) {
      tensors_[tensor.name] = &tensor;
      auto [home, isNew] = homes.emplace(tensor.name, file.path());
      if (!isNew)
        throw Error("{}: the tensor '{}' is in {} too", file.path(),
                    tensor.name, home->second);
    }
}

const StoredTensor *TensorSet::find(const std::string &name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

std::string TensorSet::differencesFrom(
    const std::vector<WantedTensor> &wanted, const std::string &extra,
    const std::function<bool(const std::string &name)> &isLeftAside) const {
  std::vector<std::string> missing, extras, types, shapes;
  std::set<std::string> names;
  for (const WantedTensor &tensor : wanted) {
    names.insert(tensor.name);
    const StoredTensor *stored = find(tensor.name);
    if (!stored) {
      missing.push_back(tensor.parameter.empty()
                            ? tensor.name
                            : tensor.name + " for " + tensor.parameter);
      continue;
    }
    std::string difference = describeDifference(*stored, tensor);
    if (stored->shape !=
        (tensor.transposed ? swapped(tensor.shape) : tensor.shape))
      shapes.push_back(difference);
    else if (stored->dtype != tensor.dtype)
      types.push_back(difference);
  }
  for (const auto &[name, stored] : tensors_)
    if (names.count(name) == 0 && !isLeftAside(name))
      extras.push_back(name);

  std::vector<std::string> differences;
  if (!missing.empty())
    differences.push_back("missing: " + listNames(missing));
  if (!extras.empty())
    differences.push_back(extra + ": " + listNames(extras));
  if (!shapes.empty())
    differences.push_back("of another shape: " + listNames(shapes));
  if (!types.empty())
    differences.push_back("of another type: " + listNames(types) +
                          " (convert the file, nothing is converted here)");
  return fmt::format("{}", fmt::join(differences, "; "));
}

} // namespace ppopt::train
