#!/usr/bin/env python3
"""Compares a run that was killed and went on with one that nothing happened to, to the bit, for jobs/gpu/resume.sh.

Usage: same_losses.py NAME STEPS WHOLE_RUN KILLED_RUN     folders with metrics.jsonl
Prints one line. Exit 1 when a loss or a gradient norm differs or is not finite, steps are missing, or the killed run
did not go on from a checkpoint. Steps that the killed run did twice count both times (metrics.discarded.jsonl).
"""

import json
import os
import sys

KEYS = ("loss", "grad_norm")


def lines(run, name="metrics.jsonl"):
    """Objects of a file of the run; of a killed run the last line may be half of one."""
    path, out = os.path.join(run, name), []
    if not os.path.exists(path):
        return out
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return out


def problem(steps, whole, killed, discarded):
    """What is wrong, or None. Floats are compared as parsed: the files have every digit that a double needs."""
    for name, run in (("the whole run", whole), ("the killed run", killed)):
        if [line["step"] for line in run] != list(range(1, steps + 1)):
            return f"{name} logged {len(run)} of {steps} steps"
    if not any(line.get("restarts") for line in killed):
        return "the killed run did not go on from a checkpoint"
    if not any(line.get("restarts") == 0 for line in killed):
        return "the killed run began anew"
    for line in killed + discarded:
        other = whole[line["step"] - 1]
        for key in KEYS:
            if line[key] is None or other[key] is None:
                return f"{key} of step {line['step']} is not finite"
            if line[key] != other[key]:
                return f"{key} of step {line['step']} is {line[key]!r}, {other[key]!r} in the whole run"
    return None


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    whole, killed = lines(sys.argv[3]), lines(sys.argv[4])
    discarded = lines(sys.argv[4], "metrics.discarded.jsonl")
    wrong = problem(steps, whole, killed, discarded)
    saved = sum(line.get("restarts") == 0 for line in killed)
    print(f"{name:<8} killed at step {saved + len(discarded)}, went on from {saved}: losses and gradient norms of {steps} steps, "
          f"{len(discarded)} of them done twice  {'ok' if wrong is None else 'FAILED: ' + wrong}")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
