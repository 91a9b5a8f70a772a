//===- sample_inputs.cpp - Range checks and names of a program's inputs ---===//

#include "data/sample_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ppopt::train {

using runtime::ElementType;
using runtime::IndexedPart;
using runtime::Input;

namespace {

bool isWhole(const Input &input, const IndexedPart &part) {
  for (size_t dim = 0; dim < part.end.size(); ++dim)
    if (part.begin[dim] != 0 || part.end[dim] != input.shape[dim + 1])
      return false;
  return true;
}

template <typename Int>
std::optional<BadId> findIn(const Input &input, const IndexedPart &part,
                            const Int *row) {
  std::vector<int64_t> index(part.begin);
  while (true) {
    int64_t element = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      element = element * input.shape[dim + 1] + index[dim];
    // The last dimension is contiguous in memory.
    int64_t run = index.empty() ? 1 : part.end.back() - part.begin.back();
    for (int64_t i = element; i < element + run; ++i)
      if (!part.range.holds(row[i]))
        return BadId{i, row[i], part.range};
    size_t dim = index.empty() ? 0 : index.size() - 1;
    while (dim > 0 && ++index[dim - 1] == part.end[dim - 1]) {
      index[dim - 1] = part.begin[dim - 1];
      --dim;
    }
    if (dim == 0)
      return std::nullopt;
  }
}

} // namespace

TokenRange rangeOf(const Input &input) {
  TokenRange range;
  if (input.parts.size() != 1 || !isWhole(input, input.parts.front()))
    return range;
  const runtime::IdRange &only = input.parts.front().range;
  range.bounded = true;
  range.size = only.size;
  range.hasIgnored = only.ignored.has_value();
  range.ignored = only.ignored.value_or(0);
  return range;
}

std::optional<BadId> findBadId(const Input &input, const char *row) {
  for (const IndexedPart &part : input.parts) {
    std::optional<BadId> bad =
        input.type == ElementType::i32
            ? findIn(input, part, reinterpret_cast<const int32_t *>(row))
            : findIn(input, part, reinterpret_cast<const int64_t *>(row));
    if (bad)
      return bad;
  }
  return std::nullopt;
}

std::string describeBadId(const BadId &bad) {
  return fmt::format(
      "{} is outside the model's range of {} (0 to {}){}", bad.value,
      bad.range.size, bad.range.size - 1,
      bad.range.source.empty() ? "" : fmt::format(", of {}", bad.range.source));
}

int64_t rowElements(const Input &input) {
  int64_t elements = 1;
  for (size_t i = 1; i < input.shape.size(); ++i)
    elements *= input.shape[i];
  return elements;
}

std::string describeInput(const Input &input) {
  return fmt::format("'{}' is {} [{}]", input.name, spell(input.type),
                     fmt::join(input.shape, ", "));
}

} // namespace ppopt::train
