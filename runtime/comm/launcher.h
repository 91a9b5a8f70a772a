//===- launcher.h - Detects who started this process ----------------------===//
//
// The only place that reads the environment variables of launchers.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_LAUNCHER_H
#define PPOPT_COMM_LAUNCHER_H

#include <optional>
#include <string>

namespace ppopt::comm {

/// What the environment says about the launcher that started this process.
struct Launcher {
  std::string name;     ///< the command that users know: "srun"
  std::string variable; ///< the environment variable that identified it
  /// Whether its processes find each other through MPI. Otherwise there are
  /// several processes, each on its own.
  bool mpi;
  std::optional<int> ranks; ///< lower bound of its processes, if known
  std::string counted;      ///< the variable that gave the number
  /// Without MPI: returns the command prefix that starts one process with this
  /// many cores.
  std::string startOne(int cores) const;

  const char *one; ///< without MPI: startOne, with {} for the cores
};

/// Returns nullopt if this process is the only one: started by hand, by a batch
/// script, or alone by a launcher without MPI.
std::optional<Launcher> detectLauncher();

/// Returns whether ranks that are started from here may be on several machines.
bool onSeveralMachines();

} // namespace ppopt::comm

#endif // PPOPT_COMM_LAUNCHER_H
