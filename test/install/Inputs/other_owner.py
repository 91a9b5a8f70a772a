"""other_owner.py EXECUTABLE MODULE: EXECUTABLE refuses MODULE where it belongs to another user or to a group of several. Without
root it says nothing: files cannot be given away."""
import os
import subprocess
import sys

executable, module = map(os.path.realpath, sys.argv[1:])
if os.geteuid() != 0:
    sys.exit()


def expect(text, user, group, mode):
    os.chown(module, user, group)
    os.chmod(module, mode)
    done = subprocess.run([executable], env=dict(os.environ, OMPI_COMM_WORLD_SIZE="2"), capture_output=True, text=True)
    assert done.returncode == 1 and text in done.stderr, f"expected: {text}\ngot status {done.returncode}: {done.stderr}"


expect(f"{module} belongs to user 1;", 1, 0, 0o755)
expect(f"group 1 can write to {module};", 0, 1, 0o775)
expect("the MPI library sees 1", 0, 1, 0o755)
expect("the MPI library sees 1", 0, 0, 0o775)  # root's own group
os.chown(module, 0, 0)
