//===- checkpoint_manifest.h - What a checkpoint says of itself -----------===//
//
// manifest.json of a checkpoint's folder: docs/checkpoints.md has the fields.
// Its text is canonical, and a checksum covers every byte of it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H

#include "data/sample_file.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

inline constexpr const char *kManifestName = "manifest.json";
/// Of the format. A manifest of another one is refused.
inline constexpr int64_t kManifestVersion = 1;

/// The samples that a run trains on.
struct SampleRecord {
  std::string order;  ///< "shuffled", "sequential", "none"
  std::string format; ///< "bytes", "uint16", "tensors", "none"
  int64_t batch = 0;  ///< samples of a step
  uint64_t count = 0; ///< of samples
  std::vector<SampleFile> files;
};

struct ManifestFile {
  std::string name; ///< in the checkpoint's folder
  uint64_t bytes;
  std::string checksum;
};

struct Manifest {
  std::string model, modelHash;
  int64_t step = 0;    ///< steps that were done
  int64_t updates = 0; ///< of the optimizer in these steps
  /// What changes the numbers, by the flag's name without its dashes, as text
  /// that reads back as the same number.
  std::map<std::string, std::string> flags;
  SampleRecord samples;
  std::map<std::string, std::string> plan; ///< for people
  std::vector<ManifestFile> files;
};

std::string printManifest(const Manifest &manifest);

/// Reads the text of the file `path`. Throws Error that starts with the path.
Manifest parseManifest(const std::string &path, const std::string &text);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H
