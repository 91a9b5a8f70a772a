//===- launcher.cpp - Detects who started this process --------------------===//

#include "comm/launcher.h"

#include <climits>
#include <cstdlib>
#include <fmt/format.h>

namespace ppopt::comm {
namespace {

/// The variables that a launcher sets for the processes that it starts.
struct Variables {
  const char *launcher;
  const char *present; ///< set by this launcher
  const char *ranks;   ///< the number of processes that it started
  const char *here;    ///< the number of them on this machine
  /// The command that starts one process, with {} for its cores. Null: the
  /// launcher supports MPI, and its processes load it.
  const char *one;
};

/// A process may have the variables of several launchers. Under mpirun within
/// an srun step, srun's variables count mpirun's daemons. Under srun with PMIx,
/// PMIx's variables have no number of processes. The first match wins.
constexpr Variables table[] = {
    // Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; Hydra; MVAPICH
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"mpiexec", "PMI_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", nullptr},
    {"mpiexec", "PMI_RANK", nullptr, nullptr, nullptr},
    {"mpiexec", "MPI_LOCALNRANKS", nullptr, nullptr, nullptr},
    {"mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_SIZE", nullptr},
    // prun, srun --mpi=pmix, jsrun
    {"PMIx", "PMIX_RANK", nullptr, nullptr, nullptr},
    // Only job steps have SLURM_STEP_NUM_TASKS; a batch script does not.
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS", nullptr,
     "srun --ntasks=1 --cpus-per-task={} "},
    {"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_SIZE", nullptr,
     "jsrun --nrs=1 --tasks_per_rs=1 --cpu_per_rs={} "},
    {"flux", "FLUX_JOB_SIZE", "FLUX_JOB_SIZE", nullptr,
     "flux run --ntasks=1 --cores-per-task={} "},
    {"aprun", "ALPS_APP_PE", nullptr, nullptr, "aprun -n 1 -d {} "},
    // torchrun and compatible launchers: accelerate, deepspeed, Kubeflow
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", ""},
};

/// Returns the variable's value if it is an integer of at least `least`.
std::optional<int> numberIn(const char *variable, int least) {
  const char *text = variable ? std::getenv(variable) : nullptr;
  if (!text || !*text)
    return std::nullopt;
  char *end = nullptr;
  long number = std::strtol(text, &end, 10);
  if (*end || number < least || number >= INT_MAX)
    return std::nullopt;
  return static_cast<int>(number);
}

} // namespace

std::string Launcher::startOne(int cores) const {
  return fmt::format(fmt::runtime(one), cores);
}

std::optional<Launcher> detectLauncher() {
  std::optional<Launcher> found;
  for (const Variables &row : table) {
    if (!std::getenv(row.present))
      continue;
    const char *counted = row.ranks ? row.ranks : row.present;
    std::optional<int> ranks = numberIn(row.ranks, 1);
    // aprun gives only a rank: at least that many processes precede it.
    if (!row.ranks && row.one)
      if (std::optional<int> rank = numberIn(row.present, 0))
        ranks = *rank + 1;
    if (!found && (!row.one || ranks.value_or(1) > 1))
      found = Launcher{row.launcher, row.present, !row.one,
                       std::nullopt, counted,     row.one};
    if (found && !found->ranks && ranks) {
      found->ranks = ranks;
      found->counted = counted;
    }
  }
  return found;
}

bool onSeveralMachines() {
  if (numberIn("SLURM_JOB_NUM_NODES", 2))
    return true;
  for (const Variables &row : table) {
    std::optional<int> here = numberIn(row.here, 1);
    std::optional<int> ranks = numberIn(row.ranks, 1);
    if (here && ranks && *here < *ranks)
      return true;
  }
  return false;
}

} // namespace ppopt::comm
