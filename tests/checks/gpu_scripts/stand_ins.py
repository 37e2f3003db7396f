"""Programs that take the place of Octet's, PyTorch and a GPU around the scripts of jobs/gpu, and what runs these."""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
GPU = os.path.join(ROOT, "jobs/gpu")
sys.path[:0] = [os.path.join(GPU, "bench"), GPU]

BENCH_GPU = """
import json, os, sys, time
if "--libraries" in sys.argv:
    sys.exit(print("libcudnn.so.9: not found"))
if "--device" in sys.argv:
    if os.environ.get("NO_GPU"):
        sys.exit(print(os.environ["NO_GPU"], file=sys.stderr) or 64)
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
if os.environ.get("GTEST_SHARD_INDEX") == os.environ.get("FAILS_IN_SHARD", "none"):
    kind = "FAILED"
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
assert os.path.exists(sys.argv[1] + "/metrics.jsonl")
gpu = get("--device") == "cuda"
if "--tasks" in sys.argv:
    rows = [json.loads(line) for line in open(get("--tasks").removesuffix("yaml") + "jsonl")]
    assert all(q["choices"][q["gold"]] and len(q["choices"]) == 4 for q in rows) and len({q["context"][:20] for q in rows}) == len(rows) / 3
    os.makedirs(get("--output"))
    error = float(os.environ.get("CHOICE_ERROR", 0)) if gpu else 0
    with open(get("--output") + "/samples_own.jsonl", "w") as file:
        for number, q in enumerate(rows):
            file.write(json.dumps({"loglikelihoods": [-20.0 * (1 + error * (number == 7)), -21.0, -22.0, -23.0]}) + "\\n")
    right = 0.5 + 0.1 * (gpu and bool(os.environ.get("OTHER_ANSWERS")))
    sys.exit(json.dump({"results": {"own": {"acc": right}}}, open(get("--output") + "/results.json", "w")))
assert os.path.getsize(get("--text")) == 20000
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
