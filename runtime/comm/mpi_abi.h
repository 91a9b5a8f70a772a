//===- mpi_abi.h - The ABI of libppopt_mpi.so -----------------------------===//

#ifndef PPOPT_COMM_MPI_ABI_H
#define PPOPT_COMM_MPI_ABI_H

#include "comm/transport.h"

/// The version of the classes in transport.h as the module sees them. Increment
/// it with every change to their members or virtual functions.
#define PPOPT_MPI_MODULE_ABI 3

extern "C" {

/// Returns the module's own PPOPT_MPI_MODULE_ABI.
int ppopt_mpi_abi();

/// Starts MPI. On failure returns null and one line in `error`. With
/// `synchronousSends`, a send completes only when its receive is posted.
/// `activity` must outlive the transport.
ppopt::comm::Transport *ppopt_mpi_open(bool synchronousSends,
                                       ppopt::comm::Activity *activity,
                                       char *error, size_t errorBytes);

/// Finalizes MPI. All ranks must be done, with no transfer in flight.
void ppopt_mpi_close(ppopt::comm::Transport *transport);
}

#endif // PPOPT_COMM_MPI_ABI_H
