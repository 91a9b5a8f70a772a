"""Runs the parts one after the other, each as a process with a time limit, and keeps the results after each."""
import datetime
import json
import os
import signal
import subprocess
import sys
import time

from parts import PARTS

from . import child
from .context import read_json, write_json
from .processes import kill_session, start_session
from .startup import carry_libraries

KEPT_LOG = 3000  # characters of what a part printed


def begin_results(options, manifest):
    """The results of an earlier run of the same bundle stay, but for the parts that run again."""
    results = {"parts": {}}
    if options.only and os.path.exists(options.results):
        results = read_json(options.results)
        if results.get("bundle") != bundle_of(manifest) or results.get("fake") != bool(options.fake):
            sys.exit(f"run: {options.results} has results of another bundle; name another file")
    results.update(date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), fake=bool(options.fake),
                   bundle=bundle_of(manifest))
    results.setdefault("commands", []).append(" ".join(sys.argv))
    return results


def bundle_of(manifest):
    return {name: manifest.get(name) for name in ("commit", "compiler", "made", "tiny")}


def measure(options, work, script):
    """Returns the results, which lie in the file of --results after each part."""
    manifest = read_json(os.path.join(options.bundle, "manifest.json"))
    results = begin_results(options, manifest)
    carried = carry_libraries(options.bundle, manifest, work, options.fake)
    results["carried_libraries"] = carried
    for name in options.parts:
        print(f"{name}: {PARTS[name].title}; at most {options.limits[name]} s", flush=True)
        results["parts"][name] = run_part(options, work, script, name, results)
        write_json(options.results, results)
        part = results["parts"][name]
        print(f"{name}: {part['status']} after {part['seconds']:.1f} s" + (f": {part['reason']}" if part["reason"] else ""), flush=True)
    results["parts"] = {name: results["parts"][name] for name in PARTS if name in results["parts"]}
    write_json(options.results, results)
    return results


def run_part(options, work, script, name, results):
    """Runs a part in a process with a session of its own. What it has found stays, however it ends."""
    folder = os.path.join(work, name)
    os.makedirs(folder, exist_ok=True)
    task = os.path.join(folder, "task.json")
    paths = {key: os.path.join(folder, f"{key}.json") for key in ("found", "outcome")}
    for path in paths.values():
        if os.path.exists(path):
            os.remove(path)
    others = {each: part["found"] for each, part in results["parts"].items() if each != name}
    limit = options.limits[name]
    write_json(task, {"part": name, "bundle": options.bundle, "work": work, "folder": folder, "limit": limit, "fake": options.fake, "others": others,
                      **paths})
    log = os.path.join(folder, "log.txt")
    begin = time.monotonic()
    process = start_session([sys.executable, script, child.WORD, task], log)
    try:
        status = process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        kill_session(process.pid)
        process.wait()
    seconds = time.monotonic() - begin
    outcome = read_outcome(paths["outcome"], status, limit)
    outcome.update(limit=limit, seconds=round(seconds, 3), found=read_json(paths["found"]) if os.path.exists(paths["found"]) else {})
    if outcome["status"] == "failed":
        with open(log, errors="replace") as file:
            outcome["log"] = file.read()[-KEPT_LOG:]
    return outcome


def read_outcome(path, status, limit):
    """How a part ended. `status`: of its process; None if it was killed at its limit."""
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    if status is None:
        reason = f"ran past its limit of {limit} s and was killed"
    elif status < 0:
        reason = f"its process was ended by {signal.Signals(-status).name}"
    else:
        reason = f"its process ended with status {status}"
    return {"status": "failed", "reason": reason}
