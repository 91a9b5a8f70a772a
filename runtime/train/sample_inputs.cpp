//===- sample_inputs.cpp - What readers ask of a program's inputs ---------===//

#include "train/sample_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ppopt::train {

using runtime::Input;

TokenRange rangeOf(const Input &input) {
  TokenRange range;
  range.bounded = input.range.has_value();
  range.size = input.range.value_or(0);
  range.hasIgnored = input.ignoreIndex.has_value();
  range.ignored = input.ignoreIndex.value_or(0);
  return range;
}

int64_t rowElements(const Input &input) {
  int64_t elements = 1;
  for (size_t i = 1; i < input.shape.size(); ++i)
    elements *= input.shape[i];
  return elements;
}

std::string describeInput(const Input &input) {
  return fmt::format("'{}' is {} [{}]", input.name, spelling(input.type),
                     fmt::join(input.shape, ", "));
}

} // namespace ppopt::train
