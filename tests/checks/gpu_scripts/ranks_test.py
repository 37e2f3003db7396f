"""The scripts of jobs/gpu that start several ranks or compare profiles."""
import os
import shutil
import time

from stand_ins import ScriptTest, TEST_GPU

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
def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "TZ"
    except FileNotFoundError:
        return False
ranks = lambda: glob.glob(f"{run}/rank-*")
while len(ranks()) < 2:  # a step needs both
    time.sleep(0.05)
open(f"{run}/metrics.jsonl", "a").write("a step")
while all(alive(name.rsplit("-", 1)[1]) for name in ranks()):
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
exchange = get("--parallel.one_rank_exchange") == "true"
cut = "pp" if "--parallel.pp" in sys.argv else "dp_shard"
most = int(get(f"--nccl.{cut}_max_ctas", 0))
assert "-n" in sys.argv or most == 0 or get(f"--parallel.{cut}") == "2"
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

    def test_thread_blocks_of_messages_are_compared(self):
        code, text, last = self.run_script("ctas.sh", "--pipeline", "--output", self.path("out"), DEVICES="2")
        self.assertEqual(code, 0, text)
        self.assertRegex(last, r"^ctas: PASSED: at most 8 is the fastest: 76\.0 ms a step")

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
