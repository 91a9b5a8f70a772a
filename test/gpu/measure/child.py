"""The process of one part."""
import traceback

from parts import load

from .context import Context, Failed, Skip, read_json, write_json
from .processes import OutOfTime

WORD = "--part-process"


def main(path):
    """Runs the part that the file `path` describes and writes how it ended."""
    task = read_json(path)
    context = Context(task)
    outcome = {"status": "passed", "reason": ""}
    try:
        load(task["part"]).run(context)
        context.expect_captured()
    except Skip as reason:
        outcome = {"status": "skipped", "reason": str(reason)}
    except (Failed, OutOfTime) as error:
        outcome = {"status": "failed", "reason": str(error)}
    except Exception as error:
        traceback.print_exc()
        outcome = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    context.add()
    write_json(task["outcome"], outcome)
    return 0
