"""One start of octet-train in a process group of its own: its ranks, its log, its end."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from run_directory import Log

MARK = "OCTET_CHAOS_START"  # in the environment of all processes of a start; its value is the start's log
QUIET_SECONDS = 120  # without a new line anywhere a start hangs; a loaded machine makes it slow, not silent
LONGEST_SECONDS = 1200
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "MPIR_CVAR_NEMESIS_TCP_HOST_LOOKUP_RETRIES": "1"}


class Programs:
    """What a build has."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.train, self.octet = self.folder / "octet-train", self.folder / "octet"
        self.faults = self.folder.parent / "tests/liboctet-faults.so"  # tests/checkpoints/crash/faults.cpp
        for path in (self.train, self.octet, self.faults):
            if not path.exists():
                raise SystemExit(f"chaos: no {path}: build octet, octet-train and octet-faults, or name another --bin")
        if not shutil.which("mpiexec"):
            raise SystemExit("chaos: no mpiexec: jobs/install-packages.sh --tests installs it")


def processes_of(log):
    """Number -> rank (None: mpiexec or its proxy) of the processes that live of the start with that log."""
    mark, found = f"{MARK}={log}\0".encode(), {}
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and mark in (environment := (process / "environ").read_bytes()):
                rank = re.search(rb"(?:^|\0)PMI_RANK=(\d+)\0", environment)
                trains = os.readlink(process / "exe").endswith("/octet-train")
                found[int(process.name)] = (int(rank[1]) if rank else 0) if trains else None
    return found


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Start:
    def __init__(self, command, log):
        self.log_path, self.command = pathlib.Path(log), [str(word) for word in command]
        self.began = time.time_ns()
        with open(self.log_path, "xb") as output:
            output.write((" ".join(self.command) + "\n").encode())
            output.flush()
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                env={**os.environ, **ENVIRONMENT, MARK: str(self.log_path)})

    def ranks(self):
        """Process by rank, of those that live."""
        return {rank: pid for pid, rank in processes_of(self.log_path).items() if rank is not None}

    @property
    def log(self):
        """Without the first line, which is the command."""
        return Log(self.log_path.read_text(errors="replace").partition("\n")[2])

    def lives(self):
        return self.process.poll() is None

    def wait(self, directory):
        """The launcher's exit code; None where the start hangs, whose processes are ended then."""
        begin = changed = time.monotonic()
        size = None
        while self.lives():
            metrics = directory.path / "metrics.jsonl"
            now = (self.log_path.stat().st_size, metrics.stat().st_size if metrics.exists() else 0)
            if now != size:
                size, changed = now, time.monotonic()
            if time.monotonic() - changed > QUIET_SECONDS or time.monotonic() - begin > LONGEST_SECONDS:
                self.write_stacks()
                self.end()
                return None
            time.sleep(0.02)
        return self.process.returncode

    def wait_for_ranks(self, seconds=30):
        """Those that still live so long after the launcher."""
        deadline = time.monotonic() + seconds
        while (left := self.ranks()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return sorted(left)

    def write_stacks(self):
        """Where its ranks hang."""
        with open(f"{self.log_path}.stacks", "w") as output:
            for rank, pid in sorted(self.ranks().items()):
                output.write(f"rank {rank}, process {pid}\n")
                output.flush()
                if shutil.which("gdb"):
                    subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 25"], stdout=output,
                                   stderr=output, timeout=60, check=False)

    def end(self):
        """Kills whatever lives of it."""
        deadline = time.monotonic() + 20
        while (left := processes_of(self.log_path)) and time.monotonic() < deadline:
            for pid in left:
                send(pid, signal.SIGKILL)
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)


def train_command(programs, run, layout, options, fault=None):
    """`fault`: (rank, OCTET_FAULT), which meets that rank alone."""
    program = [programs.train, "--run.dir", run]
    for key, value in {**options, **layout.options()}.items():
        program += [f"--{key}", value]
    if not fault:
        return ["mpiexec", "-n", layout.ranks, *program]
    rank, words = fault
    failing = ["env", f"LD_PRELOAD={programs.faults}", f"OCTET_FAULT_ROOT={run}", f"OCTET_FAULT={words}", *program]
    groups = [(rank, program), (1, failing), (layout.ranks - rank - 1, program)]
    groups = [["-n", count, *words] for count, words in groups if count]
    return ["mpiexec", *groups[0], *(word for group in groups[1:] for word in [":", *group])]
