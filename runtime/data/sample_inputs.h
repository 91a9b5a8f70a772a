//===- sample_inputs.h - What readers ask of a program's inputs -----------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H
#define PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H

#include "data/token_files.h"
#include "program/program.h"

#include <optional>
#include <string>

namespace ppopt::train {

/// What all of the input's values must be, if that is one range; then nothing
/// else is to be checked.
TokenRange rangeOf(const runtime::Input &input);

/// A value of a row that is out of the range of a part of the input.
struct BadId {
  int64_t element, value;
  const runtime::IdRange &range;
};

/// The first one. `row`: the elements of one sample, of the input's type.
std::optional<BadId> findBadId(const runtime::Input &input, const char *row);

/// ": 'user' sample 3 element 1: 12 is outside ..." is what the caller begins.
std::string describeBadId(const BadId &bad);

/// Of one sample.
int64_t rowElements(const runtime::Input &input);

/// "'tokens' is i32 [12, 8]", for messages.
std::string describeInput(const runtime::Input &input);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_INPUTS_H
