//===- launch.h - The mpirun command line that we print -------------------===//
//
// The only place that knows how to start ranks as processes. `ppopt compile`
// and the executable's messages use it; a test checks that the documentation
// agrees.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LAUNCH_H
#define PPOPT_LAUNCH_H

namespace ppopt {

/// Open MPI refuses to run as root unless both are set.
constexpr const char *launchAsRoot =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";

/// Without `--oversubscribe`, mpirun refuses more ranks than cores. Without
/// `--bind-to none`, it pins one or two ranks to one core each. On SIGTERM or
/// Ctrl-C, Open MPI 4.1 waits `odls_base_sigkill_timeout` seconds before it
/// passes SIGTERM on, and as long again before SIGKILL. The default of one
/// second leaves no time to finish a step and to save (docs/faults.md).
constexpr const char *launchOversubscribed = "--oversubscribe";
constexpr const char *launchFlags =
    "--bind-to none --mca odls_base_sigkill_timeout 10";

/// For a job on one machine: messages use shared memory only. Otherwise Open
/// MPI listens on every address of the machine, which other users can reach
/// (docs/running.md).
constexpr const char *launchOnOneMachine = "--mca btl self,vader";

} // namespace ppopt

#endif // PPOPT_LAUNCH_H
