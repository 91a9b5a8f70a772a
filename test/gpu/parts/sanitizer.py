"""compute-sanitizer on a tiny GPT: addresses, races in shared memory, barriers, uninitialized memory."""
import concurrent.futures
import re

from measure import libraries
from measure.context import Failed, Skip, last_line
from measure.executables import Executable
from measure.processes import OutOfTime

# What each program is run under, the most telling first. cuBLASLt's kernels are NVIDIA's: its program is for the calls and the addresses.
RUNS = [("bf16", tool) for tool in ("memcheck", "racecheck", "synccheck", "initcheck")] + \
       [("f32", tool) for tool in ("racecheck", "memcheck", "synccheck", "initcheck")] + [("bf16_library", "memcheck")]
STEPS = 3  # the third is a graph
FOUND = 99  # the status if the tool has found something
LIMIT = 30
# Each tool ends with one of these; racecheck's number is that of hazards, of which warnings are no errors.
SUMMARY = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\))", re.MULTILINE)
KEPT = 12  # lines of reports
JOBS = 3  # processes that share the GPU


def parse(text):
    """Reads what compute-sanitizer printed: {errors, warnings, reports}. Raises Failed if it has no summary."""
    match = None
    for match in SUMMARY.finditer(text):
        pass
    if not match:
        raise Failed("no summary of the tool: " + (text.strip().splitlines() or ["no output"])[-1][-200:])
    errors, hazards, race_errors, warnings = match.groups()
    reports = [line for line in text.splitlines() if re.match(r"^=+ (?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY|$)", line)]
    return {"errors": int(errors if errors is not None else race_errors), "warnings": int(warnings or 0),
            "hazards": None if hazards is None else int(hazards), "reports": reports[:KEPT]}


def run(context):
    tool = None if context.fake else libraries.tool("compute-sanitizer")
    if not tool:
        raise Skip("compute-sanitizer is not on PATH, nor in the toolkit")
    context.add(expected=len(RUNS), runs={})
    programs = context.manifest["sanitizer"]
    data = ["--data", context.file(context.manifest["text"]), "--steps", str(STEPS)]

    def measure(program, kind):
        executable = Executable(context, context.manifest["executables"][programs[program]])
        command = [tool, "--tool", kind, "--error-exitcode", FOUND, *(["--leak-check", "no"] if kind == "memcheck" else []), *executable.command(data)]
        found = {"wrong": None}
        try:
            done = context.run(command, LIMIT, executable.environment(), statuses=None)
            found.update(parse(done.out + "\n" + done.error))
            if found["errors"] or done.status != 0:
                found["wrong"] = f"{found['errors']} errors, status {done.status}: " + ("; ".join(found["reports"][:2]) or last_line(done.error))
        except (Failed, OutOfTime) as error:
            found["wrong"] = str(error)
        with context.lock:
            context.found["runs"][f"{program} {kind}"] = found
            context.add()

    with concurrent.futures.ThreadPoolExecutor(JOBS) as threads:
        list(threads.map(lambda pair: measure(*pair), RUNS))
    wrong = {name: found["wrong"] for name, found in context.found["runs"].items() if found["wrong"]}
    if wrong:
        name, text = next(iter(wrong.items()))
        raise Failed(f"{len(wrong)} of {len(RUNS)} runs: {name}: {text}")


def lines(found):
    for name, one in found.get("runs", {}).items():
        said = f"{one['errors']} errors, {one['warnings']} warnings" if "errors" in one else one["wrong"]
        yield f"{name:<24}{said}"
        yield from (f"    {line}" for line in one.get("reports", [])[:3])
