"""write_cluster.py FILE [CHANGE]: a cluster of one level with the links of the built-in device; CHANGE is rate=NUMBER, FIELD=JSON or apart, for one device per machine."""
import json
import sys

cluster = {"version": 1, "name": "written",
           "levels": [{"name": "local", "size": 8, **{use: {"latency": 20000, "rate": 4} for use in ("transfer", "collective")}}]}
for change in sys.argv[2:]:
    field, _, value = change.partition("=")
    if field == "apart":
        cluster["levels"].insert(0, {**cluster["levels"][0], "size": 1})
    elif field == "rate":
        cluster["levels"][0]["collective"]["rate"] = json.loads(value)
    else:
        cluster[field] = json.loads(value)
with open(sys.argv[1], "w") as file:
    json.dump(cluster, file)
