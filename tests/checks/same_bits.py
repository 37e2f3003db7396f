#!/usr/bin/env python3
"""Trains the same small runs with the programs of two builds and compares what they leave, to the bit: losses, gradient
norms and memory of metrics.jsonl, every tensor of the checkpoint and who wrote which piece of it, and the traces of all
ranks (GEMMs and collectives, but those of the group control) line by line. For those who rebuild a room without changing what it computes.

Usage: tests/checks/same_bits.py BUILD_A BUILD_B [--quick] [--only REGEX] [--list] [--jobs N] [--keep DIR]
  BUILD_A, BUILD_B   folders of builds, e.g. build/cpu of two worktrees; A's octet reads the checkpoints of both
  --quick            every precision and recipe, and every layout, once or twice: two minutes instead of ten
  --only REGEX       only the runs whose name matches
  --list             print the names of the runs and stop
  --jobs N           runs at a time (default: as many as there are cores)
  --keep DIR         leave the runs there, in folders A and B of each

Prints a line a run; exit 1 if anything differs, 2 if nothing was compared.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

MODEL = "dim: 32\nlayers: 3\nheads: 4\nkv_heads: 2\nhead_dim: 16\nffn_dim: 64\nvocab_size: 256\n"
MODELS = {"tiny": MODEL, "tied": MODEL + "tied_embedding: true\n", "deep": MODEL.replace("layers: 3", "layers: 4")}
COMMON = {
    "model": "../../tiny.yaml", "run.dir": "run", "run.tensorboard": "false", "comm.trace": "true",
    "data.train": "../../data/text", "data.validation_fraction": "0.1",
    "train.steps": "4", "train.seq_len": "32", "train.global_batch": "12", "train.micro_batch": "1",
    "train.validation_batches": "2", "optimizer.lr": "3e-3", "schedule.kind": "constant", "schedule.warmup_steps": "0",
    "checkpoint.interval": "1000",
}

NUMBERS = {
    "fp32": "--precision fp32",
    "bf16": "--precision bf16",
    "tensorwise": "--precision float8",
    "tensorwise, bf16 gathers": "--precision float8 --float8.all_gather false",
    "rowwise": "--precision float8 --float8.recipe rowwise",
    "rowwise_with_gw_hp": "--precision float8 --float8.recipe rowwise_with_gw_hp",
    "delayed": "--precision float8 --float8.recipe delayed --float8.delayed_history 3",
    "delayed, bf16 gathers": "--precision float8 --float8.recipe delayed --float8.delayed_history 3 "
                             "--float8.all_gather false",
}
LAYOUTS = {  # ranks and options; dp_shard 3 pads
    "1 rank": (1, ""),
    "dp_shard 2": (2, "--parallel.dp_shard 2"),
    "dp_shard 3": (3, "--parallel.dp_shard 3"),
    "tp 2": (2, "--parallel.tp 2 --parallel.dp_shard 1"),
    "dp_shard 2 x tp 2": (4, "--parallel.dp_shard 2 --parallel.tp 2"),
    "dp_replicate 2 x dp_shard 2": (4, "--parallel.dp_replicate 2 --parallel.dp_shard 2"),
}
RECOMPUTE = {
    "full": "--recompute.mode full",
    "elementwise": "--recompute.mode selective --recompute.preset elementwise",
    "ffn": "--recompute.mode selective --recompute.preset ffn",
    "linears": "--recompute.mode selective --recompute.preset linears",
}
# What one option changes, where it matters: numbers, layout, options.
VARIANTS = {
    "2 x 2 x 2": ("tensorwise", 8, "--parallel.dp_replicate 2 --parallel.dp_shard 2 --parallel.tp 2 --train.global_batch 8"),
    "delayed, 2 x 2 x 2": ("delayed", 8, "--parallel.dp_replicate 2 --parallel.dp_shard 2 --parallel.tp 2 --train.global_batch 8"),
    # by the old name of parallel.zero 2, which builds before it know too
    "weights stay": ("tensorwise", 4, "--parallel.dp_shard 2 --parallel.tp 2 --parallel.reshard_after_forward never"),
    "weights stay, bf16": ("bf16", 2, "--parallel.dp_shard 2 --parallel.reshard_after_forward never"),
    "overlap": ("tensorwise", 2, "--parallel.dp_shard 2 --parallel.overlap true"),
    "overlap, delayed": ("delayed", 2, "--parallel.dp_shard 2 --parallel.overlap true"),
    "bf16 gradient wire": ("bf16", 2, "--parallel.dp_shard 2 --parallel.gradient_wire bf16"),
    "bf16 gradients of one shard": ("tensorwise", 1, "--parallel.gradient_wire bf16 --train.micro_batch 12"),
    "one-rank exchange": ("tensorwise", 1, "--parallel.one_rank_exchange true"),
    "async_tp, bf16": ("bf16", 2, "--parallel.tp 2 --parallel.async_tp true"),
    "async_tp, tensorwise": ("tensorwise", 4, "--parallel.dp_shard 2 --parallel.tp 2 --parallel.async_tp true"),
    "async_tp, delayed": ("delayed", 2, "--parallel.tp 2 --parallel.async_tp true"),
    "tp_keep_gathered, bf16": ("bf16", 2, "--parallel.tp 2 --parallel.tp_keep_gathered true"),
    "tp_keep_gathered, rowwise": ("rowwise", 2, "--parallel.tp 2 --parallel.tp_keep_gathered true"),
    "tp_keep_gathered, delayed": ("delayed", 2, "--parallel.tp 2 --parallel.tp_keep_gathered true"),
    "some blocks bf16": ("tensorwise", 2, "--parallel.dp_shard 2 --float8.bf16_first_layers 1"),
    "last block bf16, delayed": ("delayed", 2, "--parallel.tp 2 --float8.bf16_last_layers 1"),
    "some linears bf16": ("rowwise", 2, "--parallel.tp 2 --float8.bf16_linears '[attention.wk, feed_forward.w2]'"),
    "powers of two": ("tensorwise", 1, "--float8.round_scales_to_power_of_two true"),
    "no powers of two": ("rowwise", 1, "--float8.round_scales_to_power_of_two false"),
    "hopper sums": ("tensorwise", 1, "--float8.accumulate hopper"),
    "most_recent": ("delayed", 2, "--parallel.dp_shard 2 --float8.delayed_algorithm most_recent --float8.delayed_margin 1"),
    "recompute every second": ("rowwise_with_gw_hp", 2, "--parallel.dp_shard 2 --recompute.mode full --recompute.every 2 --model ../../deep.yaml"),
    "keep list": ("tensorwise", 2, "--parallel.tp 2 --recompute.mode selective --recompute.keep '[q, k, v, attention_cast]'"),
    "micro-batches of 2": ("tensorwise", 2, "--parallel.dp_shard 2 --train.micro_batch 2"),
    "tied embedding": ("bf16", 2, "--parallel.dp_shard 2 --model ../../tied.yaml"),
    "tied embedding, tp": ("tensorwise", 2, "--parallel.tp 2 --model ../../tied.yaml"),
    "no late results": ("tensorwise", 2, "--parallel.dp_shard 2 --train.late_results false"),
}


def cases(quick):
    """Name -> (ranks, options)."""
    found = {}
    layouts, recomputes = list(LAYOUTS), list(RECOMPUTE)
    for i, (numbers, precision) in enumerate(NUMBERS.items()):
        for j, layout in enumerate(layouts):
            ranks, parallel = LAYOUTS[layout]
            if not quick or (i - j) % len(layouts) == 0 or layout == "dp_shard 2 x tp 2":
                found[f"{numbers} | {layout}"] = (ranks, f"{precision} {parallel}")
        # Each precision with each way to recompute, over the layouts in turn.
        for j, recompute in enumerate(recomputes):
            layout = layouts[(i + 2 * j) % len(layouts)]
            ranks, parallel = LAYOUTS[layout]
            if not quick or (i + j) % len(recomputes) == 0:
                found[f"{numbers} | {layout} | recompute {recompute}"] = (ranks, f"{precision} {parallel} {RECOMPUTE[recompute]}")
    for name, (numbers, ranks, options) in VARIANTS.items():
        if not quick or ranks == 8:
            found[f"{numbers} | {name}"] = (ranks, f"{NUMBERS[numbers]} {options}")
    return found


def text():
    """Sentences by a linear congruence: the same bytes everywhere."""
    words = "the of and water in that was house for on are with as his they be at one have this from night by hot".split()
    x, written = 1, ""
    while len(written) < 20000:
        sentence = []
        for _ in range(4 + x % 5):
            x = (x * 1103 + 12345) % 65536
            sentence.append(words[x % len(words)])
        written += " ".join(sentence) + ".\n"
    return written


def programs(build):
    folder = os.path.join(build, "bin") if os.path.isdir(os.path.join(build, "bin")) else build
    for name in ("octet", "octet-train"):
        if not os.access(os.path.join(folder, name), os.X_OK):
            sys.exit(f"same_bits: no {name} in {folder}: build the targets octet and octet-train")
    return os.path.abspath(folder)


def run(command, folder):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    try:
        return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=300, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, "", f"ended after {late.timeout:.0f} s")


def train(bin_folder, work, ranks, options):
    os.makedirs(work)
    common = " ".join(f"--{key} {value}" for key, value in COMMON.items() if f"--{key} " not in options)
    return run(f"mpiexec -n {ranks} {bin_folder}/octet-train {common} {options} >said 2>&1", work)


def metrics(folder):
    """Of every step what is not a time, in the digits that were written."""
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line, parse_float=str, parse_int=str) for line in file]
    keys = ("step", "loss", "grad_norm", "lr", "tokens", "validation_loss", "non_finite")
    return [{k: row.get(k) for k in keys} for row in rows], [row.get("memory_bytes") for row in rows]


def lines(folder, rank):
    """Without the group control, on which ranks agree how far their checkpoint is: that goes by the clock."""
    with open(os.path.join(folder, f"trace-rank{rank}.jsonl"), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if '"group":"control"' not in line]


def first_difference(a, b, what):
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"{what} {i + 1}: {x} in A, {y} in B"
    return f"{what}s: {len(a)} in A, {len(b)} in B" if len(a) != len(b) else None


def pieces(folder):
    """The step, and of its checkpoint every tensor's form and which writer holds which part of it."""
    root = os.path.join(folder, "checkpoints")
    step = max(name for name in os.listdir(root) if name.startswith("step-") and "." not in name)
    with open(os.path.join(root, step, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    return [step] + manifest["tensors"] + manifest["pieces"]


def compare(octet, ranks, folder):
    """What differs, as texts."""
    a, b = os.path.join(folder, "A/run"), os.path.join(folder, "B/run")
    (rows_a, memory_a), (rows_b, memory_b) = metrics(a), metrics(b)
    found = [first_difference(rows_a, rows_b, "step"), first_difference(memory_a, memory_b, "memory of step"),
             first_difference(pieces(a), pieces(b), "entry of the manifest")]
    if not rows_a:
        found.append("no step was logged")
    for rank in range(ranks):
        trace_a, trace_b = lines(a, rank), lines(b, rank)
        found.append(first_difference(trace_a, trace_b, f"rank {rank}, line"))
        if not trace_a:
            found.append(f"rank {rank} has an empty trace")
    diff = run(f"{octet}/octet checkpoint diff A/run B/run --brief", folder)
    if diff.returncode != 0 or not re.search(r"^([1-9]\d*) of \1 tensors identical$", diff.stdout, re.M):
        found.append("checkpoint: " + "; ".join((diff.stdout + diff.stderr).strip().splitlines()[-4:]))
    return [text for text in found if text]


def try_case(builds, work, number, ranks, options):
    """What differs, or why there was nothing to compare."""
    folder = os.path.join(work, f"run-{number:03}")
    refused = []
    for name, build in zip("AB", builds):
        result = train(build, os.path.join(folder, name), ranks, options)
        if result.returncode != 0:
            with open(os.path.join(folder, name, "said"), encoding="utf-8", errors="replace") as file:
                said = [line.strip() for line in file.read().splitlines() if " E " in line or "rror" in line]
            refused.append(f"{name} ended with {result.returncode}: {result.stderr}{said[0] if said else ''}")
    return refused or compare(builds[0], ranks, folder)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("builds", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep")
    given = parser.parse_args()
    chosen = {name: case for name, case in cases(given.quick).items() if re.search(given.only, name)}
    if given.list:
        print("\n".join(chosen))
        return 0
    if len(given.builds) != 2:
        sys.exit(__doc__)
    builds = [programs(build) for build in given.builds]
    with tempfile.TemporaryDirectory(prefix="octet-same-bits-") as temporary:
        work = os.path.abspath(given.keep) if given.keep else temporary
        os.makedirs(work, exist_ok=True)
        for name, content in [(f"{name}.yaml", model) for name, model in MODELS.items()] + [("text.txt", text())]:
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(content)
        prepared = run(f"{builds[0]}/octet prepare --input text.txt --output data/text", work)
        if prepared.returncode != 0:
            sys.exit(f"same_bits: octet prepare: {prepared.stderr}")
        different = 0
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            running = {name: pool.submit(try_case, builds, work, i, *case) for i, (name, case) in enumerate(chosen.items())}
            for name, future in running.items():
                problems = future.result()
                different += bool(problems)
                print(f"{name:<64} {'DIFFERS' if problems else 'same'}", flush=True)
                for problem in problems[:4]:
                    print(f"    {problem[:400]}", flush=True)
    print(f"same_bits: {len(chosen) - different} of {len(chosen)} runs are the same to the bit")
    return 2 if not chosen else int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
