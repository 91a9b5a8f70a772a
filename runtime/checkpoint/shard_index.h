//===- shard_index.h - Hugging Face's folders of safetensors files --------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_SHARD_INDEX_H
#define PPOPT_RUNTIME_CHECKPOINT_SHARD_INDEX_H

#include <string>
#include <vector>

namespace ppopt::train {

constexpr const char *kShardIndexName = "model.safetensors.index.json";
constexpr const char *kSingleFileName = "model.safetensors";

/// Returns the files that the folder's index names, sorted. Throws Error,
/// with one line that begins with the index's path, if it is no such index, if
/// a file is missing or not in the folder, or if the files have other tensors
/// than the index says, or in other files.
std::vector<std::string> filesOfIndex(const std::string &folder);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_SHARD_INDEX_H
