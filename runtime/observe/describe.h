//===- describe.h - Prints a program for people ---------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_DESCRIBE_H
#define PPOPT_RUNTIME_OBSERVE_DESCRIBE_H

#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns several lines: model, plan, inputs, parameters, memory, work per
/// step, and the command that starts it. `outputs` are those of the model.
/// `arguments` is as in argv; only the executable's name is used.
std::string describeProgram(const runtime::Program &program,
                            const std::vector<runtime::Output> &outputs,
                            const std::vector<std::string> &arguments);

/// Returns three lines: the model, the compiler with its command line, and the
/// model's hash.
std::string describeVersion(const runtime::Program &program);

/// Returns "dp=2,pp=2".
std::string describeMesh(const runtime::Plan &plan);

/// Returns "1.5 GiB", "512 bytes".
std::string describeBytes(int64_t bytes);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_DESCRIBE_H
