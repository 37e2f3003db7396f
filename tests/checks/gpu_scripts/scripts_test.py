"""What the scripts of jobs/gpu say with and without a GPU, which nvcc jobs/install-cuda.sh takes, and how every script that
users start answers to a command line."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from stand_ins import EVALUATE, GENERATING_OCTET, GPU, RESUMING_TRAIN, ROOT, SANITIZER, SCRIPTS, ScriptTest  # with it, jobs/gpu is on the path

import compare_losses


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

    def test_kernels_are_shared_between_processes(self):
        self.program("nproc", "print(16)")
        self.program("nvidia-smi", "print('Default')")
        path = self.work.name + ":" + os.environ["PATH"]
        code, text, _ = self.check("--kernels", PATH=path)
        self.assertEqual(code, 0, text)
        self.assertIn("\n4 passed, 0 failed, 0 skipped\n", text)
        text, last = self.run_script("check.sh", "--output", self.path("again"), "--kernels", PATH=path, FAILS_IN_SHARD="2")[1:]
        self.assertIn("\n3 passed, 1 failed, 0 skipped\n", text)
        self.assertRegex(last, "^check: FAILED: kernels")
        self.program("nvidia-smi", "print('Exclusive_Process')")
        text = self.run_script("check.sh", "--output", self.path("alone"), "--kernels", PATH=path)[1]
        self.assertIn("\n1 passed, 0 failed, 0 skipped\n", text)

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
        self.assertRegex(last, r"^evaluate: PASSED: losses, choices and generated text of the CPU and of cuda \(\d+ s\)$")
        self.assertEqual(len(re.findall(r"^(fp32|bf16|float8|task-fp32|task-bf16) .* ok$", text, re.M)), 5)
        self.assertRegex(text, r"(?m)^generated: \d\d+ bytes, the same on both$")

    def test_failures_are_named(self):
        for environment, named, said in (({"GPU_ERROR": "1e-3"}, "the loss in fp32 ", "too far apart"),
                                         ({"NOT_FINITE": "1"}, "the loss in fp32; the loss in bf16; the loss in float8 ", "not finite"),
                                         ({"MORE_TOKENS": "1"}, "the loss in fp32; ", "100 and 101 tokens"),
                                         ({"EVALUATE_FAILS": "1"}, "the loss in fp32; ", "no such luck"),
                                         ({"CHOICE_ERROR": "1e-3"}, "the task in fp32 ", "too far apart"),
                                         ({"OTHER_ANSWERS": "1"}, "the task in fp32; the task in bf16 ", "accuracies 0.500 and 0.600"),
                                         ({"OTHER_TEXT": "x"}, "the generated text ", "differ")):
            with self.subTest(environment):
                code, text, last = self.evaluate(**environment)
                self.assertEqual(code, 1, text)
                self.assertRegex(last, f"^evaluate: FAILED: {named}")
                self.assertIn(said, text)

    def test_the_cpu_needs_no_gpu(self):
        self.assertRegex(self.evaluate("--device", "cpu", NO_GPU="none here")[2], "^evaluate: PASSED: .* of cpu ")


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.05)


class SanitizeTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.environment = {"PATH": self.work.name + ":" + os.environ["PATH"]}

    def test_skips_without_the_tool(self):
        if shutil.which("compute-sanitizer") or glob.glob("/usr/local/cuda*/bin/compute-sanitizer"):
            self.skipTest("this machine has a compute-sanitizer")
        code, _, last = self.run_script("sanitize.sh", CUDA_HOME="/nowhere")
        self.assertEqual(code, 0, last)
        self.assertRegex(last, "^sanitize: SKIPPED: no compute-sanitizer ")

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

    def test_what_it_runs_ends_with_it(self):
        """A tool that went on would share the GPU with what comes next."""
        running = self.path("running")
        self.program("compute-sanitizer", f"""
