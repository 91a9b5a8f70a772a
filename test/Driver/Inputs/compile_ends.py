"""compile_ends.py CASE PPOPT MODEL: a compiler that does not come to its end, and what it leaves."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.default_signals import restore_signals  # noqa: E402

case, ppopt, model = sys.argv[1:]
restore_signals()


def compile(directory, *, program=ppopt, **how):
    temporary = os.path.join(directory, "tmp")
    os.makedirs(temporary, exist_ok=True)
    return temporary, subprocess.Popen([program, "compile", model, "--cpu", "x86-64", "--threads", "1", "-o", directory + "/train"],
                                       env={**os.environ, "TMPDIR": temporary}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def link(directory):
    """The runtime beside this copy of the compiler is no library."""
    for folder in ("bin", "lib"):
        os.mkdir(f"{directory}/{folder}")
    shutil.copy(ppopt, directory + "/bin/ppopt")
    with open(directory + "/lib/libppopt_runtime.a", "w") as library:
        library.write("none")
    with open(directory + "/train", "w") as old:
        old.write("the one before")
    temporary, process = compile(directory, program=directory + "/bin/ppopt")
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 1 and "linking the executable failed" in errors, errors
    assert open(directory + "/train").read() == "the one before"
    assert not os.listdir(temporary) and sorted(os.listdir(directory)) == ["bin", "lib", "tmp", "train"], os.listdir(directory)


def signals(directory):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        temporary, process = compile(directory)
        while process.poll() is None and not any(name.startswith("ppopt") and os.listdir(f"{temporary}/{name}") for name in os.listdir(temporary)):
            time.sleep(0.001)
        process.send_signal(number)
        errors = process.communicate(timeout=120)[1]
        assert process.returncode == -number, (process.returncode, errors)
        assert not [name for name in os.listdir(temporary) if name.startswith("ppopt")], os.listdir(temporary)
        assert os.listdir(directory) == ["tmp"], os.listdir(directory)
        shutil.rmtree(temporary)


def full(directory):
    """Disks that hold neither an object nor an executable, and one that holds the objects."""
    disk, train = os.path.join(directory, "disk"), os.path.join(directory, "train")
    os.mkdir(disk)
    page = ["plan", model, "--html", disk + "/page"]
    for size, flags, temporary, culprit in [("16k", page, disk, "/page: cannot write: No space left on device"),
                                            ("16k", ["compile", model, "-o", train], disk, "can't write '" + disk),
                                            ("1m", ["compile", model, "-o", train], disk, "linking the executable failed"),
                                            ("1m", ["compile", model, "-o", disk + "/page"], directory, disk + "/page: cannot write")]:
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", disk], capture_output=True).returncode != 0:
            print("skipped: mounts a small disk: needs root")
            return
        try:
            with open(disk + "/page", "w") as old:
                old.write("the one before")
            result = subprocess.run([ppopt, *flags], env={**os.environ, "TMPDIR": temporary}, capture_output=True, text=True, timeout=120)
            assert result.returncode == 1 and culprit in result.stderr and "No space left" in result.stderr, result.stderr
            assert "IO failure" not in result.stderr, result.stderr
            assert os.listdir(disk) == ["page"] and open(disk + "/page").read() == "the one before", os.listdir(disk)
        finally:
            subprocess.run(["umount", disk], check=True)
        assert os.listdir(directory) == ["disk"], os.listdir(directory)


with tempfile.TemporaryDirectory() as folder:
    globals()[case](folder)
