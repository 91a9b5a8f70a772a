//===- sample_inputs.h - Range checks and names of a program's inputs -----===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H
#define PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H

#include "data/token_files.h"
#include "program/program.h"

#include <optional>
#include <string>

namespace ppopt::train {

/// Returns the range of all values of the input, if there is a single one. In
/// that case it is the only check that the values need.
TokenRange rangeOf(const runtime::Input &input);

/// A value of a row that is outside the id range of its part of the input.
struct BadId {
  int64_t element, value;
  const runtime::IdRange &range;
};

/// Returns the first bad id of a row, if any. `row` points to the elements of
/// one sample, in the input's type.
std::optional<BadId> findBadId(const runtime::Input &input, const char *row);

/// Returns "12 is outside the model's range of 10 (0 to 9)", for messages.
std::string describeBadId(const BadId &bad);

/// Returns the number of elements of one sample.
int64_t rowElements(const runtime::Input &input);

/// Returns "'tokens' is i32 [12, 8]", for messages.
std::string describeInput(const runtime::Input &input);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H
