//===- printed_output.h - Output to the terminal --------------------------===//

#ifndef PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H
#define PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H

#include <cstdio>
#include <string>
#include <string_view>

namespace ppopt::train {

/// Prints to `stream` and flushes. On failure (for example a full disk), warns
/// once and continues: a run is worth more than its output. A closed pipe is
/// not a failure.
void printOutput(std::string_view text, std::FILE *stream = stdout);

/// Returns why printed output was lost; empty if none was.
std::string lostOutput();

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H
