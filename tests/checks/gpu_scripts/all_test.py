"""jobs/gpu/all.sh: its parts, their order and their time."""
import contextlib
import os
import re
import shutil
import subprocess
import unittest

from stand_ins import GPU, PART_SCRIPT, ScriptTest  # with it, jobs/gpu is on the path

import all_plan
import bench_rows


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

    scripts = ["kernels", "training", "evaluate", "resume", "memcheck", "ranks", "racecheck", "exchange", "synccheck", "ctas"]
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
            self.all("--only", "kernels", OCTET_COMMIT="c1-changed")
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
        self.assertRegex(text, r"(?m)^kernels +\d+ s +PASSED ")
        self.assertRegex(text, r"(?m)^training +\d+ s +1 ")
        self.assertRegex(self.all("--list", "--minutes", "10", OCTET_BIN="/nowhere")[1], r"(?m)^kernels +\d+ s +1 ")


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
        self.assertEqual(in_one_call(10), ["kernels", "training", "steps-8b"])
        aims = ["kernels", "training", "steps-8b", "steps-70b", "steps-405b-tp4"]
        self.assertEqual(set(aims) - set(in_one_call(15)), set())
        self.assertEqual(set(aims + ["beside", "gains", "evaluate", "steps-1.8b", "gemm-ways"]) - set(in_one_call(25)), set())

    def test_a_gain_needs_rows_of_octet_alone(self):
        part = next(p for p in all_plan.PARTS if p.name == "gains")
        rows = [f"{by}:{row['row']}" for _, by, of in bench_rows.groups() for row in of if re.search(part.rows, f"{by}:{row['row']}")]
        self.assertEqual(len(rows), len(bench_rows.STACKS) * 2 * 2)
        self.assertEqual({row.split(":")[0] for row in rows}, {"octet"})


# mpiexec starts so many of a program; the ranks of a run that lasts for ever end when they see that another has ended or
# stopped, and pgrep finds them by what they wrote into their run's folder.
