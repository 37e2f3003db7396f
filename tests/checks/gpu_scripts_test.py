#!/usr/bin/env python3
"""Proves jobs/gpu: what its scripts say with and without a GPU, with programs that are made up here; and which nvcc
jobs/install-cuda.sh takes."""
import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GPU = os.path.join(ROOT, "jobs/gpu")
sys.path.insert(0, GPU)
import all_plan  # noqa: E402
import bench_rows  # noqa: E402
import bench_table  # noqa: E402
import compare_losses  # noqa: E402

BENCH_GPU = """
import json, os, sys, time
if "--libraries" in sys.argv:
    sys.exit(print("libcudnn.so.9: not found"))
if "--device" in sys.argv:
    if os.environ.get("NO_GPU"):
        sys.exit(print(os.environ["NO_GPU"], file=sys.stderr) or 3)
    print(json.dumps({"device": os.environ.get("DEVICE", "NVIDIA H100 80GB HBM3"), "memory_bytes": 84942979072, "bf16_peak": 989e12,
                      "fp8_peak": 1979e12, "devices": int(os.environ.get("DEVICES", 1))}))
    sys.exit()
print("10:00:00 I cuBLASLt 13.1.0, /with a space/libcublasLt.so.13", file=sys.stderr, flush=True)
for line in open(sys.argv[sys.argv.index("--rows") + 1]):
    row = json.loads(line)["row"]
    if row == os.environ.get("HANGS_AT"):
        time.sleep(100)
    if os.environ.get("SAY_PATH"):
        print(json.dumps({"row": row, "error": os.environ["PATH"].split(":")[0]}), flush=True)
        continue
    if row == os.environ.get("DIES_AT"):
        sys.exit(9)
    error = {"error": "broken"} if row == os.environ.get("BAD_ROW") else {"seconds": 1e-3}
    print(json.dumps({"row": row, **error}), flush=True)
"""

TEST_GPU = """
import json, os, sys
report = next(a.split(":", 1)[1] for a in sys.argv if a.startswith("--gtest_output"))
kind = os.environ.get("TESTS", "COMPLETED")
test = {"name": "A", "status": "RUN", "result": "SKIPPED" if kind == "SKIPPED" else "COMPLETED"}
if kind == "FAILED":
    test["failures"] = [{"failure": "x"}]
json.dump({"testsuites": [{"name": "S", "testsuite": [test]}]}, open(report, "w"))
print("noise\\nsums of fp8 products, fast accumulation: 9 of 10 have the emulation's bits (90.0000 %)")
sys.exit(kind == "FAILED")
"""

OCTET = """
import sys
open(sys.argv[sys.argv.index("--output") + 1] + ".bin", "w").write("tokens")
"""

# octet-train with rules of the real one: an option once, with a value that it takes, where it has an effect; algorithms
# that are timed are kept in the run's folder, and those that stand there are used again.
TRAIN = """
import json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
get = lambda key: options[key]
names = [a for a in sys.argv if a.startswith("--")]
assert len(names) == len(set(names)) and len(sys.argv) == 1 + 2 * len(names), sys.argv
assert os.path.exists(get("--data.train") + ".bin")
assert not [name for name in os.environ if name.startswith("PMI")]
takes = {"--cuda.gemm": "auto heuristic timed", "--cuda.attention": "auto heuristic timed", "--cuda.graphs": "auto true false",
         "--float8.recipe": "tensorwise rowwise rowwise_with_gw_hp delayed blockwise", "--float8.fast_accumulate": "forward all",
         "--precision": "fp32 bf16 float8", "--device": "cpu cuda"}
for key, values in takes.items():
    if options.get(key, values.split()[0]) not in values.split():
        sys.exit(print(key, get(key), "is none of", values, file=sys.stderr) or 64)
for section, where in (("--cuda.", get("--device") == "cuda"), ("--float8.", get("--precision") == "float8")):
    if not where and any(key.startswith(section) for key in options):
        sys.exit(print(section, "has no effect here", file=sys.stderr) or 64)
if os.environ.get("TRAIN_HANGS"):
    import time
    time.sleep(100)
if get("--device") == "cuda" and os.environ.get("TRAIN_FAILS"):
    sys.exit(print("no such luck", file=sys.stderr) or 70)
print("10:00:00 I cuDNN 9.19.0, /x/libcudnn.so.9", file=sys.stderr)
print("10:00:00 I NVRTC 13.0.0, /x/libnvrtc.so.13", file=sys.stderr)
os.makedirs(get("--run.dir"), exist_ok=True)
shape = get("--precision") + open(get("--model")).read().split("layers")[0] if os.path.exists(get("--model")) else ""
for kind, many in (("gemm", "GEMMs"), ("attention", "attention passes")):
    file = get("--run.dir") + f"/{kind}-plans"
    there = open(file).read() if os.path.exists(file) else ""
    if options.get("--cuda." + kind) == "timed" and shape not in there:
        open(file, "w").write(there + shape)
        print(f"10:00:00 I timed the algorithms of 3 {many} in 1.5 s, for {file}", file=sys.stderr)
if not os.environ.get("NO_START"):
    print("10:00:00 I buffers taken and weights made in 4.50 s", file=sys.stderr)
factor = 1 + (float(os.environ.get("GPU_ERROR", 0)) if get("--device") == "cuda" else 0)
with open(get("--run.dir") + "/metrics.jsonl", "w") as file:
    for step in range(1, int(get("--train.steps")) + 1):
        seconds = None if str(step) in os.environ.get("UNTIMED", "").split() else 50 if step == 1 else 0.1
        line = {"step": step, "loss": 5.5 / step * factor, "step_seconds": seconds, "mfu": None, "memory_bytes": 2**30}
        file.write(json.dumps(line) + "\\n")
"""

# Saves every 10 steps, logs on without end, and goes on from what it saved; RESUME_ERROR: with another loss.
RESUMING_TRAIN = """
import glob, json, os, sys, time
get = lambda key: sys.argv[sys.argv.index(key) + 1]
assert (get("--device") == "cuda") == ("--cuda.deterministic" in sys.argv)
run, steps = get("--run.dir"), int(get("--train.steps"))
if os.environ.get("ENDS_EARLY"):
    sys.exit(70)
os.makedirs(run + "/checkpoints", exist_ok=True)
saved = max([int(path[-6:]) for path in glob.glob(run + "/checkpoints/step-*") if not path.endswith(".tmp")] or [0])
if os.environ.get("BEGINS_ANEW"):
    saved = 0
lines = [json.loads(line) for line in open(run + "/metrics.jsonl")] if os.path.exists(run + "/metrics.jsonl") else []
with open(run + "/metrics.discarded.jsonl", "a") as file:
    file.writelines(json.dumps(line) + "\\n" for line in lines if line["step"] > saved)
with open(run + "/metrics.jsonl", "w") as file:
    file.writelines(json.dumps(line) + "\\n" for line in lines if line["step"] <= saved)
    for step in range(saved + 1, steps + 1):
        loss = 5.5 / step + (float(os.environ.get("RESUME_ERROR", 0)) if saved else 0)
        line = {"step": step, "loss": loss, "grad_norm": 1.5, "restarts": int(saved > 0)}
        file.write(json.dumps(line) + "\\n")
        file.flush()
        if get("--checkpoint.interval") != "off" and step % 10 == 0:
            os.makedirs(run + f"/checkpoints/step-{step:06}", exist_ok=True)
        time.sleep(0.002 if steps > 1000 else 0)
"""

# octet with `generate` and octet-evaluate: another text or loss on the GPU where they are asked for it.
GENERATING_OCTET = """
import os, sys
get = lambda key: sys.argv[sys.argv.index(key) + 1]
if sys.argv[1] == "prepare":
    sys.exit(open(get("--output") + ".bin", "w").write("tokens") and 0)
assert os.path.exists(sys.argv[2] + "/metrics.jsonl")
print(get("--prompt"), "behind it", os.environ.get("OTHER_TEXT", "") if get("--device") == "cuda" else "")
"""

EVALUATE = """
import json, os, sys
get = lambda key: sys.argv[sys.argv.index(key) + 1]
assert os.path.getsize(get("--text")) == 20000 and os.path.exists(sys.argv[1] + "/metrics.jsonl")
gpu = get("--device") == "cuda"
if gpu and os.environ.get("EVALUATE_FAILS"):
    sys.exit(print("no such luck", file=sys.stderr) or 70)
loss = None if gpu and os.environ.get("NOT_FINITE") else 3.5 * (1 + (float(os.environ.get("GPU_ERROR", 0)) if gpu else 0))
os.makedirs(get("--output"))
json.dump({"results": {"text": {"tokens": 100 + (gpu and int(os.environ.get("MORE_TOKENS", 0))), "loss": loss}}},
          open(get("--output") + "/results.json", "w"))
"""

