//===- sampler.h - Filling a rank's inputs --------------------------------===//
//
// A reader turns a sample's number into one row of every input of the program;
// a sampler fills the rows of the global batch that belong to a rank.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TRAIN_SAMPLER_H
#define PPOPT_TRAIN_SAMPLER_H

#include "core/buffers.h"
#include "train/safetensors.h"
#include "train/sample_file.h"
#include "train/sample_order.h"
#include "train/token_files.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ppopt::train {

/// A set of samples. Shared by the ranks of a process; reading changes nothing.
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
  /// Throws Error for a value that the model cannot look up; allocates nothing
  /// else.
  virtual void read(uint64_t sample, int64_t row,
                    const std::vector<runtime::Buffer> &inputs) const = 0;
};

/// Windows of consecutive tokens; every input holds the window from its shift
/// on. Throws Error where an input is not an integer tensor of rank 2.
std::unique_ptr<SampleReader> makeTokenReader(const runtime::Program &program,
                                              const std::string &path,
                                              TokenFormat format,
                                              const std::string &flag);

/// Rows of named tensors in a safetensors file, one for each input. Throws
/// Error where a tensor is missing, not an input, or of another type or shape.
std::unique_ptr<SampleReader> makeTensorReader(const runtime::Program &program,
                                               const std::string &path,
                                               const std::string &flag);

/// Fills batches from a reader in an order.
class Sampler {
public:
  Sampler(const runtime::Program &program,
          std::shared_ptr<const SampleReader> reader,
          std::unique_ptr<const SampleOrder> order);

  const SampleReader &reader() const { return *reader_; }

  /// Writes the rows of global batch `batch` that belong to the rank with this
  /// coordinate on dp into these inputs.
  void fill(int64_t batch, int64_t dpCoordinate,
            const std::vector<runtime::Buffer> &inputs) const;

private:
  int64_t batchRows_, rankRows_;
  std::shared_ptr<const SampleReader> reader_;
  std::unique_ptr<const SampleOrder> order_;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_SAMPLER_H
