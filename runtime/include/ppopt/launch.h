//===- launch.h - The mpirun line that we print ---------------------------===//
//
// The one place that knows how ranks are started as processes: for
// `ppopt compile`, for the executable's messages and, held to it by a test, for
// the documentation.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LAUNCH_H
#define PPOPT_LAUNCH_H

namespace ppopt {

/// Open MPI refuses to start as root without both.
constexpr const char *launchAsRoot =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";

/// More ranks than cores are refused without the first; one or two ranks are
/// pinned to a core each without the second. The third is a number of seconds:
/// Open MPI 4.1 that is asked to end (SIGTERM, Ctrl-C) waits so long before it
/// passes SIGTERM on, and as long again before SIGKILL. The default of one
/// second leaves no time to finish a step and to save (docs/faults.md).
constexpr const char *launchOversubscribed = "--oversubscribe";
constexpr const char *launchFlags =
    "--bind-to none --mca odls_base_sigkill_timeout 10";

/// For one machine: messages go through shared memory only. Otherwise Open MPI
/// listens on every address of the machine, for other users too
/// (docs/running.md).
constexpr const char *launchOnOneMachine = "--mca btl self,vader";

} // namespace ppopt

#endif // PPOPT_LAUNCH_H
