"""change_data.py HOW FILE STATUS TEXT COMMAND...: while the command trains, FILE
is changed; the command then ends with that status, and TEXT is in what it said.
HOW: truncate (to its first 100 bytes), rewrite (in place, with other bytes), or
remove. The change is made after step 5."""

import os
import signal
import subprocess
import sys
import tempfile

how, path, status, text, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:]


def change():
    if how == "truncate":
        os.truncate(path, 100)
    elif how == "rewrite":
        with open(path, "r+b") as file:
            file.write(b"other")
    else:
        os.remove(path)


with tempfile.TemporaryFile("w+") as errors:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
    changed, last = False, ""
    try:
        for line in process.stdout:
            last = line
            if line.startswith("step") and line.split()[1].startswith("5/"):
                change()
                changed = True
        process.wait(timeout=300)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    errors.seek(0)
    said = errors.read()
if not changed or process.returncode != status or text not in last + said:
    sys.exit(f"expected status {status} and: {text}\ngot status {process.returncode} after: {last}{said}")
