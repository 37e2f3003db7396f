"""Runs of octet-train on the virtual cluster (slurm/virtual-cluster.sh), for the scenarios."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("OCTET_BIN", ROOT / "build/cpu/bin"))
CLUSTER = ROOT / "slurm/virtual-cluster.sh"
STOP_AT = BIN.parent / "tests/liboctet-stop-at.so"  # tests/jobs/stop_at.cpp
PATIENCE = float(os.environ.get("OCTET_TEST_PATIENCE", "1"))

MODEL = "dim: 32\nlayers: 2\nheads: 2\nkv_heads: 2\nffn_dim: 64\nvocab_size: 256\n"
SETTINGS = {
    "precision": "fp32",
    "train.seq_len": 32,
    "train.global_batch": 12,
    "train.micro_batch": 1,
    "train.validate_every": 0,
    "optimizer.lr": 1e-3,
    "run.seed": 5,
    "checkpoint.interval": '"20 steps"',
    "comm.timeout_seconds": 8,
}


# A program that is told to end when this process is gone, even by SIGKILL.
OWNED = ["setpriv", "--pdeathsig", "TERM"]
MPIEXEC_ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


class Failure(Exception):
    """What a scenario expected and did not find."""


class Skipped(Exception):
    """This machine cannot show it."""


SCENARIOS = {}


def scenario(function):
    """Has it run by scenarios.py, with a folder of its own."""
    SCENARIOS[function.__name__] = function
    return function


def expect(condition, text):
    if not condition:
        raise Failure(text)


def output_of(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def until(what, condition, seconds=90):
    """Waits for a condition; its value."""
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise Failure(f"not within {seconds * PATIENCE:.0f} s: {what}")


def flat_yaml(settings):
    """Sections of one level, as the configuration has them."""
    text, sections = "", {}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        if section:
            sections.setdefault(section, []).append(f"  {name}: {value}")
        else:
            text += f"{key}: {value}\n"
    return text + "".join(f"{name}:\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


class Run:
    """A run of one scenario: its directory, its jobs, what it left."""

    def __init__(self, folder, name, steps, settings=None):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.dir = self.folder / "run"
        self.folder.mkdir(parents=True)
        (self.folder / "tiny.yaml").write_text(MODEL)
        all_settings = {
            "model": self.folder / "tiny.yaml",
            **SETTINGS,
            "train.steps": steps,
            "data.train": pathlib.Path(folder) / "tokens",
            "run.dir": self.dir,
            **(settings or {}),
        }
        self.config = self.folder / f"{name}.yaml"
        self.config.write_text(flat_yaml(all_settings))
        self.steps = steps
        self.cluster = "local"
        self.jobs = []

    # --- starting and ending

    def submit(self, nodes, *options, what=None, **environment):
        """Through octet submit; the ids of its jobs."""
        text = output_of(BIN / "octet", "submit", what or self.config, "--cluster", self.cluster, "--nodes", nodes, *options,
                         env={**os.environ, **environment})
        self.jobs = re.findall(r"\d+", re.search(r"^submitted ([0-9, ]+) on", text, re.M).group(1))
        expect(self.jobs, f"octet submit told no job id:\n{text}")
        return self.jobs

    def add(self, nodes, *options):
        """Jobs of the run directory as it is, beside those that there are; their ids."""
        before = self.jobs
        added = self.submit(nodes, *options, what=self.dir)
        self.jobs = before + added
        return added

    def submit_changed(self, nodes, changes, *options, **environment):
        """The script that octet submit writes, with lines of its settings replaced, by sbatch in this environment."""
        text = output_of(BIN / "octet", "submit", self.config, "--cluster", self.cluster, "--nodes", nodes, "--hold", *options)
        self.jobs = re.findall(r"\d+", re.search(r"^submitted ([0-9, ]+) on", text, re.M).group(1))
        output_of("scancel", *self.jobs)
        script = self.dir / "job.sh"
        content = script.read_text()
        for pattern, line in changes.items():
            content, count = re.subn(pattern, line, content, flags=re.M)
            expect(count == 1, f"{script}: {count} lines match {pattern}")
        script.write_text(content)
        self.jobs = [output_of("sbatch", "--parsable", script, env={**os.environ, **environment}).strip()]
        return self.jobs

    def mpiexec_command(self, ranks, *options):
        return [*OWNED, *(str(word) for word in ("mpiexec", "-n", ranks, BIN / "octet-train", self.config, *options))]

    @contextlib.contextmanager
    def by_hand(self, ranks, *options, before=(), **environment):
        """A start beside whatever Slurm does; ended, where it has not by itself, when the block is left."""
        log = self.folder / "by-hand.log"
        with open(log, "w", encoding="utf-8") as file, \
             subprocess.Popen([*OWNED, *before, *self.mpiexec_command(ranks, *options)], env={**os.environ, **MPIEXEC_ENVIRONMENT, **environment},
                              stdout=file, stderr=file, start_new_session=True) as process:
            try:
                process.text = log.read_text
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)

    def mpiexec(self, ranks, *options):
        output_of(*self.mpiexec_command(ranks, *options), env=MPIEXEC_ENVIRONMENT)

    def mpiexec_for(self, ranks, steps):
        """At least so many steps; the file `stop` ends it."""
        with subprocess.Popen(self.mpiexec_command(ranks), env=MPIEXEC_ENVIRONMENT, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as whole:
            try:
                self.wait_for_step(steps, 300)
            finally:
                (self.dir / "stop").touch()
                whole.wait(60)
        expect(self.status().get("exit_code") == 75, f"{self.name}: {self.status()}")

    def state_of(self, job):
        found = re.search(r"JobState=(\w+)", subprocess.run(["scontrol", "show", "job", job], capture_output=True,
                                                             text=True, timeout=30).stdout)
        return found.group(1) if found else ""

    def nodes(self):
        """On which the job runs now."""
        text = output_of("squeue", "--noheader", "--format=%N", "--jobs", self.jobs[-1]).strip()
        return output_of("scontrol", "show", "hostnames", text).split() if text else []

    def wait_for_end(self, seconds=150):
        """Of all its jobs."""
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "")
        until(f"{self.name}: the jobs {self.jobs} have ended", lambda: all(self.state_of(j) in ended for j in self.jobs),
              seconds)

    # --- what it left

    def status(self):
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads((self.dir / "status.json").read_text())
        return {}

    def metrics(self):
        lines = []
        with contextlib.suppress(FileNotFoundError):
            for line in (self.dir / "metrics.jsonl").read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):
                    lines.append(json.loads(line))
        return lines

    def losses(self):
        """By step; none twice and none missing."""
        steps = [m["step"] for m in self.metrics()]
        expect(steps == list(range(1, len(steps) + 1)), f"{self.name}: the metrics have steps {steps}")
        return [m["loss"] for m in self.metrics()]

    def launches(self):
        with contextlib.suppress(FileNotFoundError):
            return [json.loads(line) for line in (self.dir / "job/launches.jsonl").read_text().splitlines()]
        return []

    def actions(self):
        return [launch["action"] for launch in self.launches()]

    def log(self):
        return "".join(p.read_text(errors="replace") for p in sorted(self.dir.glob("job-*.out")))

    def wait_for_step(self, step, seconds=90):
        until(f"{self.name}: step {step}", lambda: len(self.metrics()) >= step, seconds)

    def wait_for_checkpoint(self, seconds=90):
        return until(f"{self.name}: a checkpoint", lambda: self.status().get("checkpoint"), seconds)

    def expect_finished(self):
        status = self.status()
        expect(status.get("state") == "finished" and status.get("step") == self.steps, f"{self.name}: {status}\n{self.log()}")
        expect(len(self.losses()) == self.steps, f"{self.name}: {len(self.losses())} steps in the metrics")

    def ranks(self):
        """Processes of its octet-train, by (node, rank)."""
        found = {}
        for process in pathlib.Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, KeyError):
                words = (process / "cmdline").read_bytes().decode().split("\0")
                if not words[0].endswith("octet-train") or not any(str(self.folder) in w for w in words):
                    continue
                pairs = (line.partition("=") for line in (process / "environ").read_bytes().decode().split("\0"))
                environment = {key: value for key, _, value in pairs}
                found[environment["SLURMD_NODENAME"], int(environment["PMI_RANK"])] = int(process.name)
        return found

    def kill_all(self, job):
        """Its script and its ranks, so that none can say how it ended."""
        scripts = []
        for process in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                words = (process / "cmdline").read_bytes().decode().split("\0") if process.name.isdigit() else []
                if words[:1] == ["/bin/bash"] and words[1].endswith(f"/job{int(job):05}/slurm_script"):
                    scripts.append(int(process.name))
        expect(scripts, f"job {job} has no script")
        for pid in scripts:
            os.kill(pid, signal.SIGSTOP)
        for pid in [*self.ranks().values(), *scripts]:
            with contextlib.suppress(ProcessLookupError):  # the first rank's death ends the others
                os.kill(pid, signal.SIGKILL)

    def kill_rank(self, rank, number=signal.SIGKILL):
        (pid,) = [pid for (_, r), pid in self.ranks().items() if r == rank]
        os.kill(pid, number)
        return pid


def same_bits(found, expected, what):
    expect(found == expected, f"{what}: losses differ, first at step "
           f"{next((i + 1 for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))}")


def close(found, expected, tolerance, what):
    expect(len(found) == len(expected), f"{what}: {len(found)} and {len(expected)} steps")
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
    expect(worst <= tolerance, f"{what}: losses differ by {worst:.2e} of their value, expected at most {tolerance:.0e}")


def prepare_data(folder):
    text = pathlib.Path(folder) / "text.txt"
    text.write_text("".join(f"{i} is a number and {i * i % 997} is another.\n" for i in range(6000)))
    output_of(BIN / "octet", "prepare", "--input", text, "--output", pathlib.Path(folder) / "tokens")


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


def free_ports(count):
    """The first of so many that nobody listens to now."""
    for first in range(18000 + os.getpid() % 500 * 20, 32000, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise Failure("no ports are free")


def processes_of(folder):
    """Those that name something in it, in their words or their environment, or have a file of it open."""
    found, inside = {}, str(folder).encode() + b"/"
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes()
                texts = [words, (process / "environ").read_bytes()]
                texts += [os.fsencode(os.readlink(file)) for file in (process / "fd").iterdir()]
                if words and any(inside in text for text in texts):
                    found[int(process.name)] = words.replace(b"\0", b" ").decode(errors="replace").strip()
    return found
