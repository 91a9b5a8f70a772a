"""expect_status.py STATUS COMMAND...: the command ends with that status; what it prints goes through."""

import subprocess
import sys

done = subprocess.run(sys.argv[2:])
if done.returncode != int(sys.argv[1]):
    sys.exit(f"expected status {sys.argv[1]}, got {done.returncode}: {' '.join(sys.argv[2:])}")
