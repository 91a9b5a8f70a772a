"""stop_text.py [--after SECONDS] COMMAND...: the command prints a text without an end; SIGTERM (mpirun's ranks: SIGUSR1) ends it
with a line and its status."""

import signal
import subprocess
import sys
import time

command = sys.argv[1:]
seconds = 0
if command[0] == "--after":
    seconds, command = float(command[1]), command[2:]
stop = signal.SIGUSR1 if "mpirun" in command[0] else signal.SIGTERM
with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
    begun, size = time.monotonic(), 0
    while size < 4000 or time.monotonic() - begun < seconds:
        piece = process.stdout.read(4000)
        if not piece:
            break
        size += len(piece)
    process.send_signal(stop)
    rest = process.stdout.read().decode()
status = process.returncode
last = (rest.splitlines() or [""])[-1]
if status != 128 + stop or not last.startswith("generated ") or not last.endswith(f" | stopped by {stop.name}"):
    sys.exit(f"status {status}, last line: {last}")
