//===- records.h - What is reported of each kernel ------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_RECORDS_H
#define PPOPT_TEST_GPU_KERNELS_RECORDS_H

#include "instruction_run.h"
#include "launch_run.h"

#include <nlohmann/json.hpp>

namespace ppopt::gpu {

/// A line of the JSON file. README.md lists the fields.
using Record = nlohmann::ordered_json;

/// `gpu`: what the device says of itself, to find its predicted time.
Record makeRecord(const Launch &launch, const LaunchFindings &findings,
                  const std::string &gpu);
Record makeRecord(const Instruction &instruction,
                  const InstructionFindings &findings);
/// Of one that did not end as it should, or was not run.
Record makeFailure(const std::string &name, const std::string &form,
                   const std::string &what, bool wasRun);

/// Returns a record as a line of text, and what is wrong below it.
std::string spellRecord(const Record &record);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_RECORDS_H
