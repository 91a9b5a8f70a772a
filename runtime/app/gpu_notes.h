//===- gpu_notes.h - What the log says of a job's GPUs --------------------===//

#ifndef PPOPT_RUNTIME_APP_GPU_NOTES_H
#define PPOPT_RUNTIME_APP_GPU_NOTES_H

#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// Returns lines about the job's GPUs: that they are not all of one model (the
/// slowest sets the pace, and bits may differ between models), and what each
/// does in another way than it should (Device::fallbacks). Called by all ranks;
/// the result is rank 0's.
std::vector<std::string> collectGpuNotes(const ppopt_rank &rank);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_GPU_NOTES_H
