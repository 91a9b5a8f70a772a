//===- describe.h - What was compiled, for people -------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_DESCRIBE_H
#define PPOPT_RUNTIME_OBSERVE_DESCRIBE_H

#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Several lines: model, plan, inputs, parameters, memory, work of a step, and
/// how to start it. `arguments` as in argv; only the executable's name is used.
std::string describeProgram(const runtime::Program &program,
                            const std::vector<std::string> &arguments);

/// Three lines: the model, the compiler and its command line, the model's hash.
std::string describeVersion(const runtime::Program &program);

/// "dp=2,pp=2".
std::string describeMesh(const runtime::Plan &plan);

/// "1.5 GiB", "512 bytes".
std::string describeBytes(int64_t bytes);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_DESCRIBE_H
