"""sorted_program.py: the program's document of a module of phase native, which stdin has, with sorted fields and an object a line."""
import json
import re
import sys

text = re.search(r'@ppopt_program_json\("((?:[^"\\]|\\.)*)"\)', sys.stdin.read()).group(1)
document = re.sub(r"\\([0-9A-F]{2}|\\)", lambda match: "\\" if match.group(1) == "\\" else chr(int(match.group(1), 16)), text)
print(re.sub(r"(}[]},]*)", r"\1\n", json.dumps(json.loads(document), sort_keys=True, separators=(",", ":"))))
