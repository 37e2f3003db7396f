#!/usr/bin/env python3
"""Plants faults that pipelines are known for, one after the other, and shows that tests find each by name: for a loss curve
alone hides most of them (AdamW does not notice gradients of another scale, a tied embedding learns from one end too).

Usage: tests/equivalence/planted_faults.py FOLDER [--only NAME] [--ranks 2]
       tests/equivalence/planted_faults.py --check        only whether each place is still in the source, once
FOLDER gets a copy of the source as it is committed and its build (minutes at the first time); the tests of pipelines are built and
run there with each fault on that many ranks, and without any. Ends with 1 where a fault is found by no test, where its
place in the source is no longer there, or where the tests fail without one. Takes half a minute to two a fault on two cores.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILTER = "*LayoutsInFp32*:*PipelineState*"

# What is wrong, where, and how it is written.
FAULTS = {
    "misaligned shards of a tied embedding": (
        "src/parallel/pipeline/tied_embedding.cpp",
        "{.x = theirs, .y = mine, .n = n}", "{.x = theirs + 1, .y = mine, .n = n - 1}"),
    "a wrong divisor of the loss": (
        "src/train/step/trainer.cpp",
        "std::max<std::int64_t>(result.work.targets, 1));\n  model_",
        "std::max<std::int64_t>(result.work.targets, 1) * config_.parallel.pp);\n  model_"),
    "swapped chunks of a rank": (
        "src/train/step/pipeline_plan.cpp",
        "shape.stage(pp_rank, chunk))]);",
        "shape.stage(pp_rank, pp_rank == 0 && chunk > 0 ? shape.chunks - chunk : chunk))]);"),
    "stale activations of a micro-batch": (
        "src/parallel/pipeline/stage_links.cpp",
        "  compute_.device().copy(data.data, landing",
        "  if (step.pass.micro_batch != 1) compute_.device().copy(data.data, landing"),
    "gradients that the last micro-batch wipes": (
        "src/parallel/fsdp_gradients.cpp",
        "const bool adds = unit.closed > 0 && ", "const bool adds = unit.closed > 0 && unit.closed + 1 < micro_batches_ && "),
}


def run(command, folder, limit):
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OCTET_TEST_PAUSES="0.1")
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, timeout=limit, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return 124, f"not done after {limit} s\n"
    return done.returncode, done.stdout


def must(command, folder):
    code, output = run(command, folder, 3600)
    if code:
        sys.exit(f"{' '.join(map(str, command))} ended with {code}:\n{output[-3000:]}")


def tests_that_fail(source, ranks):
    """Builds and runs; the names of the tests that fail, and how the program ended."""
    build = source / "build" / "suite" / "cpu"
    must(["cmake", "--build", build, "--target", "octet-test-equivalence"], source)
    program = build / "bin" / "octet-test-equivalence"
    code, output = run(["mpiexec", "-n", ranks, program, f"--gtest_filter={FILTER}"], source, 900)
    found = set(re.findall(r"\[  FAILED  \] ([\w/]+\.[\w/]+)", output))
    if code and not found:  # it ended within a test
        found = set(re.findall(r"\[ RUN      \] ([\w/]+\.[\w/]+)", output)[-1:])
    return code, sorted(found), output


def place_of(name, text, path, before):
    if text.count(before) != 1:
        sys.exit(f"{path} has {text.count(before)} places for \"{name}\", expected one: {before}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", choices=sorted(FAULTS))
    parser.add_argument("--ranks", default="2")
    options = parser.parse_args()
    if options.check:
        for name, (path, before, _) in FAULTS.items():
            place_of(name, (ROOT / path).read_text(), path, before)
        return
    if options.folder is None:
        parser.error("FOLDER is missing")
    source = options.folder.resolve()
    if not source.exists():
        must(["git", "clone", "--quiet", ROOT, source], ROOT)
    must(["git", "checkout", "--quiet", "--", "."], source)
    must(["cmake", "--preset", "cpu", "-B", "build/suite/cpu", "-DOCTET_WERROR=ON", "-DOCTET_TESTS=ON", "-DOCTET_UNITY=12"], source)
    code, found, output = tests_that_fail(source, options.ranks)
    if code:
        sys.exit(f"without a fault {', '.join(found)} failed:\n{output[-3000:]}")
    print("no fault: all tests pass", flush=True)
    missed = 0
    for name, (path, before, after) in FAULTS.items():
        if options.only not in (None, name):
            continue
        text = (source / path).read_text()
        place_of(name, text, path, before)
        try:
            (source / path).write_text(text.replace(before, after))
            code, found, _ = tests_that_fail(source, options.ranks)
        finally:
            (source / path).write_text(text)
        missed += code == 0
        print(f"{name}: {'found by no test' if code == 0 else f'found by {len(found)}: {chr(32).join(found[:3])}'}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
