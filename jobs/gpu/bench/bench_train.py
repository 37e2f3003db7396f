"""What a row of jobs/gpu/bench.sh asks of octet-train, and what it reads of its run."""

import json
import os
import re
import shutil
import statistics

# The lines of DynamicLibrary::log_version: what the dynamic loader gave to a program of Octet.
LOADED = re.compile(r"\b(cuBLASLt|cuDNN|NCCL|NVRTC) (\d+\.\d+\.\d+), (/.*)$", re.MULTILINE)
# Of Choosing::time in src/train/algorithms/choose_algorithms.cpp and of run_training in src/train/run/run.cpp.
CHOSEN = re.compile(r"\btimed the algorithms of \d+ .+ in (\d+\.\d+) s, for ")
STARTED = re.compile(r"\bbuffers taken and weights made in (\d+\.\d+) s$", re.MULTILINE)
PLANS = ("gemm-plans", "attention-plans")  # of a run's folder: src/train/start/run_directory.h


def read_log(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.read()


def libraries_of(log):
    """{name: {version, path}} of the libraries that a program of Octet says it has loaded."""
    return {name: {"version": version, "path": path} for name, version, path in LOADED.findall(read_log(log))}


def model_file(row):
    return "".join(f"{key}: {value}\n" for key, value in row["model"].items())


def train_options(row, model, tokens, run):
    """Of octet-train, for a step and for a start, which is a run of one step."""
    steps = {"start": 1}.get(row["op"]) or row["warmup"] + row["steps"]
    options = ["--model", model, "--precision", row["precision"], "--device", "cuda", "--train.seq_len", str(row["seq_len"]),
               "--train.micro_batch", "1", "--train.global_batch", str(row["micro_batches"]), "--train.steps", str(steps),
               "--data.train", tokens, "--data.validation_fraction", "0", "--schedule.kind", "constant", "--optimizer.lr", f"{row['lr']:g}",
               "--checkpoint.interval", "off", "--run.dir", run]
    # In so few steps auto would take the heuristic, and a run that is worth measuring times its choices.
    options += ["--cuda.gemm", row["plans"], "--cuda.attention", row["plans"]]
    options += ["--float8.recipe", row["recipe"]] if row["recipe"] else []
    options += ["--float8.fast_accumulate", row["fast"]] if row["fast"] else []
    options += ["--cuda.graphs", row["graphs"]] if row["graphs"] else []
    options += ["--parallel.gradient_wire", row["gradients"]] if row["gradients"] else []
    beside = row["beside"] or ("true" if row["multiprocessors"] or row["gemms"] else None)
    options += ["--optimizer.beside_forward", beside] if beside else []
    options += ["--optimizer.beside_multiprocessors", str(row["multiprocessors"])] if row["multiprocessors"] else []
    options += ["--optimizer.beside_gemms", row["gemms"]] if row["gemms"] else []
    return options


def copy_plans(row, source, target):
    """Copies files of plans between the folder that keeps them for all rows and a run's folder, in either direction: a
    row uses what earlier rows chose, as a run that goes on does. So stacks of two heights run the same algorithms, and
    each shape is timed once."""
    for name in PLANS if row["plans"] == "timed" else ():
        if os.path.exists(file := os.path.join(source, name)):
            shutil.copy(file, target)


def result_of(row, run, log):
    """Of a run that has ended well."""
    result = start_result(row, log) if row["op"] == "start" else step_result(row, run, log)
    if "error" not in result:
        result.update(libraries=libraries_of(log), flops=row["flops"], bytes=0)
    return result


def start_result(row, log):
    found = STARTED.search(read_log(log))
    if not found:
        return {"row": row["row"], "error": "the log does not say in how long buffers were taken and weights made"}
    return {"row": row["row"], "seconds": float(found[1])}


def step_result(row, run, log):
    """The mean of the steps after the warm-up that have a time (null: none was taken), but for the last one: see
    bench_steps.SECONDS."""
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        steps = [json.loads(line) for line in file]
    measured = [s for s in map(whole_step, steps[row["warmup"]:-1]) if s is not None]
    if not measured:
        return {"row": row["row"], "error": f"metrics.jsonl has no step_seconds after step {row['warmup']}"}
    # Seconds that choices took before the first step: none of them is in a step's.
    chosen = round(sum(map(float, CHOSEN.findall(read_log(log)))), 1)
    return {"row": row["row"], "seconds": statistics.fmean(measured), "lowest": min(measured), "highest": max(measured),
            "repeats": len(measured), "tokens": row["seq_len"] * row["micro_batches"], "loss_first": steps[0]["loss"],
            "loss_last": steps[-1]["loss"], "choice_seconds": chosen, "memory_bytes": steps[-1]["memory_bytes"]}


def whole_step(line):
    """Seconds from one step's end to the next one's, as PyTorch's rows are timed: with the device's waiting for data and
    for the host. None: the line of metrics.jsonl has no time."""
    if line["step_seconds"] is None:
        return None
    waiting = line.get("data_seconds", 0) + line.get("wait_seconds", 0)
    return line["step_seconds"] + waiting / line.get("interval_steps", 1)
