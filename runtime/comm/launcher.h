//===- launcher.h - Who started this process, and how many ----------------===//
//
// The one place that reads the environment variables of launchers.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_LAUNCHER_H
#define PPOPT_COMM_LAUNCHER_H

#include <optional>
#include <string>

namespace ppopt::comm {

/// What the environment says of the launcher that started this process.
struct Launcher {
  std::string name;     ///< as its users call it: "srun"
  std::string variable; ///< the environment variable that gave it away
  /// Whether its processes find each other through MPI. Else there are several
  /// of them, and each is alone.
  bool mpi;
  std::optional<int> ranks; ///< how many it started at least, if known
  std::string counted;      ///< the variable that told how many
  /// Not mpi: what starts one process with so many cores.
  std::string startOne(int cores) const;

  const char *one; ///< not mpi: startOne, with {} for the cores
};

/// Nothing where this process is the only one: started by hand, by a batch
/// script, or alone by a launcher without MPI.
std::optional<Launcher> detectLauncher();

/// Whether ranks that are started from here may lie on several machines.
bool onSeveralMachines();

} // namespace ppopt::comm

#endif // PPOPT_COMM_LAUNCHER_H
