//===- checkpoint_manifest.h - The manifest of a checkpoint ---------------===//
//
// manifest.json of a checkpoint's folder; docs/checkpoints.md lists the fields.
// Its text is canonical, and a checksum covers every byte of it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H

#include "data/sample_file.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {

inline constexpr const char *kManifestName = "manifest.json";
/// The version of the format. A manifest of another version is rejected.
inline constexpr int64_t kManifestVersion = 1;

/// The samples that a run trains on.
struct SampleRecord {
  std::string order;  ///< "shuffled", "sequential", "none"
  std::string format; ///< "bytes", "uint16", "tensors", "none"
  int64_t batch = 0;  ///< samples per step
  uint64_t count = 0; ///< number of samples
  std::vector<SampleFile> files;
};

struct ManifestFile {
  std::string name; ///< in the checkpoint's folder
  uint64_t bytes;
  std::string checksum;
};

/// The best evaluation so far.
struct BestRecord {
  std::string of;              ///< "loss:min", "accuracy:max"
  std::optional<double> value; ///< finite; none yet, if no number was
  int64_t step = 0;            ///< the steps before that evaluation
  int64_t since = 0;           ///< evaluations since
};

struct Manifest {
  std::string model, modelHash;
  int64_t step = 0;    ///< completed steps
  int64_t updates = 0; ///< optimizer updates in these steps
  /// The flags that affect the numbers, by name without dashes. The values are
  /// text that parses to the same number.
  std::map<std::string, std::string> flags;
  /// Whether the run kept averages of the parameters (--ema).
  bool hasAverages() const { return flags.count("ema") > 0; }
  SampleRecord samples;
  std::map<std::string, std::string> plan; ///< for people to read
  std::vector<ManifestFile> files;
  /// Over the evaluations before that of `step`.
  std::optional<BestRecord> best;
};

std::string printManifest(const Manifest &manifest);

/// Parses `text`, read from the file `path`. Throws Error that starts with the
/// path.
Manifest parseManifest(const std::string &path, const std::string &text);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_MANIFEST_H
