"""write_device.py FILE [CHANGE]: a device with the built-in one's rates, under another name; CHANGE is FIELD=JSON, or one of the words below."""
import copy
import json
import sys

TYPES = ("f32", "f64", "bf16")
LINK = {"latency": 20000, "rate": 4}
RANKS = {"transfer": LINK, "collective": LINK}

device = {
    "version": 2, "name": "written", "model": "any", "threads": 1,
    "matmuls": [{"type": t, "m": [1], "n": [1], "k": [1], "rates": [105], "transposed": [105], "aliased": 1} for t in TYPES],
    "attention": [{"type": t, "forward": 105, "backward": 105, "scores": 10} for t in TYPES],
    "elements": [{"type": t, "elements": 10, "moves": 10, "operation": 0, "division": 0, "function": 0} for t in TYPES],
    "memory": [{"bytes": 1, "rate": 70}], "launch": 0, "processes": None, "local_threads": RANKS,
    "busy": None}

for change in sys.argv[2:]:
    field, _, value = change.partition("=")
    if field == "matmuls":
        for matmul in device["matmuls"]:
            matmul["rates"] = matmul["transposed"] = [json.loads(value)]
    elif field == "busy":  # so many times slower
        device["busy"] = copy.deepcopy({name: device[name] for name in ("matmuls", "attention", "elements", "memory", "launch")})
        for matmul in device["busy"]["matmuls"]:
            matmul["rates"] = matmul["transposed"] = [105 / json.loads(value)]
        device["busy"]["memory"][0]["rate"] /= json.loads(value)
    elif field == "nested":
        device["local_threads"] = {**RANKS, "disk": 1}
    elif field == "grid":
        device["matmuls"][0]["k"] = [1, 2]
    elif field == "order":
        device["memory"] *= 2
    elif field == "order-busy":
        device["busy"]["memory"] *= 2
    elif field == "lacks":
        device["elements"].pop()
    else:
        device[field] = json.loads(value)
with open(sys.argv[1], "w") as file:
    json.dump(device, file)
