//===- gpu_choice.h - Which GPU each rank has -----------------------------===//

#ifndef PPOPT_RUNTIME_APP_GPU_CHOICE_H
#define PPOPT_RUNTIME_APP_GPU_CHOICE_H

#include "comm/transport.h"
#include "device/device_options.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// What a rank sees: its machine, and the identities of the GPUs that its
/// process is shown, by their numbers.
struct SeenGpus {
  std::string host;
  std::vector<std::string> gpus;
};

/// Returns the GPU of each rank: of those that it sees, the first that the
/// fewest ranks before it have. So where all ranks see all GPUs, the n-th rank
/// of a machine has the n-th GPU; where a launcher shows each rank its own,
/// each has that. GPUs of different machines are different.
std::vector<device::GpuChoice> chooseGpus(const std::vector<SeenGpus> &ranks);

/// Returns the GPU of this rank, which sees `gpus`. Called by all ranks before
/// their channels open. `transport` is null if there is one rank. Throws Error
/// on rank 0 if two ranks have the same GPU, unless they may `share` it.
device::GpuChoice chooseGpu(comm::Transport *transport,
                            const std::vector<std::string> &gpus, bool share);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_GPU_CHOICE_H
