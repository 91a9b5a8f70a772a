//===- printed_output.h - What a program prints ---------------------------===//

#ifndef PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H
#define PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H

#include <cstdio>
#include <string>
#include <string_view>

namespace ppopt::train {

/// Prints to standard output, or error, at once. Where that fails (a full
/// disk), a warning says so once, and all goes on: a run is worth more than its
/// lines. A pipe that nobody reads any more is no failure.
void printOutput(std::string_view text, std::FILE *stream = stdout);

/// Why something that was printed is lost; empty where nothing is.
std::string lostOutput();

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_PRINTED_OUTPUT_H
