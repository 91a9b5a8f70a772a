// RUN: ppopt opt %s --split-input-file --pp-insert-plan="mesh=dp=2" --pp-propagate-shardings
