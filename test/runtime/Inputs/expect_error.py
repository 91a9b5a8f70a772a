"""expect_error.py STATUS TEXT COMMAND...: the command ends with that status and
says one line on standard error that starts with "error: " and contains TEXT."""

import subprocess
import sys

status, text, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
result = subprocess.run(command, capture_output=True, text=True)
lines = result.stderr.splitlines()
if result.returncode != status or len(lines) != 1 \
        or not lines[0].startswith("error: ") or text not in lines[0]:
    sys.exit(f"expected status {status} and one line with: {text}\n"
             f"got status {result.returncode}:\n{result.stderr}")