# A script of jobs/gpu but bench.sh, of the part PART of all.sh: NAME or, of sanitize, its tool, of check, its option.
PART_SCRIPT = """
import os, subprocess, sys, time
name = os.path.basename(sys.argv[0]).removesuffix(".sh")
part = {"check": sys.argv[1].lstrip("-"), "sanitize": sys.argv[2]}.get(name, name)
output = sys.argv[sys.argv.index("--output") + 1]
assert not os.path.exists(output), output
with open(os.environ["CALLS"], "a") as file:
    file.write(part + "\\n")
if part == os.environ.get("HANGS"):
    subprocess.run(["sh", "-c", "sleep 1000 & echo $! >" + os.environ["CALLS"] + ".pid"], start_new_session=True)  # an orphan
    time.sleep(1000)
if part == os.environ.get("DIES"):
    sys.exit(1)
verdict = "FAILED" if part == os.environ.get("FAILS") else "SKIPPED" if part == os.environ.get("SKIPS") else "PASSED"
print(f"{name}: {verdict}: as asked")
sys.exit(verdict == "FAILED")
"""

SANITIZER = """
import os, subprocess, sys
print("=========", *sys.argv)
program = next(i for i, a in enumerate(sys.argv) if a.endswith("octet-test-gpu"))
code = subprocess.run(sys.argv[program:]).returncode
sys.exit(86 if os.environ.get("HAZARD") == sys.argv[sys.argv.index("--tool") + 1] else code)
"""

PYTHON = """
import json, os, sys
if os.environ.get("NO_TORCH"):
    sys.exit(print("no torch: none here", file=sys.stderr) or 3)
print("a library that prints")
for line in open(sys.argv[sys.argv.index("--rows") + 1]):
    print(json.dumps({"row": json.loads(line)["row"], "seconds": 2e-3, "torch": "2.0", "memory_bytes": 2**30,
                      "libraries": {"cuBLASLt": {"version": "12.9.1", "path": "/t/libcublasLt.so.12"}}}))
"""


