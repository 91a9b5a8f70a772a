"""needs.py EXECUTABLE BUILD: compares what EXECUTABLE --needs lists with its dynamic section and with Debian's list of files."""
import re
import shutil
import subprocess
import sys

executable, build = sys.argv[1:]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))


def package(library):
    return {line.split(":")[0] for line in output("dpkg", "-S", f"*/{library}").splitlines()}


text = output(executable, "--needs")
listed = {library: name for library, name in re.findall(r"^(?:libraries)? +(\S+\.so\S*) +(\S+)", text, re.M)}
assert list(listed) == needed(executable), f"{list(listed)} instead of {needed(executable)}"
for gone in "fmt", "pcre2", "ppopt", "mpi":
    assert not any(gone in library for library in listed), f"{gone} is linked dynamically"
install = set(re.search(r"--no-install-recommends (.*)", text).group(1).split())
assert install == set(listed.values()), f"{install} instead of {set(listed.values())}"
versions = output("readelf", "-V", executable)
for version in re.findall(r"\b[A-Z]+[A-Z_]*_[0-9.]+\b", text):
    assert f"Name: {version} " in versions, f"{version} is no version that the executable asks for"
assert "GLIBC_" in text
if shutil.which("dpkg"):
    for library, name in listed.items():
        assert name in package(library), f"{library} is of {package(library)}, not of {name}"
    module = [library for library in needed(f"{build}/lib/ppopt/libppopt_mpi.so") if library not in listed]
    assert len(module) == 1 and "libopenmpi3" in package(module[0]), module
