#!/usr/bin/env python3
"""The checks of tests/chaos find what they are for: made-up run directories with one fault each are reported, and the
same ones without it are not."""
import json
import pathlib
import shutil
import stat
import tempfile
import unittest

import end_checks
from interruptions import Plan
from run_directory import Log, RunDirectory
from settings import Layout, Settings
from start_checks import Ended, check_start

STEPS = 6
FINISHED = {"state": "finished", "reason": "all steps done", "exit_code": 0, "step": STEPS,
            "checkpoint": "checkpoints/step-000006"}
STOPPED = {"state": "stopped", "reason": "SIGTERM", "exit_code": 75, "step": 4,
           "checkpoint": "checkpoints/step-000004"}
RUNNING = {**FINISHED, "state": "running", "reason": ""}
FAILED = {"state": "failed", "reason": "No space left on device", "exit_code": 70, "step": 4}
ERROR = "2026-11-27 10:00:00 E [checkpoints] step 4 cannot be saved: No space left on device\n"


def line(step, **other):
    return {"step": step, "loss": 6.0 - step / 8, "grad_norm": 1.0, "lr": 1e-3, "tokens": 256 * step,
            "passes": [0.1 * step], "restarts": 0, "time": f"2026-11-27T10:00:{step:02}Z", **other}


