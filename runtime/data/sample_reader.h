//===- sample_reader.h - From a sample's number to rows of inputs ---------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_READER_H
#define PPOPT_RUNTIME_DATA_SAMPLE_READER_H

#include "data/token_files.h"
#include "executor/buffers.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ppopt::train {

/// A set of samples. Shared by the ranks of a process. Any thread may call
/// `read`.
class SampleReader {
public:
  virtual ~SampleReader() = default;
  virtual uint64_t count() const = 0;
  /// The plural noun for samples in messages: "windows", "samples".
  virtual const char *unit() const = 0;
  /// Returns one line for the log that says where the samples come from.
  virtual std::string describe() const = 0;
  /// Returns the files that samples are read from, in sample order.
  virtual std::vector<SampleFile> files() const = 0;
  /// Returns where the floats of a sample are, in words: "row 5 of b.st"; empty
  /// if it has none.
  virtual std::string locate(uint64_t sample) const { return ""; }
  /// Writes sample `sample` into row `row` (of the rank) of these inputs.
  /// Throws Error for a value outside an id range of the model, and for a file
  /// that has changed since it was opened. Allocates nothing otherwise.
  virtual void read(uint64_t sample, int64_t row,
                    const std::vector<runtime::HostBuffer> &inputs) const = 0;
};

/// Returns a reader of windows of consecutive tokens. Each input holds the
/// window from the input's shift on. Windows are spaced by the length of the
/// longest input. Throws Error if an input is not an integer tensor of rank 2.
std::unique_ptr<SampleReader>
makeTokenReader(const runtime::Program &program,
                const std::vector<std::string> &paths, TokenFormat format,
                const std::string &flag);

/// What the user is told of the tensors in files.
struct TensorNotes {
  std::set<std::string> others;    ///< not read: not inputs
  std::set<std::string> converted; ///< inputs that some file stores as U8
};

/// Returns a reader of the rows of named tensors, one per input, in safetensors
/// files (in a folder, its *.safetensors files). Throws Error if a tensor is
/// missing, or has another type or shape. A tensor of U8 is converted to the
/// type of its input, unless that is i1. Tensors that are not inputs are not
/// read.
std::unique_ptr<SampleReader>
makeTensorReader(const runtime::Program &program,
                 const std::vector<std::string> &paths, const std::string &flag,
                 TensorNotes *notes = nullptr);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_READER_H
