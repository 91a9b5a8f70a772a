"""How tests start ranks as processes: lit's %mpirun, and all harnesses. The flags are those of runtime/include/ppopt/launch.h,
without the time to save, for which a rank that fails would be waited for."""

import os
import re

with open(os.path.join(os.path.dirname(__file__), "../../runtime/include/ppopt/launch.h")) as file:
    LAUNCH = dict(re.findall(r'\*(launch\w+) =\s*"([^"]+)"', file.read()))

MPIRUN = ["mpirun", LAUNCH["launchOversubscribed"], "--bind-to", "none"]
ON_ONE_MACHINE = LAUNCH["launchOnOneMachine"].split()

# Variables with which ranks start in three quarters of the time: MPI takes ob1 at once, which it would choose anyway, and hwloc does not load
# OpenCL, X11 and libxml2 to look for devices.
ENVIRONMENT = {"OMPI_MCA_pml": "ob1", "HWLOC_PLUGINS_PATH": "/nonexistent"}


def under_mpirun(ranks, flags=ON_ONE_MACHINE):
    """The words before a rank's command."""
    return [*MPIRUN, *flags, "-np", str(ranks)]
