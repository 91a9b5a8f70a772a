"""Asks that every mpirun line of the documentation has the flags of ppopt/launch.h. Usage: launch_lines.py SOURCE"""
import glob
import re
import sys

source = sys.argv[1]
with open(f"{source}/runtime/include/ppopt/launch.h") as file:
    flags = re.search(r'launchFlags =\s*"([^"]+)"', file.read()).group(1)
files = [f"{source}/README.md", f"{source}/tools/quickstart", *glob.glob(f"{source}/docs/**/*.md", recursive=True)]
lines = [(path, line) for path in files for line in open(path) if re.search(r"mpirun +--(oversubscribe|bind-to)", line)]
assert len(lines) >= 4, f"only {len(lines)} lines found"
wrong = [f"{path}: {line.strip()}" for path, line in lines if f"mpirun --oversubscribe {flags}" not in line]
sys.exit("\n".join(["these lines do not have 'mpirun --oversubscribe " + flags + "':", *wrong]) if wrong else 0)
