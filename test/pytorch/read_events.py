#!/usr/bin/env python3
"""Prints as JSON what TensorBoard reads in a folder, {tag: [[step, value]]}: read_events.py FOLDER, run by check_live.py in .venv-pytorch."""
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
print(json.dumps({tag: [[event.step, event.value] for event in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]}))
