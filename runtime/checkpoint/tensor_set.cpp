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

void addDifference(std::vector<std::string> &differences,
                   const std::string &heading,
                   const std::vector<std::string> &names,
                   const std::string &hint) {
  if (!names.empty())
    differences.push_back(
        fmt::format("{}: {}{}", heading, listNames(names), hint));
}

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

std::string TensorSet::differencesFrom(const std::vector<WantedTensor> &wanted,
                                       const std::string &extra) const {
  std::vector<std::string> missing, extras, types, shapes;
  std::set<std::string> names;
  for (const WantedTensor &tensor : wanted) {
    names.insert(tensor.name);
    const StoredTensor *stored = find(tensor.name);
    if (!stored) {
      missing.push_back(tensor.name);
      continue;
    }
    std::string difference =
        fmt::format("{} (file {}, model {})", tensor.name,
                    describeTensor(stored->dtype, stored->shape),
                    describeTensor(tensor.dtype, tensor.shape));
    if (stored->shape != tensor.shape)
      shapes.push_back(difference);
    else if (stored->dtype != tensor.dtype)
      types.push_back(difference);
  }
  for (const auto &[name, stored] : tensors_)
    if (names.count(name) == 0)
      extras.push_back(name);

  std::vector<std::string> differences;
  addDifference(differences, "missing", missing);
  addDifference(differences, extra, extras);
  addDifference(differences, "of another shape", shapes);
  addDifference(differences, "of another type", types);
  return fmt::format("{}", fmt::join(differences, "; "));
}

} // namespace ppopt::train
