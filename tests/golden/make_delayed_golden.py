#!/usr/bin/env python3
"""Scales of delayed scaling over many steps, by TransformerEngine's formulas in numpy.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python tests/golden/make_delayed_golden.py

Each case has abs-maxes [steps, n], one row a step, and after every step the fp32 scales [steps, n]; and the histories
[length, n] after the last. The first `e4m3` tensors are cast to e4m3, the others to e5m2. See README.md beside this
file for the rules.
"""

import pathlib

import numpy as np
from golden_file import GoldenFile

HERE = pathlib.Path(__file__).parent
STEPS, N, E4M3 = 23, 40, 25
F32 = np.finfo(np.float32)


def abs_maxes(random):
    amax = np.exp(random.normal(0.0, 3.0, (STEPS, N))).astype(np.float32)
    amax[random.random((STEPS, N)) < 0.1] = 0.0
    amax[random.random((STEPS, N)) < 0.05] = np.inf
    amax[random.random((STEPS, N)) < 0.05] = np.nan
    amax[:, 3] = 0.0  # never used
    amax[:6, 4] = 0.0  # first used late
    amax[:, 5] = np.inf  # never says anything
    amax[:, 6] = F32.smallest_subnormal  # the quotient overflows
    amax[7, 7] = F32.max
    amax[:, 8] = 1.0
    amax[4, 8] = 1000.0  # an outlier that leaves the window again
    return amax


def train(amax, length, margin, algorithm):
    highest = np.where(np.arange(N) < E4M3, 448.0, 57344.0).astype(np.float32) * np.float32(2.0**-margin)
    windows = [[] for _ in range(N)]  # newest last
    scale = np.ones(N, np.float32)
    scales = []
    for step in range(STEPS):
        for i in range(N):
            newest = amax[step, i]
            if not (np.isfinite(newest) and newest > 0):
                continue
            windows[i] = (windows[i] + [newest])[-length:]
            chosen = max(windows[i]) if algorithm == "max" else newest
            with np.errstate(over="ignore"):
                quotient = highest[i] / chosen
            assert quotient.dtype == np.float32
            scale[i] = F32.max if np.isinf(quotient) else quotient
        scales.append(scale.copy())
    history = np.zeros((length, N), np.float32)
    for i, window in enumerate(windows):
        history[: len(window), i] = window[::-1]
    return np.stack(scales), history


def main():
    golden = GoldenFile(steps=STEPS, tensors=N, e4m3=E4M3)
    amax = abs_maxes(np.random.default_rng(2211))
    golden.add("amax", amax)
    for length, margin, algorithm in [(1, 0, "max"), (4, 0, "max"), (16, 3, "max"), (4, 1, "most_recent"), (64, 0, "max")]:
        scales, history = train(amax, length, margin, algorithm)
        name = f"{algorithm}.{length}.{margin}"
        golden.add(f"{name}.scale", scales)
        golden.add(f"{name}.history", history)
    golden.write(HERE / "delayed")


if __name__ == "__main__":
    main()