import os, time
open({running!r} + ".new", "w").write(str(os.getpid()))
os.rename({running!r} + ".new", {running!r})
time.sleep(100)
""")
        script = subprocess.Popen([os.path.join(GPU, "sanitize.sh"), "--output", self.path("out")], stdout=subprocess.DEVNULL,
                                  env={**os.environ, **self.environment, "OCTET_BIN": self.work.name})
        wait_until(lambda: os.path.exists(running))
        script.terminate()
        self.assertEqual(script.wait(timeout=60), 143)
        with open(running, encoding="utf-8") as file:
            tool = file.read()
        wait_until(lambda: not os.path.exists(f"/proc/{tool}"))


# Scripts that users start, with wrong command lines of each, beside an unknown option.
STARTED_BY_USERS = {
    "docs/parity/collect.py": ("no/such/folder", "--check out"),
    "docs/parity/evaluate.sh": ("", "--table", "--seeds", "--documents", "--at-once", "--seeds x out", "--documents x out",
                                "--at-once 0 out", "out more"),
    "docs/parity/run.sh": ("", "--table", "--seeds", "--steps", "--at-once", "--seeds x out", "--at-once 0 out", "out more"),
    "jobs/check-symbols.sh": ("",),
    "jobs/english-text.sh": ("", "file 4", "file 1 more"),
    "jobs/gpu/all.sh": ("--minutes", "--only", "--output", "--python", "more"),
    "jobs/gpu/bench.sh": ("--only", "--by", "--minutes", "--output", "--into", "--python", "more"),
    "jobs/gpu/check.sh": ("--output", "more"),
    "jobs/gpu/ctas.sh": ("--output", "--model", "--pipeline --model", "more"),
    "jobs/gpu/evaluate.sh": ("--output", "--device", "--model", "more"),
    "jobs/gpu/exchange.sh": ("--output", "--model", "more"),
    "jobs/gpu/make_text.py": ("", "file", "file many", "file 1 more"),
    "jobs/gpu/ranks.sh": ("--output", "--minutes", "more"),
    "jobs/gpu/resume.sh": ("--output", "--device", "--model", "--precisions", "more"),
    "jobs/gpu/sanitize.sh": ("--tools", "--filter", "--minutes", "--output", "more"),
    "jobs/install-arrow.sh": ("--help more", "more"),
    "jobs/install-cuda.sh": ("--help more", "--find more"),
    "jobs/install-packages.sh": (),
    "jobs/loss_table.sh": ("",),
    "jobs/make-bundle.sh": ("", "build 1.0 mpiexec", "build 1.0 mpiexec output more"),
    "jobs/plot_loss.sh": ("", "--output", "--title", "--level"),
    "jobs/quickstart.sh": ("--text", "--steps", "--ranks", "--output"),
    "slurm/owned.py": ("", "--owner", "--grace", "--remove"),
    "slurm/virtual-cluster.sh": ("", "more", "kill", "revive", "kill v1 v2", "kill v1", "revive v1", "stop more", "env --more",
                                 "start --more", "start --nodes", "start --owner"),
    "tests/benchmark/compare_checkpoints.sh": ("--folder",),
    "tests/benchmark/compare_torch.sh": ("--models",),
    "tests/run.sh": ("--only", "--minutes"),
    "tests/slurm/scenarios.py": ("--report", "no_such_scenario"),
}
# What these call, with words alone or with options that they have read themselves, and what takes none.
STARTED_BY_SCRIPTS = {"docs/draw_rooms.py", "jobs/bundle-licences.sh", "jobs/gpu/all.py", "jobs/gpu/bench/bench.py", "jobs/gpu/compare_losses.py",
                      "jobs/gpu/count_tests.py", "jobs/gpu/make_task.py", "jobs/gpu/same_losses.py"}


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def run_script(self, script, *words):
        """With no programs, and no virtual cluster."""
        environment = {**os.environ, "OCTET_BIN": "/nowhere", "OCTET_CLUSTER": os.path.join(self.work.name, "cluster")}
        return subprocess.run([os.path.join(ROOT, script), *words], env=environment, cwd=self.work.name, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    def test_every_script_is_known(self):
        files = [os.path.join(place, file) for folder in ("docs", "jobs", "slurm")
                 for place, _, names in os.walk(os.path.join(ROOT, folder)) for file in names if file.endswith((".sh", ".py"))]
        found = {os.path.relpath(file, ROOT) for file in files if os.access(file, os.X_OK)}
        self.assertEqual(found - set(STARTED_BY_USERS) - STARTED_BY_SCRIPTS, set())

    def test_help_goes_to_standard_output(self):
        for script in STARTED_BY_USERS:
            for option in ("--help", "-h"):
                with self.subTest(f"{script} {option}"):
                    done = self.run_script(script, option)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, "[Uu]sage: ")
                    self.assertNotIn("set -euo", done.stdout)

    def test_a_wrong_command_line_is_told_in_one_line_that_names_it(self):
        for script, wrong in STARTED_BY_USERS.items():
            for line in ("--bogus", *wrong):
                with self.subTest(f"{script} {line}"):
                    done = self.run_script(script, *line.split())
                    self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                    self.assertRegex(done.stderr, r"\A[^\n]+\n\Z")
                    self.assertTrue(not line or any(word in done.stderr for word in line.split()), done.stderr)


# A python3 whose pip finds wheels with one header, and a licence.
PIP = """
import os, sys, zipfile
if "download" in sys.argv:
    value = lambda option: sys.argv[sys.argv.index(option) + 1]
    name, version = open(value("--requirement")).read().split()[0].split("==")
    open(os.environ["ASKED"], "a").write(name + "\\n")
    with zipfile.ZipFile(os.path.join(value("--dest"), name + ".whl"), "w") as wheel:
        for folder in ("include", "nvidia/cu13/include", "nvidia/cudnn_jit/include", "nvidia/nccl/include"):
            wheel.writestr(folder + "/nccl.h", "")
        wheel.writestr(name.replace("-", "_") + "-" + version + ".dist-info/licenses/License.txt", "terms of " + name)
