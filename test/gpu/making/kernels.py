"""The kernels of GPT-2 and the approximate instructions, which ppopt-gpu-kernels runs against expectations."""
import os
import shlex

from support.executable import checked

TOOL = "ppopt-gpu-kernels"
LIMIT = 900


def add_kernels(folder, build, makers):
    """`makers`: for each part the command that makes its folder, to which the folder and, for the fake libraries, --tiny are added; or None."""
    tool = os.path.join(build, "bin", "test", TOOL)
    for part, command in makers.items():
        entry = {"tool": None, "folder": None}
        if command:
            path = os.path.join(folder.path, part)
            os.makedirs(path)
            checked([*shlex.split(command), path, *(["--tiny"] if folder.tiny else [])], LIMIT)
            entry["folder"] = part
        if os.path.exists(tool):
            entry["tool"] = folder.add(tool, f"executables/{TOOL}")
        folder.manifest[part] = entry
