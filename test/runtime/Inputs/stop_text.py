"""stop_text.py [--after SECONDS] COMMAND...: the command prints a text without an end; SIGTERM (mpirun's ranks: SIGUSR1) ends it
with a line on standard error and its status."""

import signal
import subprocess
import sys
import tempfile
import time

command = sys.argv[1:]
seconds = 0
if command[0] == "--after":
    seconds, command = float(command[1]), command[2:]
stop = signal.SIGUSR1 if "mpirun" in command[0] else signal.SIGTERM
told = tempfile.TemporaryFile()
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told) as process:
    begun, size = time.monotonic(), 0
    while size < 4000 or time.monotonic() - begun < seconds:
        piece = process.stdout.read(4000)
        if not piece:
            break
        size += len(piece)
    process.send_signal(stop)
    process.stdout.read()
status = process.returncode
told.seek(0)
# mpirun says more after it.
last = ([line for line in told.read().decode().splitlines() if line.startswith("generated ")] or [""])[-1]
if status != 128 + stop or not last.endswith(f" | stopped by {stop.name}"):
    sys.exit(f"status {status}, last line: {last}")
