//===- sampler.h - Fills a rank's rows of a batch with samples ------------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLER_H
#define PPOPT_RUNTIME_DATA_SAMPLER_H

#include "data/sample_order.h"
#include "data/sample_reader.h"
#include "executor/buffers.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ppopt::train {

/// Fills batches with a reader's samples, in a SampleOrder.
class Sampler {
public:
  Sampler(const runtime::Program &program,
          std::shared_ptr<const SampleReader> reader,
          std::unique_ptr<const SampleOrder> order);

  const SampleReader &reader() const { return *reader_; }

  /// Returns where the floats of a row of a global batch are (see
  /// SampleReader).
  std::string locate(int64_t batch, int64_t row) const {
    return reader_->locate(
        order_->at(static_cast<uint64_t>(batch * plan_.batch + row)));
  }

  /// Writes the rows of global batch `batch` of the rank with this coordinate
  /// on dp into these inputs.
  void fill(int64_t batch, int64_t batchPart,
            const std::vector<runtime::HostBuffer> &inputs) const;

private:
  runtime::Plan plan_;
  std::shared_ptr<const SampleReader> reader_;
  std::unique_ptr<const SampleOrder> order_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLER_H
