"""Reads a scheduled module with averages, and writes it with one fault: change_averages.py ungathered|left-out|in-training|uncalled."""
import re
import sys

text = sys.stdin.read()
head, schedule = text.split("pp.schedule 0 attributes {average", 1)
gather = r"    %(\w+) = pp.start all_gather .*\n    pp.wait %\1 .*\n"
run = "    pp.run @p0_A_b0 microbatch 0 () : () -> ()\n"
if sys.argv[1] == "ungathered":
    schedule = re.sub(gather, "", schedule, count=1)
elif sys.argv[1] == "left-out":
    schedule = re.sub(gather, "", schedule, count=1).replace(run, "", 1)
elif sys.argv[1] == "in-training":
    head = head.replace("    pp.zero\n", "    pp.zero\n" + run, 1)
else:
    head = re.sub(r" average \{\n    pp.call @p0_A_b0\(\) : \(\) -> \(\)\n  \}", "", head, count=1)
changed = head + "pp.schedule 0 attributes {average" + schedule
assert changed != text
sys.stdout.write(changed)
