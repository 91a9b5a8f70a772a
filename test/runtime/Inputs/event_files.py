"""event_files.py FOLDER LOG [TAG...]: the event files have the numbers of the log, and these tags."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import event_files  # noqa: E402

folder, log, *tags = sys.argv[1:]
scalars = event_files.read_folder(folder)
event_files.expect_same(scalars, log)
assert sorted(scalars) == sorted(tags), sorted(scalars)