"""

NVCC = """
import os
print("Cuda compilation tools, release " + os.environ["RELEASE"] + ", V" + os.environ["RELEASE"] + ".1")
"""


class InstallTest(ScriptTest):
    def started(self, *command, nvcc=NVCC, release=""):
        """What the command of a tree says on a machine that has no nvcc but this one."""
        for folder in ("tree/jobs", "tree/tests/support", "tree/slurm"):
            os.makedirs(self.path(folder), exist_ok=True)
        for file in ("jobs/pip-tools.sh", "tests/run.sh", "tests/support/steps.sh", "slurm/owned.py"):
            shutil.copy(os.path.join(ROOT, file), self.path("tree/" + file))
        with open(os.path.join(ROOT, "jobs/install-cuda.sh"), encoding="utf-8") as file:
            text = file.read().replace("/usr/local/cuda", self.path("cuda"))
        with open(self.path("tree/jobs/install-cuda.sh"), "w", encoding="utf-8") as file:
            file.write(text if nvcc is not None else text.replace("command -v nvcc", "false"))
        os.chmod(self.path("tree/jobs/install-cuda.sh"), 0o755)
        self.program("tree/jobs/install-packages.sh", "")
        if nvcc is not None:
            self.program("nvcc", nvcc)
        path = self.work.name + ":" + os.environ["PATH"]
        return subprocess.run([self.path("tree/" + command[0]), *command[1:]], text=True, capture_output=True, check=False,
                              env={**os.environ, "PATH": path, "CUDA_HOME": "", "RELEASE": release, "CXX": "false"})  # sees no header

    def find(self, release, fetched=False, arguments=("--find",), nvcc=NVCC):
        if fetched:
            os.makedirs(self.path("tree/build/cuda-packages/toolkit/bin"))
            self.program("tree/build/cuda-packages/toolkit/bin/nvcc", NVCC)
        return self.started("jobs/install-cuda.sh", *arguments, nvcc=nvcc, release=release)

    def test_takes_an_nvcc_that_is_new_enough(self):
        for release in ("12.9", "13.0", "13.10"):
            done = self.find(release)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.path("nvcc") + "\n", ""))

    def test_leaves_an_old_one_out_and_says_so(self):
        for release in ("12.4", "12.0", "9.2"):
            done = self.find(release)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{self.path('nvcc')} is left out: release {release}, needed 12.9 or newer", done.stderr)

    def test_leaves_one_out_that_does_not_run(self):
        for broken in (NVCC + "raise SystemExit(127)", "print('no compiler')"):
            done = self.find("13.0", nvcc=broken)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{self.path('nvcc')} is left out: release unknown, since --version does not tell it, needed 12.9 or newer", done.stderr)

    def test_none_at_all_is_something_else(self):
        done = self.find("", nvcc=None)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", ""))

    def test_one_that_does_not_do_is_a_failure_of_the_suite_and_none_is_skipped(self):
        build = ("tests/run.sh", "--quick", "--only", "^build cuda$")
        done = self.started(*build, nvcc=None)
        self.assertIn("skipped: no nvcc", done.stdout)
        self.assertTrue(done.stdout.endswith("0 passed, 0 failed, 1 skipped\n"), done.stdout)
        done = self.started(*build, release="12.4")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.path('nvcc')} is left out: release 12.4, needed 12.9 or newer", done.stdout)
        self.assertTrue(done.stdout.endswith("failed: build cuda\n0 passed, 1 failed, 0 skipped\n"), done.stdout)

    def test_newer_headers_do_not_go_beside_an_older_toolkit(self):
        self.program("python3", "raise SystemExit('no pip')")  # so nothing is fetched: the script says what it wants and fails
        for release, toolkit in (("12.9", True), ("13.0", False)):
            done = self.find(release, arguments=())
            self.assertEqual(done.returncode, 1)
            self.assertIs("does not go beside it: fetching a toolkit" in done.stdout, toolkit, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("unzip"), "no unzip")
    def test_fetches_the_licences_that_the_bundle_needs(self):
        os.environ["ASKED"] = self.path("asked")
        self.addCleanup(os.environ.pop, "ASKED")
        self.program("python3", PIP)
        licence = self.path("tree/build/cuda-packages/licences/nvidia-{}").format

        def asked():
            """The packages that pip is asked for."""
            open(self.path("asked"), "w", encoding="utf-8").close()
            done = self.find("13.0", arguments=())
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(self.path("asked"), encoding="utf-8") as file:
                return [name.removeprefix("nvidia-") for name in file.read().split()]

        self.assertEqual(asked(), ["cudnn-frontend", "cuda-nvrtc", "cublas", "cudnn-jit-cu13", "nccl-cu13", "cuda-runtime"])
        self.assertEqual(asked(), [])
        for package in ("cuda-runtime", "cudnn-frontend"):
            os.remove(licence(package))  # as in a tree that was fetched before there were any
            self.assertEqual(asked(), [package])
            with open(licence(package), encoding="utf-8") as file:
                self.assertEqual(file.read(), "terms of nvidia-" + package)

        os.remove(licence("cuda-runtime"))
        self.program("python3", "raise SystemExit('no pip')")
        done = self.find("13.0", arguments=())
        self.assertEqual(done.returncode, 0)  # all is built but the bundle
        self.assertIn("going on without the licence of nvidia-cuda-runtime, which the bundle will ask for", done.stderr)

    def test_what_was_fetched_comes_first(self):
        self.assertEqual(self.find("13.0", fetched=True).stdout, self.path("tree/build/cuda-packages/toolkit/bin/nvcc") + "\n")
