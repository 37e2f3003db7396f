#!/usr/bin/env python3
"""Trains small runs of drawn layouts, recipes and schedules on emulated GPUs and looks for work of different streams that
reaches the same bytes with no order between it (docs/cuda-backend.md, "Kernels without a GPU"). In every second run, those
with an odd seed, hosts meet for every call of NCCL and not for the first alone, so that hosts in another order hang.

Usage: tests/checks/stream_races.py BUILD [--seed N] [--runs N] [--keep DIR]
  BUILD        a folder of a CUDA build that has octet-train-emulated-checked (and octet), e.g. build/cuda
  --seed N     the first drawn run (default 1); a run is told again by its seed with --runs 1
  --runs N     how many (default 20); one takes some five seconds
  --keep DIR   leave the runs there

A drawn run that octet-train refuses as impossible is passed over. Prints a line a run; exit 1 if one fails, 2 if none ran.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

REFUSED = 64  # a wrong command line, by docs/run-directories.md
SHAPE = "dim: 64\nheads: 4\nkv_heads: 2\nhead_dim: 16\nffn_dim: 128\nvocab_size: 256\n"
COMMON = {
    "data.validation_fraction": "0.1", "device": "cuda", "train.steps": "4", "train.seq_len": "32",
    "train.validation_batches": "1", "train.validate_every": "2", "checkpoint.interval": "2", "optimizer.lr": "1e-3",
    "schedule.kind": "constant", "schedule.warmup_steps": "0",
}


def draw_layout(draw, options):
    """The ranks, and how many blocks the model needs."""
    ranks, layers, micro_batches = draw([1, 2, 2, 4, 4]), draw(range(1, 7)), draw([1, 2, 3, 4])
    pp = draw([n for n in (1, 2, 4) if n <= ranks])
    tp = draw([n for n in (1, 2) if n * pp <= ranks])
    replicas = draw([n for n in (1, 2, 4) if n * pp * tp <= ranks])
    shards = ranks // (pp * tp * replicas)
    if pp > 1:
        layers, micro_batches = max(layers, pp), max(micro_batches, pp)
        options["parallel.pp_schedule"] = draw(["1f1b", "interleaved", "zb-h1"])
        if options["parallel.pp_schedule"] == "interleaved":
            options["parallel.pp_chunks"] = draw([2, 3])
            layers = max(layers, pp * options["parallel.pp_chunks"])
    if tp > 1:
        options["parallel.async_tp"] = draw(["true", "false"])
    if shards > 1:
        options["parallel.gradient_wire"] = draw(["fp32", "bf16"])
        options["parallel.overlap"] = draw(["true", "true", "false"])
    elif ranks == 1:
        options["parallel.one_rank_exchange"] = draw(["true", "false"])
    options["parallel.zero"] = draw(["auto", "1", "2", "3"])
    if options["parallel.zero"] == "1":
        options["parallel.whole_gradients"] = draw(["fp32", "bf16"])
    micro_batch = draw([1, 2])
    options.update({"parallel.pp": pp, "parallel.tp": tp, "parallel.dp_replicate": replicas, "parallel.dp_shard": shards,
                    "train.micro_batch": micro_batch,
                    "train.global_batch": micro_batch * micro_batches * replicas * shards})
    return ranks, layers


def drawn(seed):
    """The ranks, the model's file and the options of a run."""
    draw = random.Random(seed).choice
    options = {}
    ranks, layers = draw_layout(draw, options)
    options["precision"] = draw(["fp32", "bf16", "float8", "float8", "float8"])
    if options["precision"] == "float8":
        options["float8.recipe"] = draw(["tensorwise", "tensorwise", "rowwise", "rowwise_with_gw_hp", "delayed", "delayed"])
        options["float8.keep_transposed_weights"] = draw(["auto", "auto", "true", "false"])
        if options["float8.recipe"] == "delayed":
            options["float8.delayed_history"] = 3
        if layers > 1:
            options["float8.bf16_last_layers"] = draw([0, 0, 1])
    options["recompute.mode"] = draw(["none", "none", "full", "selective"])
    if options["recompute.mode"] == "selective":
        options["recompute.preset"] = draw(["elementwise", "ffn", "linears"])
    options["cuda.graphs"] = draw(["auto", "auto", "false"])
    options["data.document_mask"] = draw(["false", "false", "true"])
    tied = draw(["", "", "tied_embedding: true\n"])
    return ranks, f"{SHAPE}layers: {layers}\n{tied}", options


def prepare_text(octet, folder):
    with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as f:
        f.writelines(f"the of and water {i} in that was house {i * 7 % 13}\n" for i in range(3000))
    subprocess.run([octet, "prepare", "--input", "text.txt", "--output", "data/text"], cwd=folder, check=True,
                   capture_output=True, timeout=60)


def train(program, folder, seed):
    """The exit code, and what was said."""
    ranks, model, options = drawn(seed)
    with open(os.path.join(folder, f"model-{seed}.yaml"), "w", encoding="utf-8") as f:
        f.write(model)
    given = {"model": f"./model-{seed}.yaml", "run.dir": f"run-{seed}", "data.train": "data/text", **COMMON, **options}
    command = ["mpiexec", "-n", str(ranks), program] + [word for key, value in given.items() for word in (f"--{key}", str(value))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "OCTET_EMULATED_DEVICES": str(ranks),
                   "OCTET_EMULATED_MEETINGS": str(seed % 2)}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return "no end", (late.stderr or b"").decode()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--keep")
    args = parser.parse_args()
    program, octet = (os.path.abspath(os.path.join(args.build, f)) for f in ("emulated-checked/bin/octet-train", "bin/octet"))
    if not (os.access(program, os.X_OK) and os.access(octet, os.X_OK)):
        sys.exit(f"stream_races: {args.build} has no {program} or {octet}: build octet-train-emulated-checked and octet")
    ran = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        prepare_text(octet, folder)
        for seed in range(args.seed, args.seed + args.runs):
            code, said = train(program, folder, seed)
            if code == REFUSED:
                continue
            ran += 1
            failed += code != 0
            ranks, _, options = drawn(seed)
            text = " ".join(f"{key} {value}" for key, value in options.items())
            print(f"{'ok' if code == 0 else f'FAILED ({code})'} seed {seed}, {ranks} ranks: {text}", flush=True)
            if code != 0:
                faults = [line for line in said.splitlines() if line.startswith("emulated device: ") or " E " in line]
                print("    " + "\n    ".join(faults[:4] or said.splitlines()[-4:]))
    print(f"stream_races: {ran} runs, {failed} failed; {args.runs - ran} drawn ones are impossible")
    return 1 if failed else 0 if ran else 2


if __name__ == "__main__":
    sys.exit(main())
