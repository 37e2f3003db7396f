#!/usr/bin/env python3
"""Compares the losses of two runs step by step, for jobs/gpu/check.sh.

Usage: compare_losses.py NAME TOLERANCE STEPS CPU_METRICS GPU_METRICS
Prints a row of a table: name, first and last loss of both, largest relative difference and its step, verdict. Exit 1
when the difference is larger than TOLERANCE, a loss is not a number, or either run has not exactly STEPS steps.
"""

import json
import math
import sys


def losses(path):
    """{step: loss} of metrics.jsonl; a loss that is not finite (null there) is NaN."""
    out = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                step = json.loads(line)
                out[step["step"]] = math.nan if step["loss"] is None else step["loss"]
    return out


def compare(cpu, gpu, steps, tolerance):
    """(largest relative difference, its step, what is wrong or None)."""
    for name, run in (("CPU", cpu), ("GPU", gpu)):
        if sorted(run) != list(range(1, steps + 1)):
            return math.nan, 0, f"{name} logged {len(run)} of {steps} steps"
        bad = [step for step in sorted(run) if not math.isfinite(run[step])]
        if bad:
            return math.nan, bad[0], f"{name} loss of step {bad[0]} is not finite"
    differences = {step: abs(gpu[step] - cpu[step]) / abs(cpu[step]) for step in cpu}
    worst = max(differences, key=differences.get)
    wrong = None if differences[worst] <= tolerance else "too far apart"
    return differences[worst], worst, wrong


def main():
    name, tolerance, steps = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    cpu, gpu = losses(sys.argv[4]), losses(sys.argv[5])
    difference, step, wrong = compare(cpu, gpu, steps, tolerance)
    shown = [f"{run[s]:.5f}" if s in run else "-" for s in (1, steps) for run in (cpu, gpu)]
    print(f"{name:<8} {shown[0]:>10} {shown[1]:>10} {shown[2]:>10} {shown[3]:>10} {difference:>12.2e} {step:>5} "
          f"{tolerance:>9.0e}  {'ok' if wrong is None else 'FAILED: ' + wrong}")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
