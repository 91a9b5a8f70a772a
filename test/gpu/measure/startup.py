"""Lets executables start on a system that lacks a shared library which they link, or has an older one."""
import os
import re
import shutil
import subprocess

from . import libraries
from .context import unpack

MISSING = re.compile(r"(?:^|[ /:])(lib[\w+-]+\.so[.\d]*): (?:cannot open shared object file|version `([^']*)' not found)")


def carry_libraries(bundle, manifest, work, fake):
    """Takes the libraries of the bundle that this machine lacks into the folder WORK/carried, which is searched by all that parts start. Returns
    {library: why}. Libraries of the system stay in use where they are new enough."""
    folder = os.path.join(work, "carried")
    os.makedirs(folder, exist_ok=True)
    entry = sorted(manifest["executables"].values(), key=lambda each: each["file"])[0]
    command = [unpack(bundle, work, entry["file"]), "--version"]
    carried = {}
    while True:
        env = dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, [libraries.search_path(fake), folder])))
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=20)
        match = MISSING.search(done.stderr)
        if done.returncode == 0 or not match:
            return carried
        name, version = match.groups()
        if name in carried or name not in manifest["libraries"]:
            return {**carried, name: f"lacks {version}, and the bundle has none that would do" if version else "missing, and not in the bundle"}
        shutil.copy(unpack(bundle, work, manifest["libraries"][name]), os.path.join(folder, name))
        carried[name] = f"the system's lacks {version}" if version else "the system has none"
