//===- shard_index.cpp - Hugging Face's folders of safetensors files ------===//

#include "checkpoint/shard_index.h"

#include "base/json_structure.h"
#include "base/mapped_file.h"
#include "checkpoint/tensor_set.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace ppopt::train {
namespace {

namespace fs = std::filesystem;

/// The names of the tensors of each file, sorted.
using Shards = std::map<std::string, std::vector<std::string>>;

Shards readShards(const std::string &path) {
  MappedFile file(path);
  nlohmann::json document = runtime::parseUnambiguous(path, file.text());
  auto map =
      document.is_object() ? document.find("weight_map") : document.end();
  if (map == document.end() || !map->is_object() || map->empty())
    throw Error("{}: has no \"weight_map\" that says which file has which "
                "tensor",
                path);
  Shards shards;
  for (const auto &[tensor, shard] : map->items()) {
    if (!shard.is_string() || shard.get<std::string>().empty())
      throw Error("{}: weight_map: '{}': is not the name of a file", path,
                  tensor);
    shards[shard.get<std::string>()].push_back(tensor);
  }
  return shards;
}

bool leavesFolder(const fs::path &name) {
  return name.is_absolute() ||
         std::find(name.begin(), name.end(), "..") != name.end();
}

} // namespace

std::vector<std::string> filesOfIndex(const std::string &folder) {
  std::string path = folder + "/" + kShardIndexName;
  std::vector<std::string> files, lacking, unnamed;
  for (const auto &[name, tensors] : readShards(path)) {
    if (leavesFolder(name))
      throw Error("{}: weight_map: the file '{}' of {} is not in the folder",
                  path, name, listNames(tensors));
    std::string shard = folder + "/" + name;
    if (std::error_code error; !fs::exists(shard, error))
      throw Error("{}: there is no file {}, which has {}", path, shard,
                  listNames(tensors));
    SafetensorsFile file(shard);
    for (const std::string &tensor : tensors)
      if (!file.find(tensor))
        lacking.push_back(tensor + " in " + name);
    for (const StoredTensor &tensor : file.tensors())
      if (!std::binary_search(tensors.begin(), tensors.end(), tensor.name))
        unnamed.push_back(tensor.name + " in " + name);
    files.push_back(std::move(shard));
  }
  if (!lacking.empty())
    throw Error("{}: the files lack tensors that it names: {}", path,
                listNames(lacking));
  if (!unnamed.empty())
    throw Error("{}: the files have tensors that it does not name: {}", path,
                listNames(unnamed));
  return files;
}

} // namespace ppopt::train
