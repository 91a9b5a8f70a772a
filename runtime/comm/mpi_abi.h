//===- mpi_abi.h - What an executable and libppopt_mpi.so know of each other
//-===//

#ifndef PPOPT_COMM_MPI_ABI_H
#define PPOPT_COMM_MPI_ABI_H

#include "comm/transport.h"

/// Version of the classes in transport.h as the module sees them. Raise it with
/// every change of their members or virtual functions.
#define PPOPT_MPI_MODULE_ABI 2

extern "C" {

/// The module's own PPOPT_MPI_MODULE_ABI.
int ppopt_mpi_abi();

/// Starts MPI. Null, and one line in `error`, where that fails.
/// `synchronousSends`: a send completes only when its receive is posted.
/// `activity` must outlive the transport.
ppopt::comm::Transport *ppopt_mpi_open(bool synchronousSends,
                                       ppopt::comm::Activity *activity,
                                       char *error, size_t errorBytes);

/// Ends MPI. All ranks are through and have no transfer in flight.
void ppopt_mpi_close(ppopt::comm::Transport *transport);
}

#endif // PPOPT_COMM_MPI_ABI_H
