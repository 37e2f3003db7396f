#!/usr/bin/env python3
"""The bubble of a pipeline of two ranks with equal stages, measured beside its formula, (p - 1) / (m + p - 1), and of
zb-h1 (p - 1) / (3 m + p - 1): a model of
eight equal blocks and a vocabulary of 256, on one core a rank, with m micro-batches a step.

Usage: tests/benchmark/bubble.py OCTET_TRAIN TOKENS [--micro-batches 2 4 8 16] [--order 1f1b] [--repeat 3]
TOKENS is the PREFIX of a pair of token files of bytes. Needs two cores that nothing else uses. Prints a table: of each m
the share of a step that a rank's profile calls exposed communication (it waits for the other stage), with what part of
the step it is by the formula, and a step's time on one rank and on two. Each value is the median of the runs.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

MODEL = "dim: 512\nlayers: 8\nheads: 8\nkv_heads: 8\nffn_dim: 1536\nvocab_size: 256\n"
RUN = """model: {folder}/model.yaml
precision: fp32
train: {{steps: 10, seq_len: 256, global_batch: {m}, micro_batch: 1, profile: 5-10}}
schedule: {{kind: constant, warmup_steps: 0}}
data: {{train: {tokens}, validation_fraction: 0}}
parallel: {{pp: {pp}, pp_schedule: {order}}}
"""


def profile(options, pp, m):
    """Milliseconds of a step, and the share of them in which ranks wait."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "model.yaml").write_text(MODEL)
        order = options.order if pp > 1 else "1f1b"
        (folder / "run.yaml").write_text(RUN.format(folder=folder, m=m, tokens=options.tokens.resolve(), pp=pp, order=order))
        subprocess.run(["mpiexec", "-n", str(pp), options.octet_train, folder / "run.yaml", "--run.dir", folder / "run"],
                       check=True, env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = json.loads((folder / "run" / "profile.json").read_text())
    ranks = found["ranks"]
    waits = statistics.mean(rank["seconds"]["exposed_communication"] / rank["wall"] for rank in ranks)
    steps = found["steps"][1] - found["steps"][0] + 1
    return 1e3 * ranks[0]["wall"] / steps, waits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octet_train", type=pathlib.Path)
    parser.add_argument("tokens", type=pathlib.Path)
    parser.add_argument("--micro-batches", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--order", default="1f1b")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.order}, 2 ranks\n\n| micro-batches | bubble by the formula | measured | 1 rank, ms a step | 2 ranks, ms a step | times as fast |")
    print("|---|---|---|---|---|---|")
    for m in options.micro_batches:
        runs = [(profile(options, 1, m)[0], *profile(options, 2, m)) for _ in range(options.repeat)]
        one, two, waits = (statistics.median(column) for column in zip(*runs))
        print(f"| {m} | {100 / ((3 if options.order == 'zb-h1' else 1) * m + 1):.1f} % | {100 * waits:.1f} % | {one:.0f} | {two:.0f} | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    main()
