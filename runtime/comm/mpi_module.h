//===- mpi_module.h - MPI, loaded only under its launcher -----------------===//
//
// Executables do not link MPI. Under an MPI launcher they load libppopt_mpi.so,
// which does. Without a launcher they touch nothing of MPI.
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

/// MPI could not be loaded or started; what() is one line that says why.
class MpiUnavailable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Returns the folders that are searched for the module unless PPOPT_MPI_MODULE
/// is set.
std::vector<std::string> mpiModuleFolders();

/// Makes this process one rank of the MPI job and runs `body` in it. `body`
/// returns the exit status: 0 on all ranks or on none. Returns when all ranks
/// are done. With a nonzero status it ends the process instead, without
/// MPI_Finalize, which needs a launcher that answers. If `body` throws, prints
/// its reason and ends the whole job. Also ends the job if another rank's
/// process ends or a wait takes too long (watch.h). Throws MpiUnavailable if
/// the module or MPI cannot be loaded, or if MPI has fewer ranks than the
/// launcher: it never runs as "rank 0 of 1" of several. Call it once, on the
/// main thread.
///
/// The module is PPOPT_MPI_MODULE if set, else libppopt_mpi.so in the
/// executable's RUNPATH (where ppopt was installed), else next to the
/// executable. A module is rejected if users other than root and this user can
/// change it or its folder.
void runMpiRank(const Launcher &launcher,
                const std::function<int(Transport &)> &body);

} // namespace ppopt::comm

#endif // PPOPT_COMM_MPI_MODULE_H
