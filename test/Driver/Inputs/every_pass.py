"""Runs each registered pass by itself on a module that is not what it expects: it may refuse it, not crash.

usage: every_pass.py PPOPT MODULE...
"""

import re
import subprocess
import sys


def main(ppopt, modules):
    listed = subprocess.run([ppopt, "opt", "--list-passes"], stdout=subprocess.PIPE, text=True, check=True).stdout
    # Options of a pass are indented further.
    passes = [name for name in re.findall(r"^  --([\w-]+)", listed, re.MULTILINE) if name.startswith("pp-")]
    wrong = []
    for module in modules:
        for name in passes:
            done = subprocess.run([ppopt, "opt", "--" + name, module], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode not in (0, 1) or (done.returncode == 1) != ("error:" in done.stderr):
                wrong.append(f"--{name} on {module}: status {done.returncode}: {done.stderr[:300]}")
    print("\n".join(wrong) if wrong else f"each of {len(passes)} passes ends by itself")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
