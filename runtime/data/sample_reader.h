//===- sample_reader.h - From a sample's number to rows of inputs ---------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_READER_H
#define PPOPT_RUNTIME_DATA_SAMPLE_READER_H

#include "data/token_files.h"
#include "executor/buffers.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ppopt::train {

/// A set of samples. Shared by the ranks of a process; `read` may be called by
/// any thread.
class SampleReader {
public:
  virtual ~SampleReader() = default;
  virtual uint64_t count() const = 0;
  /// What a sample is called in messages: "windows", "samples".
  virtual const char *unit() const = 0;
  /// One line for the log: where the samples come from.
  virtual std::string describe() const = 0;
  /// Those that samples are read from, in the order of the samples.
  virtual std::vector<SampleFile> files() const = 0;
  /// Writes sample `sample` into row `row` (of the rank) of these inputs.
  /// Throws Error for a value that the model cannot look up, and for a file
  /// that is not what it was when it was opened; allocates nothing else.
  virtual void read(uint64_t sample, int64_t row,
                    const std::vector<runtime::Buffer> &inputs) const = 0;
};

/// Windows of consecutive tokens; every input holds the window from its shift
/// on, and the next window begins as many tokens later as the longest input
/// takes. Throws Error where an input is not an integer tensor of rank 2.
std::unique_ptr<SampleReader>
makeTokenReader(const runtime::Program &program,
                const std::vector<std::string> &paths, TokenFormat format,
                const std::string &flag);

/// Rows of named tensors, one for each input, in safetensors files (in folders
/// those that are named so). Throws Error where a tensor is missing, not an
/// input, or of another type or shape.
std::unique_ptr<SampleReader>
makeTensorReader(const runtime::Program &program,
                 const std::vector<std::string> &paths,
                 const std::string &flag);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_READER_H
