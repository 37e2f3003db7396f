#!/usr/bin/env python3
"""Trains the steps of a run once more in plain PyTorch and compares with what its metrics say.

It shares no code with Octet: whole_run/ is written from docs/data.md ("The order of samples"), docs/numerics.md ("What a
step computes"), docs/gradient-wire.md and docs/checkpoint-format.md. Any layout is compared with the same computation,
which knows no ranks; only gradients on a wire of bf16 are rounded in the parts in which the ranks send them.

Usage: tests/checks/whole_run_in_torch.py RUN [--from CHECKPOINT] [--tolerance T] [--perturb SEED] [--verbose]
  RUN           a run's directory with a checkpoint, small enough for this machine. Start it where the run was started,
                for the paths of its data. Settings are those of its newest checkpoint
  --from        a checkpoint to begin with, weights, moments and scales; otherwise the Hugging Face folder of init.from
  --tolerance   largest relative difference of losses: by default 1e-5 in fp32, 3e-3 in bf16, 2e-2 in float8; that of
                gradient norms is ten times as much
  --perturb     move each first weight by 2^-14 of itself, up or down: as far apart as rounding alone may make two runs
  --verbose     a line for each step

Needs torch, numpy, PyYAML, safetensors and h5py. Exit 0 when the run agrees, 1 when not.
"""
import argparse
import json
import math
import pathlib
import sys

import numpy as np
import yaml

from whole_run.saved_state import Checkpoint, newest_checkpoint
from whole_run.training import Training

TOLERANCES = {"fp32": 1e-5, "bf16": 3e-3, "float8": 2e-2}


def difference(ours, theirs):
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(np.ravel(ours), np.ravel(theirs), strict=True))


def limits(tolerance):
    """The largest difference of each key that agrees. The weights' is told and not judged."""
    losses = dict.fromkeys(["loss", "validation_loss", "validation_bits_per_byte"], tolerance)
    return losses | {"grad_norm": 10 * tolerance, "lr": 1e-12, "passes": 1e-12, "tokens": 0, "step": 0, "weights": math.inf}


def compare_line(ours, theirs):
    """The relative difference of each key that both have."""
    if ("validation_loss" in ours) != ("validation_loss" in theirs):
        sys.exit(f"step {ours['step']}: validated here or there alone")
    return {key: difference(value, theirs[key]) for key, value in ours.items() if key in theirs}


def print_line(ours, theirs, found):
    told = "  ".join(f"{key} {value:.1e}" for key, value in found.items() if key not in ("step", "tokens", "passes"))
    print(f"step {ours['step']:4}  loss {ours['loss']:.7f} {theirs['loss']:.7f}  {told}")


def compare(training, said, newest, verbose):
    """For each key the largest difference and its step, and how many steps were compared."""
    worst, steps = {}, 0
    for line in training.lines({step for step, theirs in said.items() if "validation_loss" in theirs}):
        step = line["step"]
        if step not in said:
            continue
        steps += 1
        found = compare_line(line, said[step])
        if verbose:
            print_line(line, said[step], found)
        if step == newest.state["step"]:
            masters = newest.part("master")
            found["weights"] = max(((w - masters[n]).norm() / masters[n].norm()).item() for n, w in training.weights.items())
        for key, value in found.items():
            worst[key] = max(worst.get(key, (0, 0)), (value, step))
    return worst, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--from", dest="start", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--perturb", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    newest = newest_checkpoint(options.run)
    config = yaml.safe_load(newest.state["config"])
    said = {line["step"]: line for line in map(json.loads, (options.run / "metrics.jsonl").read_text().splitlines())}
    training = Training(config, Checkpoint(options.start) if options.start else None, options.perturb)
    worst, steps = compare(training, said, newest, options.verbose)
    most = limits(options.tolerance or TOLERANCES[config["precision"]])
    bad = [key for key, (value, _) in worst.items() if not value <= most[key]]
    print(f"{options.run}: {steps} steps; largest relative differences: "
          + ", ".join(f"{key} {value:.1e} (step {at})" for key, (value, at) in worst.items() if key != "step"))
    if bad or not steps:
        sys.exit(f"{options.run} DISAGREES: {', '.join(bad) or 'no step was compared'}")


if __name__ == "__main__":
    main()
