"""Asks that every mpirun line of the documentation has the flags of ppopt/launch.h. Usage: launch_lines.py SOURCE"""
import glob
import re
import sys

source = sys.argv[1]
sys.path.append(f"{source}/test/support")
from mpirun import LAUNCH

flags, one = LAUNCH["launchFlags"], LAUNCH["launchOnOneMachine"]
files = [f"{source}/README.md", f"{source}/tools/quickstart", *glob.glob(f"{source}/docs/**/*.md", recursive=True)]
lines = [(path, line) for path in files for line in open(path).read().replace("\\\n", " ").splitlines() if re.search(r"mpirun +--(oversubscribe|bind-to|mca)", line)]
assert len(lines) >= 5, f"only {len(lines)} lines found"
# A line over several machines says so in its comment.
wrong = [f"{path}: {line.strip()}" for path, line in lines
         if flags not in " ".join(line.split()) or (one in line) == bool(re.search("# .*machines", line))]
sys.exit("\n".join([f"these lines do not have '{flags}', or '{one}' if they are for one machine:", *wrong]) if wrong else 0)
