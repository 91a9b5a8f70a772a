"""The folder of a bundle: its files, compressed where that helps, and its manifest."""
import concurrent.futures
import json
import lzma
import os
import shutil
import subprocess

SMALL = 64 << 10  # bytes that are not worth compressing


class Folder:
    """`tiny`: for the fake libraries, with the device code of each executable, which they run."""

    def __init__(self, path, tiny):
        self.path, self.tiny = path, tiny
        self.manifest = {"tiny": tiny, "executables": {}}

    def add(self, source, name):
        """Adds a file; returns its name, under which the runner finds it. Larger ones are compressed, beside the tiny bundle."""
        target = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if self.tiny or os.path.getsize(source) < SMALL:
            shutil.copy(source, target)
        else:
            with open(source, "rb") as file, lzma.open(target + ".xz", "wb", preset=9) as packed:
                shutil.copyfileobj(file, packed)
        return name

    def add_executable(self, key, path):
        """Adds an executable for GPUs, whose device code lies beside it as PATH.ll."""
        entry = {"file": self.add(path, f"executables/{key}")}
        if self.tiny:
            entry["code"] = [self.add(path + ".ll", f"executables/{key}.ll")]
        self.manifest["executables"][key] = entry

    def write_manifest(self):
        with open(os.path.join(self.path, "manifest.json"), "w") as file:
            json.dump(self.manifest, file, indent=1)
            file.write("\n")

    def sizes(self):
        """[(bytes, name)] of all files, the largest first."""
        found = []
        for folder, _, names in os.walk(self.path):
            found += [(os.path.getsize(os.path.join(folder, name)), os.path.relpath(os.path.join(folder, name), self.path)) for name in names]
        return sorted(found, reverse=True)


def in_parallel(function, items):
    """[function(item)], as many at a time as there are cores: what takes long are processes."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return list(threads.map(function, items))


def commit_of(source):
    """The tree's commit, with "+" if files differ from it; None outside of a repository."""
    def git(*words):
        return subprocess.run(["git", "-C", source, *words], capture_output=True, text=True)
    head = git("rev-parse", "HEAD")
    if head.returncode != 0:
        return None
    return head.stdout.strip() + ("+" if git("status", "--porcelain", "--untracked-files=no").stdout.strip() else "")
