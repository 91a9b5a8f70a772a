//===- mpi_module.h - MPI, loaded only under its launcher
//-------------------===//
//
// Executables do not link MPI. Under an MPI launcher they load libppopt_mpi.so,
// which does; without a launcher nothing of MPI is touched.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_MPI_MODULE_H
#define PPOPT_COMM_MPI_MODULE_H

#include "comm/launcher.h"
#include "comm/transport.h"

#include <functional>
#include <string>
#include <vector>

namespace ppopt::comm {

/// MPI could not be loaded or started; what() is one clear line.
class MpiUnavailable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Where the module is looked for unless PPOPT_MPI_MODULE is set.
std::vector<std::string> mpiModuleFolders();

/// Makes this process one rank of the MPI job and runs `body` in it, whose
/// result is the exit status: 0 on all ranks or on none. Returns when all ranks
/// are through; with another status than 0 the process ends here instead,
/// without MPI's own end, which needs a launcher that answers. If body throws,
/// its reason is printed and the whole job is ended (the call does not return);
/// so it is where another rank's process ends or waits are too long (watch.h).
/// Throws MpiUnavailable when the module or MPI cannot be loaded, or when MPI
/// counts fewer ranks than the launcher: never runs as "rank 0 of 1" of
/// several. Call it once, on the main thread.
///
/// The module is PPOPT_MPI_MODULE if set, else libppopt_mpi.so of the
/// executable's RUNPATH (where ppopt was installed), else that beside the
/// executable. One that others than root and this user can change, or whose
/// folder they can, is refused.
void runMpiRank(const Launcher &launcher,
                const std::function<int(Transport &)> &body);

} // namespace ppopt::comm

#endif // PPOPT_COMM_MPI_MODULE_H
