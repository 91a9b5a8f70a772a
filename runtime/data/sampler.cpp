//===- sampler.cpp - Fills a rank's rows of a batch with samples ----------===//

#include "data/sampler.h"

namespace ppopt::train {

using runtime::HostBuffer;
using runtime::Program;

Sampler::Sampler(const Program &program,
                 std::shared_ptr<const SampleReader> reader,
                 std::unique_ptr<const SampleOrder> order)
    : plan_(program.plan), reader_(std::move(reader)),
      order_(std::move(order)) {}

void Sampler::fill(int64_t batch, int64_t batchPart,
                   const std::vector<HostBuffer> &inputs) const {
  if (inputs.empty())
    return;
  int64_t first = batch * plan_.batch, rows = plan_.rowsOfPart();
  for (int64_t row = 0; row < rows; ++row)
    reader_->read(order_->at(static_cast<uint64_t>(
                      first + plan_.rowOfBatch(batchPart, row))),
                  row, inputs);
}

} // namespace ppopt::train
