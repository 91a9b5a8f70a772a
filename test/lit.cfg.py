# The lit suite: `lit build/release/test`, or one folder of it. Tests lie beside
# this file by area; the harnesses under equivalence/ and bench/ are run by
# tools/check, not by lit.

import os
import shutil
import sys

sys.path.append(os.path.join(config.ppopt_source, "test"))
from support.lit_format import SharingShTest  # noqa: E402
from support.mpirun import ENVIRONMENT, MPIRUN, ON_ONE_MACHINE  # noqa: E402

config.name = "ppopt"
config.test_format = SharingShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "fuzz", "threads", "CMakeLists.txt", "bench", "equivalence", "lib", "pytorch", "support"]
config.test_source_root = os.path.join(config.ppopt_source, "test")
config.test_exec_root = os.path.join(config.ppopt_build, "test")

bin_dir = os.path.join(config.ppopt_build, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bin_dir, config.llvm_tools, config.environment.get("PATH", "/usr/bin:/bin")])

# OpenMPI refuses root, more ranks than cores, and pins two ranks to one core
# each, unless told otherwise.
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
config.environment["OMP_NUM_THREADS"] = "1"
config.environment.update(ENVIRONMENT)
# As support/__init__.py for the harnesses.
config.environment["PPOPT_DEVICE"] = "builtin"
if config.sanitize:
    sys.path.append(os.path.join(config.test_source_root, "support"))
    from sanitizers import OPTIONS
    config.environment.update(OPTIONS)
    config.available_features.add("sanitize")

config.substitutions += [
    ("%ppopt", os.path.join(bin_dir, "ppopt")),
    ("%mutate", os.path.join(bin_dir, "test", "ppopt-mutate")),
    ("%mpirun", " ".join(MPIRUN + ON_ONE_MACHINE)),
    ("%python", "/usr/bin/python3"),
    ("%cmake", shutil.which("cmake") or "cmake"),
    ("%usage", "/usr/bin/python3 " + os.path.join(config.test_source_root, "support", "expect_status.py") + " 2"),
    ("%source", config.ppopt_source),
    ("%build", config.ppopt_build),
    ("%version", config.version),
]

# A browser, to look at the pages that `ppopt plan --html` writes.
chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
if chromium:
    config.available_features.add("chromium")
    config.substitutions.append(("%chromium", chromium))
if shutil.which("mpirun"):
    config.available_features.add("mpi")
