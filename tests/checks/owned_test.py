#!/usr/bin/env python3
"""slurm/owned.py: what it runs ends with its owner, with all that came of it, also what has left its session."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWNED = ROOT / "slurm/owned.py"
# Its child, and a daemon's grandchild that nobody waits for; neither hears SIGTERM. Their numbers go to the file.
STUBBORN = "trap '' TERM; (setsid bash -c 'echo $$ >>$0; sleep 1000; true' $0 &) ; echo $$ >>$0; sleep 1000; true"

# The same with $1 for the file, of a script that hears SIGTERM.
DAEMON = "(setsid bash -c 'echo $$ >>$0; sleep 1000; true' $1 &)\necho $$ >>$1\nsleep 1000\ntrue"


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class OwnedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "processes"

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def started(self):
        def numbers():
            return self.file.read_text().split() if self.file.exists() else []
        self.wait_for(lambda: len(numbers()) == 2, "both processes have started")
        return numbers()

    def expect_gone(self, pids):
        self.wait_for(lambda: not any(runs(pid) for pid in pids), f"{pids} are gone")

    def test_the_end_of_the_owner(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            self.file.unlink(missing_ok=True)
            gone = self.folder / "removed"
            gone.mkdir()
            with subprocess.Popen(["sleep", "1000"]) as owner:
                with subprocess.Popen([OWNED, "--owner", str(owner.pid), "--grace", "0.2", "--remove", gone,
                                       "bash", "-c", STUBBORN, self.file]) as owned:
                    pids = self.started()
                    owner.send_signal(number)
                    owner.wait()
                    self.assertNotEqual(owned.wait(20), 0)
            self.expect_gone(pids)
            self.assertFalse(gone.exists())

    def test_the_owner_is_the_one_that_asks(self):
        script = f"{OWNED} --grace 0.2 bash -c \"$1\" $2 & exec sleep 1000"
        with subprocess.Popen(["bash", "-c", script, "owner", STUBBORN, self.file]) as owner:
            pids = self.started()
            owner.kill()
        self.expect_gone(pids)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.file.unlink(missing_ok=True)
            kept = self.folder / "kept"
            kept.mkdir(exist_ok=True)
            with subprocess.Popen([OWNED, "--grace", "0.2", "--remove", kept, "bash", "-c", STUBBORN, self.file]) as owned:
                pids = self.started()
                owned.send_signal(number)
                self.assertEqual(owned.wait(20), 128 + signal.SIGKILL)
            self.expect_gone(pids)
            self.assertTrue(kept.exists(), "its owner is there")

    def test_the_end_of_the_command(self):
        for command, code in (("exit 0", 0), ("exit 76", 76), ("kill -USR1 $$", 128 + signal.SIGUSR1)):
            self.file.unlink(missing_ok=True)
            leaves = f"(setsid bash -c 'echo $$ >>$0; sleep 1000; true' $0 &); until [[ -s $0 ]]; do sleep 0.01; done; {command}"
            done = subprocess.run([OWNED, "bash", "-c", leaves, self.file], timeout=20, check=False)
            self.assertEqual(done.returncode, code)
            self.expect_gone(self.file.read_text().split())

    def test_an_owner_that_is_gone_already(self):
        with subprocess.Popen(["true"]) as owner:
            owner.wait()
        done = subprocess.run([OWNED, "--owner", str(owner.pid), "touch", self.file], timeout=20, check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 70)
        self.assertIn(f"process {owner.pid}, for which it is to run, is gone", done.stderr)
        self.assertFalse(self.file.exists())

    def test_what_cannot_run(self):
        done = subprocess.run([OWNED, "/no/such/program"], timeout=20, check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (127, "owned.py: /no/such/program: No such file or directory\n"))

    def copy_of_the_suite(self):
        """tests/run.sh with a shellcheck that starts a daemon and goes on for ever."""
        suite = self.folder / "suite"
        for file in ("tests/run.sh", "tests/support/steps.sh", "slurm/owned.py"):
            (suite / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, suite / file)
        for file, text in (("jobs/install-packages.sh", "true"), ("bin/shellcheck", f"set -- {self.file}\n{DAEMON}")):
            (suite / file).parent.mkdir(exist_ok=True)
            (suite / file).write_text(f"#!/bin/bash\n{text}\n")
            (suite / file).chmod(0o755)
        return suite

    def test_an_interrupted_run_of_the_suite(self):
        suite = self.copy_of_the_suite()
        environment = dict(os.environ, PATH=f"{suite}/bin:{os.environ['PATH']}")
        for number, code in ((signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            self.file.unlink(missing_ok=True)
            with subprocess.Popen([suite / "tests/run.sh", "--only", "^shellcheck$"], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                pids = self.started()
                run.send_signal(number)
                self.assertEqual(run.wait(20), code)
            self.expect_gone(pids)

    def test_nobodys(self):
        with subprocess.Popen([OWNED, "--owner", "0", "sleep", "0.2"]) as owned:
            self.assertEqual(owned.wait(20), 0)


if __name__ == "__main__":
    os.environ.pop("BASH_ENV", None)
    sys.exit(unittest.main())