class MadeUp(unittest.TestCase):
    """With the run directories `run` and `reference`, both of a finished run that kept its last two checkpoints."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run, self.reference = (RunDirectory(self.folder / name) for name in ("run", "reference"))
        for directory in (self.run, self.reference):
            for step in (4, 6):
                self.make_checkpoint(directory, step)
            self.write_metrics(directory, [line(step) for step in range(1, STEPS + 1)])
            (directory.path / "owner.json").write_text('{"pid": 1, "released": true}')
        options = {"precision": "fp32", "train.steps": STEPS}
        self.settings = Settings({}, Layout(1, ()), options, STEPS, keep=2, keep_every=0)

    def make_checkpoint(self, directory, step):
        folder = directory.path / f"checkpoints/step-{step:06}"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        (folder / "writer-00000.h5").write_text("many bytes")

    def write_metrics(self, directory, lines, name="metrics.jsonl"):
        (directory.path / name).write_text("".join(json.dumps(entry) + "\n" for entry in lines))

    def remove_checkpoint(self, step):
        shutil.rmtree(self.run.checkpoints()[step])

    def expect(self, found, words):
        self.assertTrue(any(words in text for text in found), f"{words!r} is not in {found}")


class StartChecks(MadeUp):
    def ended(self, kind="none", code=0, log="", status=None, **other):
        plan = Plan(kind) if isinstance(kind, str) else kind
        status = status or (FINISHED if code == 0 else None)
        return Ended(plan, self.settings, self.run, code, Log(log), status=status, **other)

    def expect_fault(self, words, *arguments, **named):
        self.expect(check_start(self.ended(*arguments, **named)), words)

    def expect_none(self, *arguments, **named):
        self.assertEqual(check_start(self.ended(*arguments, **named)), [])

    def fail_with(self, lines):
        (self.run.path / "failure.txt").write_text("a line\n" * lines)

    def test_what_is_as_it_should_be(self):
        self.expect_none(before={4, 6}, log="resumed from run/checkpoints/step-000006: step 6, written by octet\n")
        self.expect_none("signal all", 75, status=STOPPED)
        self.fail_with(1)
        self.expect_none("write refused", 70, log=ERROR, status=FAILED)

    def test_a_hang_and_ranks_that_stay(self):
        self.expect_fault("hangs", code=None)
        self.expect_fault("ranks [1] outlived mpiexec", left=[1])

    def test_exit_codes(self):
        self.expect_fault("exit code 75, expected one of [0]", "none", 75, status=STOPPED)
        self.expect_fault("exit code 71, expected one of [0, 75]", "stop file", 71, status={**FAILED, "exit_code": 71})
        self.expect_fault("exit code 76, expected one of [0, 64, 70]", "write refused", 76, log=ERROR)
        self.expect_fault("exit code 15, expected one of [0, 75, 143]", "signal all", 15)
        self.expect_fault("exit code 0, expected one of [75, 143]", Plan("signal one", last_step=1))
        self.expect_none(Plan("signal one", last_step=2))

    def test_an_end_before_the_first_step(self):
        unsaved = {**STOPPED, "exit_code": 143, "step": 0}
        del unsaved["checkpoint"]
        self.expect_none("signal all", 143, status=unsaved)
        self.expect_fault("exit code 143, expected one of [0, 75]", "signal all", 143, status=unsaved, before={4})
        self.expect_fault("with exit_code 143", "signal all", 143, status={**STOPPED, "exit_code": 143})
        self.expect_fault("with exit_code 75", "signal all", 75, status={**unsaved, "exit_code": 75})

    def test_codes_that_are_not_octets(self):
        self.expect_none(Plan("signal all", early=True), 15)
        self.expect_none("signal one", 15, status=FINISHED)
        self.expect_none("signal launcher", 0, status=STOPPED)
        for code in (9, 13, 79):
            self.expect_none("kill one", code, status=RUNNING)

    def test_status(self):
        self.expect_fault("exit code 0, and status.json says", status=STOPPED)
        self.expect_fault("exit code 75, and status.json says", "signal all", 75, status=RUNNING)
        self.expect_fault("with exit_code 0", status={**FAILED, "exit_code": 0}, code=70, log=ERROR)
        self.expect_fault("without a reason", status={**FINISHED, "reason": ""})
        self.expect_fault("finished at step 5 of 6", status={**FINISHED, "step": 5})
        self.expect_fault("a reason that is not documented", "signal all", 75, status={**STOPPED, "reason": "a whim"})
        gone = {**STOPPED, "checkpoint": "checkpoints/step-000003"}
        self.expect_fault("without a checkpoint", "signal all", 75, status=gone)
        self.expect_fault("exit code 0, and status.json says", "kill all", status=RUNNING)
        self.expect_fault("mpiexec ended with 0 after a signal", "signal launcher", status=RUNNING)
        self.expect_fault("still says running", "freeze", 71, status=RUNNING)

    def test_reasons(self):
        self.fail_with(1)
        self.expect_fault("without an error in the log", "write refused", 70, status=FAILED)
        self.expect_fault("finished with errors in the log", log=ERROR)
        self.expect_fault("it crashed", "kill one", 11, log="Segmentation fault\n")
        self.fail_with(2)
        self.expect_fault("failure.txt has 2 lines", "freeze", 71, status={**FAILED, "exit_code": 71})

    def test_resumption(self):
        older = "resumed from run/checkpoints/step-000004: step 4, written by octet\n"
        self.expect_fault("went on from step 4; the newest whole checkpoint is 6", log=older, before={4, 6})
        self.expect_fault("began again", log="BEGINNING AGAIN AT STEP 0\n", before={4})
        self.expect_fault("began again", log="step:     1  loss: 6\n", before={4})
        damaged = {"before": {4, 6}, "damaged": {6}}
        self.expect_fault("the log does not say so", log=older, **damaged)
        told = "2026-11-27 10:00:00 E checkpoint run/checkpoints/step-000006 is DAMAGED and not used: it\n" + older
        self.expect_fault("was not set aside", log=told, **damaged)
        self.run.checkpoints()[6].rename(self.run.path / "checkpoints/step-000006.damaged")
        self.make_checkpoint(self.run, 6)
        self.expect_none(log=told + "checkpoint of step 6: committed, 0.5 MiB\n", **damaged)

    def test_lost_checkpoints(self):
        self.remove_checkpoint(4)
        announced = "checkpoint of step 4: committed, 0.5 MiB\n"
        self.expect_fault("checkpoints [4] are gone", "kill one", 9, log=announced)
        self.expect_fault("checkpoints [4] are gone", "kill one", 9, before={4, 6})
        self.settings.keep = 1
        self.expect_none("kill one", 9, log=announced)
        self.settings.keep_every = 4
        self.expect_fault("checkpoints [4] are gone", "kill one", 9, log=announced)

    def test_damaged_checkpoints_do_not_count(self):
        self.settings.keep = 1
        still = {"before": {4, 6}, "damaged": {6}, "still_damaged": {6}}
        self.expect_none("kill one", 9, **still)
        self.remove_checkpoint(4)
        self.expect_fault("checkpoints [4] are gone", "kill one", 9, **still)

    def test_checkpoints_that_should_have_gone(self):
        self.settings.keep = 1
        self.expect_fault("checkpoints [4] were not removed")
        self.settings.keep_every = 2
        self.expect_none()

    def test_metrics(self):
        old = line(3, loss=1.25)
        self.expect_fault("lines of steps [3] vanished", lines_before=[line(2), old])
        self.write_metrics(self.run, [old], "metrics.discarded.jsonl")
        self.expect_none(lines_before=[line(2), old])
        self.write_metrics(self.run, [line(1), line(3)])
        self.expect_fault("has the steps [1, 3]", "kill one", 9)
        (self.run.path / "metrics.jsonl").write_text('{"step": 1')
        self.expect_none("kill one", 9)
        self.expect_fault("no JSON", "signal all", 75, status=STOPPED)

    def test_owners(self):
        refusal = Log("run.dir = run: another run is at work there: host vm\n")
        steps = "step:     5  loss: 6\n"
        self.expect_none("second start", log=steps, second=(64, refusal))
        self.expect_fault("does not say why", "second start", second=(64, Log("")))
        self.expect_fault("two starts at once both trained", "second start", log=steps, second=(0, Log(steps)))
        self.expect_fault("ended with 0 and 71", "second start", second=(71, Log("")))
        (self.run.path / "owner.json").write_text('{"pid": 1, "released": false}')
        self.expect_fault("owner.json is not released")


class EndChecks(MadeUp):
    def check(self, exact_until=STEPS, diff=0, verify=0):
        octet = self.folder / "octet"  # says of checkpoints what the test wants
        octet.write_text(f"#!/bin/sh\necho $2; [ $2 = diff ] && exit {diff}; exit {verify}\n")
        octet.chmod(octet.stat().st_mode | stat.S_IXUSR)
        return end_checks.check_finished(self.run, self.reference, self.settings, exact_until, octet)

    def test_what_is_as_it_should_be(self):
        for name in ("config.yaml", "status.json", "owner.json.vm-1-2.tmp", "owner.json.claim-3"):
            (self.run.path / name).touch()
        self.assertEqual(self.check(), [])

    def test_a_wrong_number(self):
        for key, value in (("loss", 5.2500001), ("grad_norm", 2.0), ("lr", 2e-3), ("validation_loss", 5.0)):
            self.write_metrics(self.run, [line(step, **({key: value} if step == 6 else {})) for step in range(1, 7)])
            self.expect(self.check(), f"step 6: {key}")

    def drifted(self, part):
        """Lines whose losses differ by that part behind step 3."""
        return [line(step, loss=line(step)["loss"] * (1 + part * (step > 3))) for step in range(1, STEPS + 1)]

    def test_another_layout(self):
        self.write_metrics(self.run, self.drifted(1e-6))
        self.assertEqual(self.check(exact_until=3), [])
        self.expect(self.check(exact_until=4), "step 4: loss")
        self.write_metrics(self.run, self.drifted(1e-3))
        self.expect(self.check(exact_until=3), "from the reference's")

    def test_missing_and_repeated_steps(self):
        self.write_metrics(self.run, [line(step) for step in (1, 2, 4, 5, 6)])
        self.expect(self.check(), "has the steps [1, 2, 4, 5, 6]")
        self.write_metrics(self.run, [line(step) for step in (1, 2, 3, 3, 4, 5, 6)])
        self.expect(self.check(), "has the steps [1, 2, 3, 3, 4, 5, 6]")
        self.write_metrics(self.run, [line(step, restarts=step == 2) for step in range(1, 7)])
        self.expect(self.check(), "restarts fall")

    def test_checkpoints(self):
        self.expect(self.check(diff=1), "differs from the reference's")
        self.assertEqual(self.check(exact_until=3, diff=1), [])
        self.expect(self.check(verify=64), "octet checkpoint verify")
        self.remove_checkpoint(6)
        self.expect(self.check(), "no checkpoint of step 6")

    def test_files_that_stay(self):
        for name in ("checkpoints/step-000007.vm-1.tmp/writer-00000.h5", "metrics.jsonl.tmp", "stop", "failure.txt"):
            (self.run.path / name).parent.mkdir(exist_ok=True)
            (self.run.path / name).touch()
            self.expect(self.check(), f"files that are not documented: ['{name}']")
            (self.run.path / name).unlink()
            if name.startswith("checkpoints"):
                (self.run.path / name).parent.rmdir()

    def test_a_start_of_a_finished_run(self):
        self.assertEqual(list(end_checks.check_started_again(b"lines", b"lines")), [])
        self.expect(list(end_checks.check_started_again(b"lines", b"line")), "changed metrics.jsonl")


if __name__ == "__main__":
    unittest.main()
