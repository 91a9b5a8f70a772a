//===- sampler.cpp - Fills a rank's rows of a batch with samples ----------===//

#include "data/sampler.h"

namespace ppopt::train {

using runtime::HostBuffer;
using runtime::Program;

Sampler::Sampler(const Program &program,
                 std::shared_ptr<const SampleReader> reader,
                 std::unique_ptr<const SampleOrder> order)
    : batchRows_(program.plan.batch), rankRows_(program.plan.rowsOfPart()),
      reader_(std::move(reader)), order_(std::move(order)) {}

void Sampler::fill(int64_t batch, int64_t batchPart,
                   const std::vector<HostBuffer> &inputs) const {
  if (inputs.empty())
    return;
  int64_t first = batch * batchRows_ + batchPart * rankRows_;
  for (int64_t row = 0; row < rankRows_; ++row)
    reader_->read(order_->at(static_cast<uint64_t>(first + row)), row, inputs);
}

} // namespace ppopt::train
