"""packages.py BUILD PACKAGES: what the build takes from the system is installed by the packages of a list.

PACKAGES has the name of a Debian package per line (tools/packages.txt). Every header below /usr that an object of BUILD has read, and every
library that a target links, must belong to one of them or to a package that they depend on. A machine on which something else is
installed, too, would build what a fresh one can't. Prints each file that would be missing; exit status 1 if there is any.
"""
import pathlib
import re
import subprocess
import sys

DPKG = pathlib.Path("/var/lib/dpkg")


def read_packages():
    """The packages that each installed package depends on, by name; and the packages that provide a virtual one."""
    needs, providers = {}, {}
    for entry in (DPKG / "status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", entry, re.MULTILINE))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        depends = ", ".join(fields.get(field, "") for field in ("Depends", "Pre-Depends"))
        needs[fields["Package"]] = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", depends)
        for provided in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", fields.get("Provides", "")):
            providers.setdefault(provided, []).append(fields["Package"])
    return needs, providers


def close(names):
    """The installed packages among these, and all that they depend on."""
    needs, providers = read_packages()
    found, left = set(), list(names)
    while left:
        name = left.pop()
        left += providers.get(name, []) if name not in needs else []
        if name in needs and name not in found:
            found.add(name)
            left += needs[name]
    return found


def list_files(package):
    """The files of an installed package; those of /lib as in /usr/lib, which is the same folder."""
    for path in [*(DPKG / "info").glob(f"{package}.list"), *(DPKG / "info").glob(f"{package}:*.list")]:
        for name in path.read_text().splitlines():
            yield "/usr" + name if name.startswith("/lib") else name


def main():
    build, packages = map(pathlib.Path, sys.argv[1:])
    names = [line.strip() for line in packages.read_text().splitlines() if line.strip() and not line.startswith("#")]
    headers = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, text=True, capture_output=True).stdout
    used = set(re.findall(r"^ +(/usr/\S+)$", headers, re.MULTILINE))
    used |= set(re.findall(r"(?<=[ =])/usr/\S+\.(?:a|so)(?=[\s])", (build / "build.ninja").read_text()))
    installed = {file for package in close(names) for file in list_files(package)}
    # A name of an alternative, and what lies outside of packages' folders (CUDA's headers), is nobody's.
    missing = sorted(path for path in used if not path.startswith("/usr/local/") and path not in installed
                     and str(pathlib.Path(path).resolve()) not in installed)
    for path in missing:
        print(f"{path}: no package of {packages.name} installs it")
    return 1 if missing or not used else 0


if __name__ == "__main__":
    sys.exit(main())
