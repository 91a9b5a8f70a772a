//===- sample_inputs.h - What readers ask of a program's inputs -----------===//

#ifndef PPOPT_TRAIN_SAMPLE_INPUTS_H
#define PPOPT_TRAIN_SAMPLE_INPUTS_H

#include "core/program.h"
#include "train/token_files.h"

#include <string>

namespace ppopt::train {

TokenRange rangeOf(const runtime::Input &input);

/// Of one sample.
int64_t rowElements(const runtime::Input &input);

/// "'tokens' is i32 [12, 8]", for messages.
std::string describeInput(const runtime::Input &input);

} // namespace ppopt::train

#endif // PPOPT_TRAIN_SAMPLE_INPUTS_H
