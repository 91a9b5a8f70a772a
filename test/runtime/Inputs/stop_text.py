"""stop_text.py COMMAND...: the command prints a text without an end; SIGTERM ends it with a line and its status."""

import signal
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as process:
    begun = process.stdout.read(4000)
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read().decode()
status = process.returncode
last = rest.splitlines()[-1]
if status != 128 + signal.SIGTERM or not last.startswith("generated ") or not last.endswith(" | stopped by SIGTERM"):
    sys.exit(f"status {status}, last line: {last}")
