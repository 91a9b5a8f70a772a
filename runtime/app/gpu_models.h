//===- gpu_models.h - The models of a job's GPUs --------------------------===//

#ifndef PPOPT_RUNTIME_APP_GPU_MODELS_H
#define PPOPT_RUNTIME_APP_GPU_MODELS_H

#include <string>

struct ppopt_rank;

namespace ppopt::train {

/// Returns a line about the job's GPUs if they are not all of one model, else
/// an empty text. The slowest sets the pace, and bits may differ between
/// models. Called by all ranks; the result is rank 0's.
std::string describeGpuModels(const ppopt_rank &rank);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_GPU_MODELS_H
