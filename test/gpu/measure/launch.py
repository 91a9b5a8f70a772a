"""How the ranks of an executable are started: as threads of one process, or each as a process under mpirun."""
import os
import shutil

from .context import last_line
from .processes import OutOfTime

TRIAL_LIMIT = 20  # seconds


class Launcher:
    """`words`: those before a rank's command, for a number of ranks. `variables`: of the environment."""

    def __init__(self, name, words=lambda ranks: [], variables=None):
        self.name, self.words, self.variables = name, words, variables or {}


THREADS = Launcher("threads")


def find_mpirun(context, executable):
    """Returns the launcher of processes, or None; and why it is none. `executable`: one for two ranks, to try it with."""
    mpi, path = context.manifest["mpi"], shutil.which("mpirun")
    if not mpi or not path:
        return None, "mpirun is not on PATH" if mpi else "the bundle was made without MPI"
    variables = {"PPOPT_MPI_MODULE": context.file(mpi["module"])}
    if os.geteuid() == 0:
        variables.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    mpirun = Launcher("processes", lambda ranks: [path, *mpi["launch"], "-np", str(ranks)], variables)
    try:
        done = context.run(executable.command(["--version"], launch=mpirun.words(2)), TRIAL_LIMIT, executable.environment(**variables), statuses=None)
    except OutOfTime as error:
        return None, str(error)
    return (mpirun, None) if done.status == 0 else (None, f"mpirun: {last_line(done.text)}")
