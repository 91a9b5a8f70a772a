"""How tests start ranks as processes: lit's %mpirun, and all harnesses. The flags are those of runtime/include/ppopt/launch.h,
without the time to save, for which a rank that fails would be waited for."""

import os
import re

with open(os.path.join(os.path.dirname(__file__), "../../runtime/include/ppopt/launch.h")) as file:
    LAUNCH = dict(re.findall(r'\*(launch\w+) =\s*"([^"]+)"', file.read()))

MPIRUN = ["mpirun", LAUNCH["launchOversubscribed"], "--bind-to", "none"]
ON_ONE_MACHINE = LAUNCH["launchOnOneMachine"].split()

# Variables with which mpirun and two ranks start in half of the CPU time. MPI takes ob1 at once, which it would choose anyway. hwloc looks for
# no devices, whose registers a virtual machine is slow to read, and does not load OpenCL, X11 and libxml2 for it. What processes tell each
# other at their start goes through sockets, and their files are in memory. test/readme runs without these variables, as users do.
ENVIRONMENT = {"OMPI_MCA_pml": "ob1", "HWLOC_COMPONENTS": "-linuxio", "HWLOC_PLUGINS_PATH": "/nonexistent", "PMIX_MCA_gds": "hash",
               "OMPI_MCA_orte_tmpdir_base": "/dev/shm"}


def under_mpirun(ranks, flags=ON_ONE_MACHINE):
    """The words before a rank's command."""
    return [*MPIRUN, *flags, "-np", str(ranks)]
