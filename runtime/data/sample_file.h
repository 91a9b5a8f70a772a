//===- sample_file.h - A file of training data ----------------------------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_FILE_H
#define PPOPT_RUNTIME_DATA_SAMPLE_FILE_H

#include <cstdint>
#include <string>

namespace ppopt::train {

/// The description of a data file that checkpoints store.
struct SampleFile {
  std::string path;
  uint64_t bytes;
  int64_t written; ///< time of the last write, in ns since 1970
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_FILE_H