SCRIPTS = ("check", "resume", "evaluate", "sanitize", "bench", "ranks", "exchange", "ctas", "all")


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.path = lambda name: os.path.join(self.work.name, name)
        for name, text in {"octet-bench-gpu": BENCH_GPU, "octet-test-gpu": TEST_GPU, "octet": OCTET,
                           "octet-train": TRAIN, "torch-python": PYTHON}.items():
            self.program(name, text)

    def program(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{text}")
        os.chmod(self.path(name), stat.S_IRWXU)

    def run_script(self, script, *arguments, **environment):
        """(exit code, output, last line)."""
        environment = {"OCTET_BIN": self.work.name, "OCTET_GPU_FILES": self.path("no-gpu*"), "OCTET_COMMIT": "c1",
                       **environment}
        done = subprocess.run([os.path.join(GPU, script), *arguments], env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        return done.returncode, done.stdout, done.stdout.splitlines()[-1] if done.stdout else ""


class WithoutGpuTest(ScriptTest):
    def test_every_script_skips_with_the_reason(self):
        for script in SCRIPTS:
            with self.subTest(script):
                code, _, last = self.run_script(f"{script}.sh", NO_GPU="no CUDA device: none here")
                self.assertEqual((code, last), (0, f"{script}: SKIPPED: no CUDA device: none here"))

    def test_check_says_which_libraries_are_found(self):
        self.assertIn("libcudnn.so.9: not found\n", self.run_script("check.sh", NO_GPU="none here")[1])

    def test_wrong_options_are_told_before_anything_else(self):
        for script, arguments, words in (("bench", ["--olny", "gemm"], "--olny"), ("bench", ["--only", "gemm("], "not a regular expression"),
                                         ("bench", ["--minutes", "-1"], "at least 0"), ("bench", ["--by", "jax"], "jax"),
                                         ("bench", ["--python", "/no/python"], "not a program"), ("bench", ["extra"], "extra"),
                                         ("check", ["--olny"], "--olny"), ("sanitize", ["--olny"], "--olny"),
                                         ("ranks", ["--olny"], "--olny"), ("ranks", ["--minutes", "x"], "expected a number"),
                                         ("all", ["--olny"], "--olny"),
                                         ("all", ["--minutes", "0"], "above 0"), ("all", ["--only", "nope"], "no part's name matches"),
                                         ("resume", ["--olny"], "--olny"), ("resume", ["--device", "tpu"], "cuda or cpu"),
                                         ("evaluate", ["--olny"], "--olny"), ("evaluate", ["--device", "tpu"], "cuda or cpu"),
                                         ("evaluate", ["--model"], "needs a value"),
                                         ("resume", ["--precisions", "fp8"], "fp32, bf16 and float8")):
            with self.subTest(script + " " + " ".join(arguments)):
                code, text, _ = self.run_script(f"{script}.sh", *arguments, NO_GPU="none here", OCTET_BIN="/nowhere")
                self.assertEqual(code, 64, text)
                self.assertIn(words, text)
                self.assertNotIn("none here", text)

    def test_a_gpu_that_cuda_cannot_use_is_a_failure(self):
        for script in SCRIPTS:
            with self.subTest(script):
                code, _, last = self.run_script(f"{script}.sh", NO_GPU="old driver", OCTET_GPU_FILES=self.path("octet*"))
                self.assertEqual(code, 1)
                self.assertRegex(last, f"^{script}: FAILED: .*cannot use: old driver")

    def test_help_needs_nothing(self):
        for script in SCRIPTS:
            code, text, _ = self.run_script(f"{script}.sh", "--help", OCTET_BIN="/nowhere")
            self.assertEqual(code, 0)
            self.assertIn("Usage: ", text)
            self.assertNotIn("set -euo", text)


class CheckTest(ScriptTest):
    def check(self, *arguments, **environment):
        return self.run_script("check.sh", "--output", self.path("out"), *arguments, **environment)

    def test_passes_with_a_table(self):
        code, text, last = self.check(GPU_ERROR="5e-5", PMI_FD="5", PMIX_RANK="0")
        self.assertEqual(code, 0, text)
        self.assertRegex(last, r"^check: PASSED: kernels training \(\d+ s\)$")
        self.assertEqual(len(re.findall(r"^(fp32|bf16|float8) .* ok$", text, re.MULTILINE)), 3)

    def test_says_how_many_sums_are_as_emulated(self):
        text = self.check("--kernels")[1]
        self.assertIn("\nsums of fp8 products, fast accumulation: 9 of 10 have the emulation's bits (90.0000 %)\n", text)
        self.assertNotIn("noise", text)

    def test_tolerances(self):
        code, text, last = self.check("--training", GPU_ERROR="1e-3")  # within 1e-2, not within 1e-4
        self.assertEqual(code, 1)
        self.assertRegex(last, "^check: FAILED: training in fp32 ")
        self.assertEqual(len(re.findall(r"^(bf16|float8) .* ok$", text, re.MULTILINE)), 2)
        self.assertIn("too far apart", text)

    def test_failures_are_named(self):
        for environment, pattern in (({"TESTS": "FAILED"}, "kernels"), ({"TESTS": "SKIPPED"}, "kernels"),
                                     ({"TRAIN_FAILS": "1"}, "training in fp32; training in bf16; training in float8")):
            with self.subTest(environment), tempfile.TemporaryDirectory() as out:
                code, text, last = self.run_script("check.sh", "--output", out + "/new", **environment)
                self.assertEqual(code, 1, text)
                self.assertRegex(last, f"^check: FAILED: {pattern}")

    def test_compare(self):
        run = {1: 5.0, 2: 4.0}
        self.assertEqual(compare_losses.compare(run, {1: 5.0, 2: 4.04}, 2, 0.02)[1:], (2, None))
        self.assertEqual(compare_losses.compare(run, {1: 5.0, 2: 4.04}, 2, 0.001)[2], "too far apart")
        self.assertIn("not finite", compare_losses.compare(run, {1: 5.0, 2: float("nan")}, 2, 1)[2])
        self.assertIn("1 of 2 steps", compare_losses.compare(run, {1: 5.0}, 2, 1)[2])
        self.assertIn("CPU logged 0", compare_losses.compare({}, {}, 2, 1)[2])


class ResumeTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.program("octet-train", RESUMING_TRAIN)

    def resume(self, *arguments, **environment):
        with tempfile.TemporaryDirectory() as out:
            return self.run_script("resume.sh", "--output", out + "/new", *arguments, **environment)

    def test_passes_where_every_loss_is_the_same(self):
        for device in ("cuda", "cpu"):
            code, text, last = self.resume("--device", device)
            self.assertEqual(code, 0, text)
            self.assertRegex(last, rf"^resume: PASSED: bf16,float8 on {device}, to the bit \(\d+ s\)$")
            for precision, killed, saved, steps, twice in re.findall(
                    r"^(\w+) +killed at step (\d+), went on from (\d+): .* of (\d+) steps, (\d+) of them done twice  ok$", text, re.M):
                self.assertEqual(int(saved), int(killed) // 10 * 10, precision)
                self.assertEqual((int(steps), int(twice)), (int(killed) + 10, int(killed) - int(saved)))
                self.assertGreaterEqual(int(killed), 15)
            self.assertEqual(len(re.findall(" ok$", text, re.M)), 2)

    def test_one_bit_is_a_failure(self):
        code, text, last = self.resume("--precisions", "bf16", RESUME_ERROR="1e-15")
        self.assertEqual(code, 1)
        self.assertRegex(last, "^resume: FAILED: bf16 ")
        self.assertRegex(text, r"FAILED: loss of step \d+ is 0.\d+, 0.\d+ in the whole run")

    def test_a_run_that_begins_anew_has_not_resumed(self):
        code, text, _ = self.resume("--precisions", "bf16", BEGINS_ANEW="1")
        self.assertEqual(code, 1)
        self.assertIn("FAILED: the killed run did not go on from a checkpoint", text)

    def test_a_run_that_ends_by_itself(self):
        code, text, last = self.resume(ENDS_EARLY="1")
        self.assertEqual(code, 1)
        self.assertIn("bf16: the run ended before it could be killed", text)
        self.assertRegex(last, "^resume: FAILED: bf16; float8 ")

    def test_the_cpu_needs_no_gpu(self):
        self.assertRegex(self.resume("--device", "cpu", "--precisions", "fp32", NO_GPU="none here")[2], "^resume: PASSED: fp32 on cpu")


class EvaluateTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.program("octet", GENERATING_OCTET)
        self.program("octet-evaluate", EVALUATE)

    def evaluate(self, *arguments, **environment):
        with tempfile.TemporaryDirectory() as out:
            return self.run_script("evaluate.sh", "--output", out + "/new", *arguments, **environment)

    def test_passes_with_a_table(self):
        code, text, last = self.evaluate(GPU_ERROR="5e-5")
        self.assertEqual(code, 0, text)
        self.assertRegex(last, r"^evaluate: PASSED: losses and generated text of the CPU and of cuda \(\d+ s\)$")
        self.assertEqual(len(re.findall(r"^(fp32|bf16|float8) .* ok$", text, re.M)), 3)
        self.assertRegex(text, r"(?m)^generated: \d\d+ bytes, the same on both$")

    def test_failures_are_named(self):
        for environment, named, said in (({"GPU_ERROR": "1e-3"}, "the loss in fp32 ", "too far apart"),
                                         ({"NOT_FINITE": "1"}, "the loss in fp32; the loss in bf16; the loss in float8 ", "not finite"),
                                         ({"MORE_TOKENS": "1"}, "the loss in fp32; ", "100 and 101 tokens"),
                                         ({"EVALUATE_FAILS": "1"}, "the loss in fp32; ", "no such luck"),
                                         ({"OTHER_TEXT": "x"}, "the generated text ", "differ")):
            with self.subTest(environment):
                code, text, last = self.evaluate(**environment)
                self.assertEqual(code, 1, text)
                self.assertRegex(last, f"^evaluate: FAILED: {named}")
                self.assertIn(said, text)

    def test_the_cpu_needs_no_gpu(self):
        self.assertRegex(self.evaluate("--device", "cpu", NO_GPU="none here")[2], "^evaluate: PASSED: .* of cpu ")


class AllTest(ScriptTest):
    """all.sh in a tree of its own, with its own bench.sh and other scripts that are made up."""

    def setUp(self):
        super().setUp()
        shutil.copytree(GPU, self.path("tree/jobs/gpu"), ignore=shutil.ignore_patterns("__pycache__"))
        for script in ("check", "resume", "evaluate", "ranks", "sanitize", "exchange", "ctas"):
            self.program(f"tree/jobs/gpu/{script}.sh", PART_SCRIPT)

    def all(self, *arguments, **environment):
        environment = {"OCTET_BIN": self.work.name, "OCTET_COMMIT": "c1", "CALLS": self.path("calls"), **environment}
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path("calls"))
        done = subprocess.run([self.path("tree/jobs/gpu/all.sh"), "--python", self.path("torch-python"), *arguments], text=True,
                              env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              check=False)
        return done.returncode, done.stdout, done.stdout.splitlines()[-1] if done.stdout else ""

    def calls(self):
        if not os.path.exists(self.path("calls")):
            return []
        with open(self.path("calls"), encoding="utf-8") as file:
            return file.read().split()

    @staticmethod
    def lives(process):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    @staticmethod
    def begun(text):
        return re.findall(r"^=== (?!summary)([\w.-]+):", text, re.M)

    scripts = ["kernels", "training", "resume", "evaluate", "memcheck", "ranks", "racecheck", "synccheck", "exchange", "ctas"]
    few = "kernels|resume|memory|ranks"

    def test_parts_run_once_for_a_commit_and_device_in_their_order(self):
        code, text, last = self.all("--only", self.few)
        self.assertEqual(code, 0, text)
        self.assertRegex(last, r"^all: PASSED: 4 of 4 parts passed \(\d+ s\)$")
        self.assertEqual(self.begun(text), ["kernels", "memory", "resume", "ranks"])
        self.assertEqual(self.calls(), ["kernels", "resume", "ranks"])
        rows = os.path.join(self.path("tree"), "runs/gpu-all-c1/results.jsonl")
        self.assertGreater(os.path.getsize(rows), 0)
        code, text, last = self.all("--only", self.few)
        self.assertRegex(last, "^all: PASSED: 4 of 4 parts passed")
        self.assertEqual(self.calls(), [])
        self.assertNotIn("=== memory", text)
        for other in ({"OCTET_COMMIT": "c2"}, {"DEVICE": "NVIDIA H200"}):
            self.assertRegex(self.all("--only", self.few, **other)[2], "^all: PASSED: 4 of 4 parts passed")
            self.assertEqual(self.calls(), ["kernels", "resume", "ranks"], other)
        self.assertEqual(self.all("--only", self.few)[0], 0)
        self.assertEqual(self.calls(), [])

    def test_all_of_them(self):
        code, text, last = self.all("--minutes", "600")
        self.assertEqual(code, 0, text)
        count = len(all_plan.PARTS)
        self.assertRegex(last, rf"^all: PASSED: {count} of {count} parts passed")
        self.assertEqual(self.calls(), self.scripts)
        self.assertEqual(self.begun(text), [part.name for part in all_plan.PARTS])

    def test_a_changed_tree_has_no_results(self):
        for _ in range(2):
            self.all("--only", "kernels", OCTET_COMMIT="c1-dirty")
            self.assertEqual(self.calls(), ["kernels"])

    def test_what_runs_out_of_time_is_left_and_ended_with_all_that_it_started(self):
        code, text, last = self.all("--only", "resume|memcheck", "--minutes", "0.1", HANGS="resume")
        self.assertEqual(code, 75, text)
        self.assertRegex(last, r"^all: UNFINISHED: 0 of 2 parts passed, 2 left for the next call \(resume, memcheck\)")
        with open(self.path("calls.pid"), encoding="utf-8") as file:
            self.assertFalse(self.lives(int(file.read())))
        self.assertRegex(self.all("--only", "resume|memcheck")[2], "^all: PASSED: 2 of 2")
        self.assertEqual(self.calls(), ["resume", "memcheck"])

    def test_rows_that_run_out_of_time_are_gone_on_with(self):
        # On a busy machine the time may run out before the first row.
        hangs = bench_rows.kernel_rows()[1]["row"]
        code, text, last = self.all("--only", "memory", "--minutes", "0.04", HANGS_AT=hangs)
        self.assertEqual(code, 75, text)
        self.assertRegex(last, r"^all: UNFINISHED: 0 of 1 parts passed, 1 left for the next call \(memory\)")
        code, text, last = self.all("--only", "memory")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"bench: PASSED: \d+ rows measured, [01] were there, 0 failed")

    def test_a_failing_part_is_named_and_tried_again_after_the_others(self):
        code, text, last = self.all("--only", "resume|memcheck", FAILS="resume")
        self.assertEqual(code, 1, text)
        self.assertRegex(last, r"^all: FAILED: 1 of 2 parts passed, 1 failed \(resume\)")
        self.assertRegex(text, r"(?m)^resume +FAILED +\S+ +as asked$")
        self.assertRegex(self.all("--only", "resume|memcheck|ranks")[2], "^all: PASSED: 3 of 3")
        self.assertEqual(self.calls(), ["ranks", "resume"])

    def test_a_failure_of_before_is_not_forgotten(self):
        self.all("--only", "kernels", FAILS="kernels")
        self.assertRegex(self.all("--only", "kernels|ranks", "--minutes", "0.04", HANGS="ranks")[2],
                         r"^all: FAILED: 0 of 2 parts passed, 1 failed \(kernels\), 1 left for the next call \(ranks\)")

    def test_a_row_that_fails_fails_its_part(self):
        code, text, last = self.all("--only", "memory", BAD_ROW="copy")
        self.assertEqual(code, 1, text)
        self.assertRegex(last, r"^all: FAILED: 0 of 1 parts passed, 1 failed \(memory\)")
        self.assertRegex(self.all("--only", "memory")[2], "^all: PASSED: 1 of 1")

    def test_a_script_that_dies_has_failed(self):
        code, text, _ = self.all("--only", "ranks", DIES="ranks")
        self.assertEqual(code, 1)
        self.assertIn("exit code 1, its last line: ''", text)

    def test_what_is_skipped_is_said_and_tried_again(self):
        code, _, last = self.all("--only", "kernels|memcheck", SKIPS="memcheck")
        self.assertEqual(code, 0)
        self.assertRegex(last, r"^all: PASSED: 1 of 2 parts passed, 1 skipped \(memcheck\)")
        self.assertRegex(self.all("--only", "memcheck", SKIPS="memcheck")[2], "^all: SKIPPED: 0 of 1 parts passed, 1 skipped")

    def test_list_says_what_is_there(self):
        self.all("--only", "kernels")
        text = self.all("--list", "--minutes", "10")[1]
        self.assertRegex(text, r"(?m)^kernels +90 s +PASSED ")
        self.assertRegex(text, r"(?m)^training +\d+ s +1 ")
        self.assertRegex(self.all("--list", "--minutes", "10", OCTET_BIN="/nowhere")[1], r"(?m)^kernels +90 s +1 ")


class PlanTest(unittest.TestCase):
    def test_every_row_of_the_bench_is_of_one_part(self):
        for _, by, rows in bench_rows.groups(84942979072):
            for row in rows:
                found = [p.name for p in all_plan.PARTS if p.rows and re.search(p.rows, f"{by}:{row['row']}")]
                self.assertEqual(len(found), 1, (by, row["row"], found))

    def test_time_goes_to_the_first_part_that_it_is_enough_for(self):
        script, rows = all_plan.Part("script", 100, "", "x.sh"), all_plan.Part("rows", 500, "", rows="x")
        choose = all_plan.next_part
        self.assertIs(choose([script, rows], 100, True), script)
        self.assertIs(choose([script, rows], 99, True), rows)
        self.assertIs(choose([script, rows], 99, False), script)  # or it would wait for ever
        self.assertIsNone(choose([script, rows], all_plan.LEAST - 1, True))
        self.assertIsNone(choose([], 1000, False))

    def test_calls(self):
        script, rows = all_plan.Part("script", 100, "", "x.sh"), all_plan.Part("rows", 500, "", rows="x")
        self.assertEqual(all_plan.calls([script, rows], 700), {"script": 1, "rows": 1})
        self.assertEqual(all_plan.calls([script, rows], 300), {"script": 1, "rows": 2})
        self.assertEqual(all_plan.calls([rows, script], 300), {"rows": 2, "script": 2})
        self.assertEqual(all_plan.calls([script], 50), {"script": 1})

    def test_what_matters_fits(self):
        """10, 15 and 25 minutes, by the estimates."""
        in_one_call = lambda minutes: [name for name, call in all_plan.calls(all_plan.PARTS, 60 * minutes).items() if call == 1]
        self.assertEqual(in_one_call(10), ["kernels", "training", "steps-8b", "gains", "gemm", "gemm-ways", "steps-70b"])
        aims = ["kernels", "training", "steps-8b", "gains", "gemm", "steps-70b", "steps-405b-tp4", "memory", "steps-1.8b"]
        self.assertEqual(set(aims) - set(in_one_call(15)), set())
        self.assertEqual(set(aims + ["resume", "evaluate", "ranks", "memcheck", "recipes-8b"]) - set(in_one_call(25)), set())

    def test_a_gain_needs_rows_of_octet_alone(self):
        part = next(p for p in all_plan.PARTS if p.name == "gains")
        rows = [f"{by}:{row['row']}" for _, by, of in bench_rows.groups() for row in of if re.search(part.rows, f"{by}:{row['row']}")]
        self.assertEqual(len(rows), len(bench_rows.STACKS) * 2 * 2)
        self.assertEqual({row.split(":")[0] for row in rows}, {"octet"})


# mpiexec starts so many of a program; the ranks of a run that lasts for ever end when they see that another has ended or
# stopped, and pgrep finds them by what they wrote into their run's folder.
MPIEXEC = """
import subprocess, sys
at = sys.argv.index("-n")
ranks = [subprocess.Popen(sys.argv[at + 2:]) for _ in range(int(sys.argv[at + 1]))]
sys.exit(max(abs(r.wait()) for r in ranks))
"""

COMMBENCH = """
import os, sys
sys.exit(print("4 rows, 0 wrong bytes") or int(os.environ.get("WRONG_BYTES", 0)))
"""

ENDLESS_TRAIN = """
import glob, os, sys, time
run = sys.argv[sys.argv.index("--run.dir") + 1]
os.makedirs(run, exist_ok=True)
open(f"{run}/rank-{os.getpid()}", "w")
open(f"{run}/metrics.jsonl", "a").write("a step")
def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "TZ"
    except FileNotFoundError:
        return False
while len(glob.glob(f"{run}/rank-*")) < 2 or all(alive(name.rsplit("-", 1)[1]) for name in glob.glob(f"{run}/rank-*")):
    time.sleep(0.05)
time.sleep(float(os.environ.get("LIVES_ON", 0)))
"""

PGREP = """
import glob, os, re, sys
for name in glob.glob(re.search("--run.dir ([^(]*)[(]", sys.argv[-1])[1] + "/rank-*"):
    pid = name.rsplit("-", 1)[1]
    try:
        if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
            print(pid)
    except FileNotFoundError:
        pass
"""


class RanksTest(ScriptTest):
    def setUp(self):
        super().setUp()
        for name, text in {"octet-test-nccl": TEST_GPU, "mpiexec": MPIEXEC, "octet-commbench": COMMBENCH,
                           "octet-train": ENDLESS_TRAIN, "pgrep": PGREP}.items():
            self.program(name, text)

    def ranks(self, *arguments, **environment):
        path = self.work.name + ":" + os.environ["PATH"]
        return self.run_script("ranks.sh", "--output", self.path("out"), *arguments, PATH=path, **environment)

    def test_passes_when_all_parts_do(self):
        code, text, last = self.ranks()
        self.assertEqual(code, 0, text)
        self.assertRegex(last, r"^ranks: PASSED: 2 and 4 ranks on one GPU \(\d+ s\)$")
        self.assertEqual(text.count("the other rank had ended"), 2)
        self.assertEqual(text.count("1 passed, 0 failed"), 3)
        self.assertEqual(text.count("0 wrong bytes"), 4)  # the last lines of both logs

    def test_failures_are_named(self):
        for environment, pattern in (({"TESTS": "FAILED"}, "contract and trainers over NCCL, 2 ranks .*, 4 ranks .*the tuner plugin"),
                                     ({"WRONG_BYTES": "65"}, "octet-commbench, 2 ranks: exit code 65"),
                                     ({"LIVES_ON": "60"}, "SIGKILL: the other rank lived for 1[0-9] s .*SIGSTOP")):
            with self.subTest(environment):
                code, text, last = self.ranks(**environment)
                self.assertEqual(code, 1, text)
                self.assertRegex(last, f"^ranks: FAILED: {pattern}")
                shutil.rmtree(self.path("out"))

    def test_ends_when_its_time_is_over(self):
        self.program("octet-test-nccl", "import time\ntime.sleep(100)")
        begun = time.monotonic()
        code, text, last = self.ranks("--minutes", "0.15")
        self.assertLess(time.monotonic() - begun, 60)  # not the limits of its parts
        self.assertEqual(code, 1, text)
        for part in ("2 ranks", "4 ranks", "SIGKILL: no time left", "SIGSTOP: no time left", "the tuner plugin",
                     "octet-commbench, 2 ranks: exit code 124", "octet-commbench, 4 ranks: exit code 124"):
            self.assertIn(part, last)


# A run of two profiled steps: a GEMM and a cast, and with the exchange copies, a slower GEMM, sums, and a longer wait.
# On fewer thread blocks the step is shorter down to 8 of them.
PROFILED_TRAIN = """
import json, os, sys
get = lambda key, otherwise=None: sys.argv[sys.argv.index(key) + 1] if key in sys.argv else otherwise
assert os.path.exists(get("--data.train") + ".bin") and get("--model") == "1.8b"
exchange, most = get("--parallel.one_rank_exchange") == "true", int(get("--nccl.dp_shard_max_ctas", 0))
assert "-n" in sys.argv or most == 0 or get("--parallel.dp_shard") == "2"
if get("--parallel.one_rank_exchange", str(most)) == os.environ.get("FAILS"):
    sys.exit(70)
if os.environ.get("NO_PROFILE"):
    sys.exit()
kernel = lambda name, kind, phase, calls, ms, size=0: {"name": name, "kind": kind, "phase": phase, "calls": 2 * calls,
                                                       "seconds": 2e-3 * ms, "bytes": 2 * size}
kernels = [kernel("gemm", "gemm", "forward", 10, 30 if exchange else 25), kernel("gemm", "gemm", "backward", 10, 25),
           kernel("convert", "memory_bound", "optimizer", 4, 8, 10**9)]
if exchange:
    kernels += [kernel("accumulate", "memory_bound", "backward", 5, 6, 12 * 10**9),
                kernel("reduce_scatter", "communication", "backward", 15, 3, 4 * 10**9)]
gemm = {0: 50, 16: 48, 8: 46, 4: 47}[most] + 5 * exchange
times = dict(gemm=gemm, attention=20, memory_bound=8 + 6 * exchange, exposed_communication=1 * exchange, host=0,
             idle=2 + 4 * exchange, overlapped_communication=0)
os.makedirs(get("--run.dir"), exist_ok=True)
with open(get("--run.dir") + "/profile.json", "w") as file:
    json.dump({"steps": [8, 9], "kernels": kernels, "communication": {},
               "ranks": [{"rank": 0, "wall": 2e-3 * sum(times.values()),
                          "seconds": {name: 2e-3 * ms for name, ms in times.items()}}]}, file)
"""


class ProfilesTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.program("octet-train", PROFILED_TRAIN)
        self.program("mpiexec", MPIEXEC)

    def script(self, name, **environment):
        return self.run_script(name + ".sh", "--output", self.path("out"), **environment)

    def test_the_exchange_is_taken_apart(self):
        code, text, last = self.script("exchange")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^memory bound +8\.0 +14\.0 +\+6\.0$")
        self.assertRegex(text, r"(?m)^wall +80\.0 +96\.0 +\+16\.0$")
        self.assertRegex(text, r"(?m)^copies: 15 groups a step, 4\.0 GB; kernels move \+12\.0 GB$")
        # The copy's row took 1 ms for 2 GiB; the wait is that for 5 sums and 15 copies.
        self.assertRegex(last, r"^exchange: PASSED: \+16\.0 ms a step: the same kernels \+5\.0, more of them \+6\.0, the device waits "
                               r"\+4\.0 for \+20 launches, 200\.0 us each; 20\.0 GB more to move, 9\.3 ms at the copy's 2\.15 TB/s "
                               r"\(\d+ s\)$")

    def test_thread_blocks_need_two_gpus(self):
        code, text, last = self.script("ctas")
        self.assertEqual((code, last), (0, "ctas: SKIPPED: needs two GPUs, and this machine shows 1"), text)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_thread_blocks_are_compared(self):
        code, text, last = self.script("ctas", DEVICES="2")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^NCCL's choice +80\.0 +50\.0 +20\.0 +8\.0 +0\.0$")
        self.assertRegex(last, r"^ctas: PASSED: at most 8 is the fastest: 76\.0 ms a step, 0\.950 of NCCL's choice \(\d+ s\)$")

    def test_failures_are_named(self):
        for script, environment, pattern in (("exchange", {"FAILS": "true"}, r"true: exit code 70 \(see .*/true\.log\)"),
                                             ("exchange", {"BAD_ROW": "copy", "NO_PROFILE": "1"}, "no profile in "),
                                             ("ctas", {"FAILS": "8", "DEVICES": "2"}, "8: exit code 70")):
            with self.subTest((script, environment)):
                code, text, last = self.script(script, **environment)
                self.assertEqual(code, 1, text)
                self.assertRegex(last, f"^{script}: FAILED: {pattern}")
                shutil.rmtree(self.path("out"))

    def test_a_folder_that_exists_is_not_taken(self):
        os.mkdir(self.path("out"))
        for script in ("exchange", "ctas"):
            self.assertEqual(self.script(script)[0], 64)


class SanitizeTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.environment = {"PATH": self.work.name + ":" + os.environ["PATH"]}

    def test_skips_without_the_tool(self):
        code, _, last = self.run_script("sanitize.sh", CUDA_HOME="/nowhere")
        if "SKIPPED" not in last:
            self.skipTest("this machine has a compute-sanitizer")
        self.assertEqual(code, 0)
        self.assertIn("no compute-sanitizer", last)

    def test_runs_the_tools_that_were_asked_for(self):
        self.program("compute-sanitizer", SANITIZER)
        arguments = ("--tools", "memcheck,initcheck", "--filter", "A*", "--output", self.path("out"))
        code, text, last = self.run_script("sanitize.sh", *arguments, **self.environment)
        self.assertEqual(code, 0, text)
        self.assertRegex(last, "^sanitize: PASSED: memcheck,initcheck ")
        with open(self.path("out/initcheck.log"), encoding="utf-8") as file:
            self.assertRegex(file.read(), "--tool initcheck --kernel-name kns=octet .*--gtest_filter=A")
        code, _, last = self.run_script("sanitize.sh", *arguments, HAZARD="initcheck", **self.environment)
        self.assertEqual(code, 1)
        self.assertRegex(last, "^sanitize: FAILED: initcheck ")

    def test_unknown_tool(self):
        self.assertEqual(self.run_script("sanitize.sh", "--tools", "magic")[0], 64)


class BenchTest(ScriptTest):
    rows = ["copy", "kernel/add_rmsnorm/8192x4096", "kernel/rmsnorm_backward/8192x4096"]
    only = "^octet:(copy|kernel/(add_rmsnorm|rmsnorm_backward)/8192x4096)$"

    def bench(self, *arguments, **environment):
        return self.run_script("bench.sh", "--out", self.path("results.jsonl"), "--python", self.path("torch-python"),
                               *arguments, **environment)

    def results(self):
        with open(self.path("results.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]

    def test_a_row_is_measured_once_for_a_commit(self):
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 3 rows measured, 0 were there, 0 failed")
        first = self.results()
        self.assertEqual([r["row"] for r in first], self.rows)
        for key in ("device", "driver", "commit", "date", "command", "run", "peaks", "seconds", "bytes", "by"):
            self.assertIn(key, first[0])
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 0 rows measured, 3 were there")
        self.assertEqual(self.results(), first)
        self.assertRegex(self.bench("--only", self.only, OCTET_COMMIT="c2")[2], "^bench: PASSED: 3 rows measured, 0 were")
        self.assertIn("bench: 0 rows would be measured", self.bench("--only", self.only, "--dry-run")[2])

    def test_a_failed_row_fails_the_run_and_is_tried_again(self):
        code, text, last = self.bench("--only", self.only, BAD_ROW=self.rows[1])
        self.assertEqual(code, 1)
        self.assertRegex(last, "^bench: FAILED: 2 rows measured, 0 were there, 1 failed")
        self.assertIn("FAILED: broken", text)
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 1 rows measured, 2 were there")

    def test_a_program_that_dies_costs_one_row(self):
        code, text, last = self.bench("--only", self.only, DIES_AT=self.rows[1])
        self.assertEqual(code, 1, text)
        self.assertRegex(last, "^bench: FAILED: 2 rows measured, 0 were there, 1 failed")
        self.assertEqual([r["row"] for r in self.results() if "error" in r], [self.rows[1]])

    def test_half_a_line_is_left_out(self):
        self.bench("--only", "^octet:copy$")
        with open(self.path("results.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"by": "octet", "row": "kern')
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 2 rows measured, 1 were there")
        self.assertEqual([r["row"] for r in self.results()], self.rows)

    def test_rows_of_a_changed_or_unknown_tree_never_count_as_done(self):
        for commit in ("c1-dirty", "unknown"):
            for _ in range(2):
                last = self.bench("--only", "^octet:copy$", OCTET_COMMIT=commit)[2]
                self.assertRegex(last, "^bench: PASSED: 1 rows measured, 0 were there")

    def test_the_deadline_ends_what_runs(self):
        code, text, last = self.bench("--only", self.only, "--minutes", "0.03", HANGS_AT=self.rows[1])
        self.assertEqual(code, 0, text)
        self.assertRegex(last, "^bench: PASSED: 1 rows measured, 0 were there, 0 failed, 2 left for want of time")
        code, text, last = self.bench("--only", "^octet:step/8b/bf16/[0-9]+-blocks$", "--minutes", "0.05", TRAIN_HANGS="1")
        self.assertEqual(code, 0, text)
        self.assertRegex(last, "^bench: PASSED: 0 rows measured, 0 were there, 0 failed, 2 left for want of time")

    def test_the_environment_of_python_comes_first(self):
        text = self.bench("--only", "^octet:copy$", SAY_PATH="1")[1]
        self.assertIn(f"FAILED: {self.work.name}\n", text)

    def test_minutes(self):
        self.assertRegex(self.bench("--only", self.only, "--minutes", "0")[2], "^bench: PASSED: 0 rows .*3 left")

    def test_steps_of_both_programs_and_their_table(self):
        _, text, last = self.bench("--only", "step/8b/bf16/[0-9]+-blocks$")
        self.assertRegex(last, "^bench: PASSED: 4 rows measured", text)
        octet = [r for r in self.results() if r["by"] == "octet"]
        self.assertEqual(octet[0]["seconds"], 0.1)
        self.assertEqual(octet[0]["memory_bytes"], 2**30)
        self.assertIn("--precision bf16 --device cuda", octet[0]["command"])
        self.assertNotIn("/tmp", octet[0]["command"])

    def test_steps_without_a_time_do_not_count(self):
        only = ("--only", "^octet:step/8b/bf16/1-blocks$")
        self.assertEqual(self.bench(*only, UNTIMED="4 5 11")[0], 0)
        result = self.results()[0]
        self.assertEqual((result["seconds"], result["repeats"]), (0.1, bench_rows.STEPS - 3))
        every = " ".join(map(str, range(1, 20)))
        self.assertIn("FAILED: metrics.jsonl has no step_seconds after step 3", self.bench(*only, UNTIMED=every, OCTET_COMMIT="c2")[1])

    def test_rows_name_the_libraries_that_were_loaded(self):
        self.bench("--only", "copy|step/8b/bf16/1-blocks$")
        libraries = {(r["by"], r["row"]): r["libraries"] for r in self.results()}
        cublas = {"version": "13.1.0", "path": "/with a space/libcublasLt.so.13"}
        self.assertEqual(libraries["octet", "copy"], {"cuBLASLt": cublas})
        self.assertEqual(libraries["octet", "step/8b/bf16/1-blocks"], {"cuDNN": {"version": "9.19.0", "path": "/x/libcudnn.so.9"},
                                                                       "NVRTC": {"version": "13.0.0", "path": "/x/libnvrtc.so.13"}})
        self.assertEqual(libraries["torch", "copy"], {"cuBLASLt": {"version": "12.9.1", "path": "/t/libcublasLt.so.12"}})

    def test_a_step_of_a_recipe_asks_for_it(self):
        _, text, last = self.bench("--only", "step/8b/float8-delayed/1-blocks$")
        self.assertRegex(last, "^bench: PASSED: 1 rows measured", text)
        self.assertIn("--float8.recipe delayed", self.results()[0]["command"])

    def test_a_step_with_graphs_or_without_asks_for_it(self):
        _, text, last = self.bench("--only", "step/1.8b/float8/.*graphs")
        self.assertRegex(last, "^bench: PASSED: 2 rows measured", text)
        asked = {r["row"].rsplit("/")[-1]: r["command"].split("--cuda.graphs ")[1].split()[0] for r in self.results()}
        self.assertEqual(asked, {"graphs-true": "true", "graphs-false": "false"})

    def test_algorithms_are_timed_once_before_the_first_step(self):
        """Both stacks of a precision run the same, and no step's time has the choice in it."""
        _, text, last = self.bench("--only", "octet:step/8b/bf16/([0-9]+-blocks$|.*micro-batches)")
        self.assertRegex(last, "^bench: PASSED: 4 rows measured", text)
        for result in self.results():
            self.assertIn("--cuda.gemm timed --cuda.attention timed", result["command"])
            self.assertEqual(result["seconds"], 0.1)
        self.assertEqual([r["choice_seconds"] for r in self.results()], [3.0, 0, 0, 0])

    def test_a_step_with_other_choices_asks_for_them(self):
        _, text, last = self.bench("--only", "step/8b/.*/(heuristic|fast-all)$")
        self.assertRegex(last, "^bench: PASSED: 3 rows measured", text)
        commands = {r["row"].split("/", 2)[2]: r["command"] for r in self.results()}
        for name in ("float8/12-blocks/heuristic", "bf16/12-blocks/heuristic"):
            self.assertIn("--cuda.gemm heuristic --cuda.attention heuristic", commands[name])
        fast = commands["float8/12-blocks/fast-all"]
        self.assertIn("--cuda.gemm timed --cuda.attention timed --float8.fast_accumulate all", fast)
        self.assertEqual([r.get("choice_seconds") for r in self.results()], [0, 3.0, 0])

    def test_the_start_is_what_the_log_says(self):
        _, text, last = self.bench("--only", "octet:start/")
        self.assertRegex(last, "^bench: PASSED: 1 rows measured", text)
        self.assertEqual((self.results()[0]["row"], self.results()[0]["seconds"]), ("start/8b/12-blocks", 4.5))
        self.assertIn("--train.steps 1 ", self.results()[0]["command"])
        self.assertIn("does not say in how long", self.bench("--only", "octet:start/", NO_START="1", OCTET_COMMIT="c2")[1])

    def test_without_torch_its_rows_are_skipped(self):
        code, _, last = self.bench("--only", "copy|^torch:gemm/1024x", NO_TORCH="1")
        self.assertEqual(code, 0)
        self.assertRegex(last, r"^bench: PASSED: 1 rows measured, .*PyTorch's skipped \(no torch: none here\)")

    def test_a_training_run_that_fails(self):
        code, _, _ = self.bench("--only", "^octet:step/8b/bf16/1-blocks$", TRAIN_FAILS="1")
        self.assertEqual(code, 1)
        self.assertIn("exit code 70: no such luck", self.results()[0]["error"])


# What an nvcc says of itself, and jobs/install-cuda.sh in a tree where nothing is fetched.
NVCC = """
import os
print("Cuda compilation tools, release " + os.environ["RELEASE"] + ", V" + os.environ["RELEASE"] + ".1")
"""


class InstallTest(ScriptTest):
    def find(self, release, fetched=False, arguments=("--find",)):
        os.makedirs(self.path("tree/jobs"), exist_ok=True)
        shutil.copy(os.path.join(ROOT, "jobs/install-cuda.sh"), self.path("tree/jobs"))
        self.program("nvcc", NVCC)
        if fetched:
            os.makedirs(self.path("tree/build/cuda-packages/toolkit/bin"))
            self.program("tree/build/cuda-packages/toolkit/bin/nvcc", NVCC)
        path = self.work.name + ":" + os.environ["PATH"]
        return subprocess.run([self.path("tree/jobs/install-cuda.sh"), *arguments], text=True, capture_output=True, check=False,
                              env={**os.environ, "PATH": path, "RELEASE": release, "CXX": "false"})  # sees no header

    def test_takes_an_nvcc_that_is_new_enough(self):
        for release in ("12.9", "13.0", "13.10"):
            self.assertEqual(self.find(release).stdout, self.path("nvcc") + "\n")

    def test_leaves_an_old_one_out_and_says_so(self):
        for release in ("12.4", "12.0", "9.2"):
            done = self.find(release)
            self.assertNotIn(self.path("nvcc"), done.stdout)
            self.assertIn(f"{self.path('nvcc')} is left out: release {release}, needed 12.9 or newer", done.stderr)

    def test_newer_headers_do_not_go_beside_an_older_toolkit(self):
        self.program("python3", "raise SystemExit('no pip')")  # so nothing is fetched: the script says what it wants and fails
        for release, toolkit in (("12.9", True), ("13.0", False)):
            done = self.find(release, arguments=())
            self.assertEqual(done.returncode, 1)
            self.assertIs("does not go beside it: fetching a toolkit" in done.stdout, toolkit, done.stdout + done.stderr)

    def test_what_was_fetched_comes_first(self):
        self.assertEqual(self.find("13.0", fetched=True).stdout, self.path("tree/build/cuda-packages/toolkit/bin/nvcc") + "\n")


class RowsTest(unittest.TestCase):
    def test_names_are_unique_and_shapes_shared(self):
        for group, by, rows in bench_rows.groups():
            names = [r["row"] for r in rows]
            self.assertEqual(len(names), len(set(names)), (group, by))
            keys = [json.dumps({k: v for k, v in r.items() if k not in ("row", "bytes", "flops")}) for r in rows]
            self.assertEqual(len(keys), len(set(keys)), (group, by))

    def test_every_op_is_known_to_the_program(self):
        with open(os.path.join(ROOT, "tests/benchmark/gpu/memory_cases.cpp"), encoding="utf-8") as file:
            known = set(re.findall(r'\{"(\w+)", \w+\}', file.read()))
        asked = {r["op"] for _, by, rows in bench_rows.groups() for r in rows if by == "octet" and r["op"] not in ("step", "start")}
        self.assertEqual(asked - known, set())
        self.assertEqual(known - asked - {"accumulate"}, set())

    def test_sizes(self):
        m = bench_rows.MODELS["8b"]
        parameters = m["layers"] * bench_rows.block_parameters(m) + m["dim"] + 2 * m["vocab_size"] * m["dim"]
        self.assertEqual(parameters, 8030261248)  # configs/models/8b.yaml
        g = bench_rows.linear_gemm(14336, 4096, "grad_weight", "fp8")
        self.assertEqual((g["m"], g["n"], g["k"], g["flops"]), (14336, 4096, 8192, 2 * 14336 * 4096 * 8192))
        self.assertEqual(g["bytes"], (14336 + 4096) * 8192 + 4 * 14336 * 4096)
        added = bench_rows.linear_gemm(14336, 4096, "grad_weight", "fp8", True)
        self.assertEqual((added["beta"], added["bytes"] - g["bytes"]), (1, 4 * 14336 * 4096))
        self.assertNotIn("beta", {key for _, by, rows in bench_rows.groups() for r in rows if by == "torch" for key in r})
        casts = {mode: bench_rows.gemm(64, 32, 16, "forward", mode)["bytes"] - bench_rows.gemm(64, 32, 16, "forward", "fp8")["bytes"]
                 for modes in ({"fp8_casts"}, *bench_rows.RECIPE_MODES.values()) for mode in modes}
        self.assertEqual(casts, {"fp8_casts": 5 * 96 * 16, "delayed_casts": 3 * 96 * 16, "rowwise": 4 * 96,
                                 "rowwise_casts": 3 * 96 * 16 + 12 * 96, "gw_hp": 4 * 64,
                                 "gw_hp_casts": (3 * 64 + 5 * 32) * 16 + 12 * 64, "blockwise": 4 * (64 + 4),
                                 "blockwise_casts": 3 * 96 * 16 + 8 * (64 + 4)})
        grad_weight = lambda mode: bench_rows.gemm(256, 384, 640, "grad_weight", mode)["bytes"]
        self.assertEqual(grad_weight("blockwise") - grad_weight("fp8"), 4 * (256 + 384) * 5)
        self.assertEqual(bench_rows.quantize_vectors(256, "both", 640)["bytes"], 640 * 256 * 4 + 8 * 640 * 2)
        self.assertEqual(bench_rows.quantize_blocks(640, 256, "both")["bytes"], 640 * 256 * 4 + 4 * (5 * 4 + 2 * 8))
        self.assertEqual(bench_rows.quantize_rowwise(128, "both", 64)["bytes"], 4 * 64 * 128 + 8 * (64 + 128))
        self.assertEqual(bench_rows.cross_entropy(m)["rows"], (1 << 30) // 4 // m["vocab_size"] // 16 * 16)
        fit = {name: bench_rows.blocks_that_fit(bench_rows.MODELS[name], 84942979072) for name in bench_rows.STACKS}
        self.assertEqual(fit, {"8b": 12, "70b": 3, "405b-tp4": 3})

    def test_block_flops_are_those_of_its_gemms(self):
        for name in bench_rows.STACKS:
            m = bench_rows.MODELS[name]
            weights = sum(o * i for _, o, i in bench_rows.linears(m))
            for micro_batches in (1, 4):
                ops = bench_rows.block_ops(m, "bf16", micro_batches)
                gemms = sum(n * row["flops"] for _, row, n in ops if row["op"] == "gemm")
                self.assertEqual(gemms, 6 * weights * bench_rows.TOKENS)


class TableTest(unittest.TestCase):
    common = {"device": "NVIDIA H100 80GB HBM3", "driver": "1", "commit": "c", "date": "2026-01-02T03:04:05Z",
              "run": "jobs/gpu/bench.sh --by octet", "peaks": [989e12, 1979e12]}

    def result(self, by, row, seconds, commit=None, **more):
        return {"by": by, "row": row["row"], "seconds": seconds, "bytes": row["bytes"], "flops": row["flops"], **more,
                **{**self.common, **({"commit": commit} if commit else {})}}

    def test_block_time_is_the_slope_and_gains_stand_beside_the_published(self):
        step = bench_rows.step
        results = [self.result("octet", step("70b", p, n), 0.010 + n * block, memory_bytes=2**30 * n)
                   for p, block in (("bf16", 0.100), ("float8", 0.064)) for n in (1, 3)]
        results += [self.result("torch", step("70b", "bf16", n), 0.050 + n * 0.110) for n in (1, 3)]
        text = bench_table.render(results)
        tokens = 8192 / 0.100 / 80
        self.assertRegex(text, rf"\| 70b \| bf16 \| 3 \| 100.00 \| 110.00 \| {tokens:,.0f} \| .*\| 3.0 \| - \| 1.10 \|")
        self.assertRegex(text, r"\| 70b \| 1.56 \| - \| 1.5 \| 956 to 1,430 \|")

    @staticmethod
    def aims(text):
        """{what: (measured, aim, reached)}."""
        part = text.split("### Aims\n")[1].split("\n### ")[0]
        return {what: rest for what, *rest in re.findall(r"(?m)^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", part)[1:]}

    def test_each_figure_stands_beside_its_aim(self):
        step, octet, torch = bench_rows.step, [], []
        blocks = {("8b", "float8"): (20, 25), ("8b", "bf16"): (30, 32.7), ("70b", "float8"): (40, 49)}  # ms of both programs
        for (model, precision), times in blocks.items():
            for n in (1, 3):
                octet.append(self.result("octet", step(model, precision, n), 0.01 + n * times[0] * 1e-3))
                torch.append(self.result("torch", step(model, precision, n), 0.01 + n * times[1] * 1e-3))
        whole = step("1.8b", "float8", 24)
        results = octet + torch + [self.result("octet", whole, 0.1), self.result("torch", whole, 0.1216)]
        for model, gain in (("8b", 1.40), ("70b", 1.59), ("405b-tp4", 1.66)):
            results += [self.result("octet", step(model, p, n, 4), 0.02 + n * 0.04 * slower) for n in (1, 3)
                        for p, slower in (("float8", 1), ("bf16", gain))]
        results.append(self.result("octet", bench_rows.start_row(), 4.5))
        aims = self.aims(bench_table.render(results))
        self.assertEqual(aims["a block of 8b, float8: speed, of PyTorch's"], ["1.25", "1.25", "yes"])
        self.assertEqual(aims["a block of 8b, bf16: speed, of PyTorch's"], ["1.09", "1.10", "**no**"])
        self.assertEqual(aims["a block of 70b, float8: speed, of PyTorch's"], ["1.23", "1.25", "**no**"])
        self.assertEqual(aims["a block of 405b-tp4, float8: speed, of PyTorch's"], ["not measured", "1.25", "-"])
        self.assertEqual(aims["1.8b whole, float8: speed, of PyTorch's"], ["1.22", "1.22", "yes"])
        gains = [aims[f"a block of {model}, 4 micro-batches: float8's speed, of bf16's"] for model in bench_rows.STACKS]
        self.assertEqual(gains, [["1.40", "1.40", "yes"], ["1.59", "1.60", "**no**"], ["1.66", "1.64", "yes"]])
        self.assertEqual(aims["a run of 12 blocks of 8b with embedding and head: buffers and initial weights"],
                         ["4.50 s", "at most 5 s", "yes"])

    def test_the_aim_of_gemms_is_of_the_median(self):
        rows = [bench_rows.linear_gemm(4096, 4096, form, mode) for form in bench_rows.FORMS for mode in ("bf16", "fp8")]
        results = [self.result("torch", row, 1e-3) for row in rows]
        results += [self.result("octet", row, 1e-3 / speed) for row, speed in zip(rows, (0.9, 0.97, 1.01, 1.2, 9, 9))]
        what = "GEMM, forward and grad_input in bf16 and fp8: speed, of PyTorch's"  # weights' gradients are stored otherwise
        self.assertEqual(self.aims(bench_table.render(results))[what], ["0.99 (median of 4; 0.90 to 1.20)", "1.00", "**no**"])

    def test_aims_of_casts_count_a_micro_batch_of_the_step(self):
        results = [self.result("octet", bench_rows.copy(), 1e-3)]
        for recipe in (None, "delayed"):
            ops = bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", 4, recipe)
            results += [self.result("octet", row, 1e-5) for _, row, _ in ops]
        aims = self.aims(bench_table.render(results))
        # 2 abs-maxes, 4 inputs, 7 gradients, and 7 weights cast and transposed once in 4; delayed: 1, 3 and 4 transposes.
        self.assertEqual(aims["casts of 12 blocks of 8b, tensorwise, a micro-batch of 4"], ["2.0 ms", "at most 12.5 ms", "yes"])
        self.assertEqual(aims["casts of 12 blocks of 8b, delayed, a micro-batch of 4"], ["1.6 ms", "at most 4 ms", "yes"])
        self.assertEqual(aims["memory-bound kernels that move over 50 MB: the slowest's rate, of the copy's"][2], "yes")

    def test_the_slowest_kernel_is_named(self):
        norm, small = bench_rows.add_rmsnorm(4096), bench_rows.transpose(1024, 4096)
        results = [self.result("octet", bench_rows.copy(), 2 * 2**30 / 3e12), self.result("octet", norm, norm["bytes"] / 2.4e12),
                   self.result("octet", small, small["bytes"] / 1e12)]  # which the cache holds
        what = "memory-bound kernels that move over 50 MB: the slowest's rate, of the copy's"
        self.assertEqual(self.aims(bench_table.render(results))[what],
                         ["0.80 (add_rmsnorm/8192x4096; 0 of 1 reach it)", "0.85", "**no**"])

    def test_steps_with_other_options_stand_beside_the_default(self):
        step = bench_rows.step
        results = [self.result("octet", step("8b", "float8", 12), 0.2, choice_seconds=5.25),
                   self.result("octet", step("8b", "float8", 12, plans="heuristic"), 0.204),
                   self.result("octet", step("8b", "float8", 12, fast="all"), 0.196),
                   self.result("octet", step("1.8b", "bf16", 24, graphs="true"), 0.1)]
        text = bench_table.render(results)
        self.assertIn("| 8b/float8/12-blocks | cuda.gemm and cuda.attention heuristic | 204.00 | 200.00 | 0.980 |", text)
        self.assertIn("| 8b/float8/12-blocks | float8.fast_accumulate all | 196.00 | 200.00 | 1.020 |", text)
        self.assertIn("| 1.8b/bf16/24-blocks | cuda.graphs true | 100.00 | - | - |", text)
        self.assertIn("timed before the first step, which took 5.2 s at most", text)

    def test_ways_of_a_gemm_stand_beside_pytorchs(self):
        way = bench_rows.ways_rows()[0]
        seconds = {"as a run": 1e-3, "bigger workspace": 0.9e-3, "refused": None}
        results = [self.result("octet", way, 0.9e-3, way="bigger workspace", seconds_of_way=seconds),
                   self.result("torch", bench_rows.linear_gemm(14336, 4096, "forward", "fp8"), 0.8e-3)]
        text = bench_table.render(results)
        self.assertIn("| GEMM | us, as a run | bigger workspace: times as fast | refused: times as fast | PyTorch: times as fast |", text)
        self.assertIn("| 8192x14336x4096/forward/fp8 | 1000.0 | 1.111 | - | 1.250 |", text)
        self.assertNotIn("one thing changed", bench_table.render(results[1:]))

    def test_fast_gradients_and_timed_choices(self):
        row, fast = (bench_rows.linear_gemm(4096, 4096, "grad_input", "fp8", fast=f) for f in (False, True))
        results = [self.result("octet", row, 1e-3, way="timed", seconds_of_way={"heuristic": 1.1e-3, "timed": 1e-3}),
                   self.result("octet", fast, 0.95e-3)]
        text = bench_table.render(results)
        self.assertIn("| 8192 x 4096 x 4096 | grad_input | 275 | 289 | 1.053 |", text)
        self.assertIn("timed is 1.100 times as fast in the median of 1, 1.100 at most.", text)

    def test_attention_within_documents(self):
        of = lambda **more: bench_rows.attention(bench_rows.MODELS["8b"], "backward", **more)
        results = [self.result("octet", of(), 2e-3), self.result("octet", of(documents=2048), 1.5e-3),
                   self.result("octet", of(documents=2048, by="cudnn"), 0.6e-3)]
        self.assertIn("| 2,048 | backward | 0.250 | 1,500 | 0.750 | 600 | 0.300 |", bench_table.render(results))
        self.assertNotIn("within documents", bench_table.render(results[:1]))

    def test_rates_and_fractions(self):
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        gemm = bench_rows.gemm(8192, 8192, 8192, "forward", "fp8")
        results = [self.result("octet", copy, copy["bytes"] / 3e12), self.result("octet", norm, norm["bytes"] / 2.7e12),
                   self.result("torch", gemm, gemm["flops"] / 1e15)]
        text = bench_table.render(results)
        self.assertIn("copy 3,000 GB/s", text)
        self.assertIn("dense peaks 989 TFLOP/s in bf16, 1,979 in fp8", text)
        self.assertIn("    jobs/gpu/bench.sh --by octet\n", text)
        self.assertNotIn("Rows of several builds", text)
        mixed = [self.result("octet", bench_rows.rmsnorm_backward(4096), 1e-4, commit="d")] + results
        self.assertIn("Rows of several builds: c; d.", bench_table.render(mixed))
        self.assertRegex(text, r"\| add_rmsnorm/8192x4096 \| 268.4 \| 99.4 \| 2,700 \| 0.90 \|")
        self.assertRegex(text, r"\| square 8192 \| forward \| 8192 x 8192 x 8192 \| - \| - \| - \| 1,000 \(51 %\) \| - \| - \|")

    def test_recipes_stand_beside_the_tensorwise_product(self):
        of = lambda mode: bench_rows.gemm(8192, 8192, 8192, "forward", mode)
        results = [self.result("octet", of(mode), of(mode)["flops"] / rate)
                   for mode, rate in (("fp8", 1e15), ("rowwise", 8e14), ("delayed_casts", 6e14))]
        text = bench_table.render(results)
        self.assertRegex(text, r"\| square 8192 \| forward \| 8192 x 8192 x 8192 \| 1,000 \(51 %\) \| - \| 600 \(30 %\) \| 800 \(40 %\) \|")
        self.assertNotIn("of the recipes", bench_table.render(results[:1]))

    def test_steps_of_recipes_stand_beside_tensorwise_and_bf16(self):
        results = [self.result("octet", bench_rows.step("8b", p, n, recipe=recipe), 0.010 + n * block)
                   for p, recipe, block in (("bf16", None, 0.120), ("float8", None, 0.080), ("float8", "rowwise", 0.100))
                   for n in (1, 3)]
        self.assertRegex(bench_table.render(results), r"\| 8b \| rowwise \| 100.00 \| 0.80 \| 1.20 \|")
        self.assertNotIn("other recipes", bench_table.render(results[:4]))

    def test_where_the_time_goes_needs_every_op(self):
        copy = bench_rows.copy()
        ops = [row for _, row, _ in bench_rows.block_ops(bench_rows.MODELS["8b"], "float8")]
        results = [self.result("octet", copy, 1e-3)] + [self.result("octet", row, 1e-3) for row in ops]
        self.assertIn("#### 8b, float8", bench_table.render(results))
        self.assertNotIn("#### 8b, bf16", bench_table.render(results))
        self.assertNotIn("#### 8b", bench_table.render([r for r in results if "adamw" not in r["row"]]))
        # With several micro-batches a sequence has its share of the optimizer, and weight gradients that add.
        self.assertNotIn("#### 8b, float8, 4 micro-batches", bench_table.render(results))
        ops = [row for _, row, _ in bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", 4)]
        text = bench_table.render([self.result("octet", row, 1e-3) for row in [copy] + ops])
        self.assertRegex(text, r"#### 8b, float8, 4 micro-batches(.|\n)*\| AdamW \| 1.750 \|")

    def test_libraries_stand_once_and_differences_are_said(self):
        library = lambda version, path: {"cuBLASLt": {"version": version, "path": path}}
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        mine = [self.result("octet", row, 1e-3, libraries=library("13.1.0", "/a/lt")) for row in (copy, norm)]
        other = [self.result("torch", copy, 1e-3, libraries={**library("13.0.2", "/b/lt"), "NCCL": {"version": "2.28.9", "path": "/b/nccl"}})]
        text = bench_table.render(mine + other)
        self.assertIn("| cuBLASLt | 13.1.0 `/a/lt` (2 rows) | 13.0.2 `/b/lt` (1 rows) | **yes** |\n", text)
        self.assertIn("| NCCL | not loaded | 2.28.9 `/b/nccl` (1 rows) | - |\n", text)
        self.assertIn("Times of rows whose libraries differ compare the libraries too.", text)
        same = bench_table.render(mine + [self.result("torch", copy, 1e-3, libraries=library("13.1.0", "/b/lt"))])
        self.assertIn("| 13.1.0 `/b/lt` (1 rows) | no |\n", same)
        self.assertNotIn("compare the libraries too", same)
        self.assertIn("had loaded was not recorded", bench_table.render([self.result("octet", copy, 1e-3)]))

    def test_the_copy_names_its_way_and_every_fraction_is_of_it(self):
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        ways = {"way": "kernel", "seconds_of_way": {"cudaMemcpyAsync": 2e-3, "kernel": 1e-3}}
        text = bench_table.render([self.result("octet", copy, copy["bytes"] / 2.9e12, **ways),
                                   self.result("torch", copy, copy["bytes"] / 2.8e12),
                                   self.result("octet", norm, norm["bytes"] / 2.32e12)])
        self.assertIn("; copy 2,900 GB/s (bytes read and written; fastest: kernel); PyTorch's copy 2,800 GB/s", text)
        self.assertRegex(text, r"\| add_rmsnorm/8192x4096 \| .* \| 0.80 \|")

    def test_rows_of_several_builds_of_a_commit_are_told_apart(self):
        rows = [bench_rows.add_rmsnorm(4096), bench_rows.rmsnorm_backward(4096)]
        results = [self.result("octet", row, 1e-4, code=code) for row, code in zip(rows, ("c", "c with a patch"))]
        self.assertIn("Rows of several builds: c; c with a patch.", bench_table.render(results))

    def test_the_page_of_results_is_what_its_rows_give(self):
        with tempfile.TemporaryDirectory() as work:
            page = os.path.join(work, "gpu-results.md")
            shutil.copy(os.path.join(ROOT, "docs/gpu-results.md"), page)
            rows = os.path.join(ROOT, "docs/gpu-results/h100-2026-11-22.jsonl")
            bench = [os.path.join(GPU, "bench.sh"), "--table", "--out", rows, "--into"]
            subprocess.run(bench + [page], check=True, capture_output=True)
            with open(os.path.join(ROOT, "docs/gpu-results.md"), encoding="utf-8") as committed, open(page, encoding="utf-8") as made:
                self.assertEqual(made.read(), committed.read())
            with open(page, "w", encoding="utf-8") as file:
                file.write("no marks\n")
            done = subprocess.run(bench + [page], check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 64)
            self.assertIn(f"expected a page with a line {bench_table.BEGIN}", done.stderr)

    def test_the_last_result_counts_and_failures_are_listed(self):
        norm = bench_rows.add_rmsnorm(4096)
        failed = {"by": "octet", "row": norm["row"], "error": "broken | twice\nmore", **self.common}
        self.assertIn("| octet | kernel/add_rmsnorm/8192x4096 | broken / twice |", bench_table.render([failed]))
        text = bench_table.render([failed, self.result("octet", norm, 1.0), self.result("octet", norm, 1e-4)])
        self.assertIn("| 100.0 |", text)
        self.assertNotIn("broken", text)


if __name__ == "__main__":
    unittest.main()
