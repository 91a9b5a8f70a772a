"""usage: evaluations.py LOG AGAIN

Prints the first evaluation's loss of AGAIN, a run that began with the parameters that LOG's run ended with, and the last of LOG.
"""
import json
import sys


def evaluations(path):
    with open(path) as file:
        events = [json.loads(line) for line in file]
    return [event for event in events if event["event"] == "eval"]


before, again = (evaluations(path) for path in sys.argv[1:])
print("step 0 anew:", again[0]["loss_hex"])
print(f"step {before[-1]['step']}:", before[-1]["loss_hex"])
print("they follow from what step 0 was:", before[0]["loss_hex"] != before[-1]["loss_hex"])
