"""Runs the programs of jobs/gpu/bench.sh over its rows, within their time, and gives what they say to the results. Standard
library only."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import bench_train
from bench_results import ROOT

NO_TORCH = 3  # exit code of torch_gpu.py where it cannot run
DEVICE_IN_ERROR = 70  # and of octet-bench-gpu after a fault of a kernel
TIMED_OUT = -1000  # in the place of an exit code
PROCESSES_A_GROUP = 5
GROUP_SECONDS = 420  # a process that takes longer is ended; the rows that it finished stay


def run_lines(command, seconds, log, on_line, environment):
    """Runs it, gives each line of its output to on_line, ends its process group after `seconds`. Returns its exit code
    (negative: the signal that ended it; TIMED_OUT)."""
    ended = []
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
                                   env=environment)

        def time_out():
            ended.append(True)
            end()

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        timer = threading.Timer(seconds, time_out)
        timer.start()
        try:
            for line in process.stdout:
                on_line(line)
            code = process.wait()
            return TIMED_OUT if ended and code != 0 else code
        except BaseException:
            end()
            raise
        finally:
            timer.cancel()


def tail(path, characters=600):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()[-characters:].strip()


class Runner:
    def __init__(self, options, results, work, deadline):
        self.options, self.results, self.work = options, results, work
        self.deadline = deadline  # of time.monotonic()
        self.left = 0  # rows not measured for want of time
        # First on the PATH, that Python's environment is where the programs look for CUDA's libraries.
        folder = os.path.dirname(os.path.abspath(shutil.which(options.python) or options.python))
        self.environment = {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", "")}
        self.bin = os.environ["OCTET_BIN"]
        self.log = os.path.join(work, "program.log")
        self.no_torch = None  # why, once it is known
        self.tokens, self.prepared = os.path.join(work, "tokens"), False

    def seconds(self):
        """What a process may take."""
        return min(GROUP_SECONDS, self.deadline - time.monotonic())

    def start(self, command, on_line):
        return run_lines(command, max(self.seconds(), 0.1), self.log, on_line, self.environment)

    def cut(self, code):
        """Whether it was the deadline that ended a process: no fault of the row's."""
        return code == TIMED_OUT and time.monotonic() >= self.deadline

    def run(self, by, rows):
        if by == "octet" and rows[0]["op"] in ("step", "start"):
            for row in rows:
                self.octet_train(row)
        elif by == "torch" and self.no_torch is not None:
            return
        else:
            self.program(by, rows)

    def program(self, by, rows):
        """All rows in one process: its start, and what it compiles for several rows, is paid once. When it dies, the
        row that it died of is given up and another process takes the rest."""
        command = {"octet": [os.path.join(self.bin, "octet-bench-gpu")],
                   "torch": [self.options.python, os.path.join(ROOT, "tests/benchmark/torch_gpu.py")]}[by]
        waiting = {row["row"]: row for row in rows}
        if self.seconds() <= 0:
            self.left += len(waiting)
            return
        for _ in range(PROCESSES_A_GROUP):
            before = len(waiting)
            code = self.process(by, command, waiting)
            if by == "torch" and code == NO_TORCH:
                self.no_torch = (tail(self.log).splitlines() or ["torch_gpu.py cannot run"])[-1]
                print(f"  PyTorch's rows are skipped: {self.no_torch}", flush=True)
                return
            told = code == DEVICE_IN_ERROR  # the row that is to blame has said so itself
            slow = code == TIMED_OUT and len(waiting) < before  # many rows, not one that hangs
            if self.cut(code):
                self.left += len(waiting)
                return
            if waiting and not told and not slow:
                name = next(iter(waiting))
                why = f"ended after {GROUP_SECONDS} s" if code == TIMED_OUT else f"exit code {code}: {tail(self.log)}"
                self.results.add(by, {"row": name, "error": why}, self.shown(command, name))
                del waiting[name]
            if not waiting:
                return
        self.results.add(by, {"row": next(iter(waiting)), "error": "the processes before it died"}, command[-1])

    @staticmethod
    def shown(command, row):
        return f"{os.path.basename(command[-1])} --rows {row}"

    def process(self, by, command, waiting):
        """One process over the waiting rows; takes out what it measured. Returns its exit code."""
        file = os.path.join(self.work, "rows.jsonl")
        with open(file, "w", encoding="utf-8") as out:
            for row in waiting.values():
                out.write(json.dumps({k: v for k, v in row.items() if k not in ("bytes", "flops")}) + "\n")

        def on_line(line):
            try:
                result = json.loads(line)
            except json.JSONDecodeError:
                return  # a library that prints
            row = waiting.pop(result.get("row"), None) if isinstance(result, dict) else None
            if row is not None:
                result.update(flops=row["flops"], bytes=row["bytes"])
                if by == "octet":
                    result["libraries"] = bench_train.libraries_of(self.log)
                self.results.add(by, result, self.shown(command, row["row"]))

        return self.start(command + ["--rows", file], on_line)

    def prepare_tokens(self):
        """Words by a fixed rule, once: speed does not depend on what the text says. An exit code."""
        text = os.path.join(self.work, "words.txt")
        for command in ([sys.executable, os.path.join(ROOT, "jobs/gpu/make_text.py"), text, "4000000"],
                        [os.path.join(self.bin, "octet"), "prepare", "--input", text, "--output", self.tokens]):
            code = 0 if self.prepared else self.start(command, lambda line: None)
            if code != 0:
                return code
        self.prepared = True
        return 0

    def octet_train(self, row):
        if self.seconds() <= 0:
            self.left += 1
            return None
        model = os.path.join(self.work, "model.yaml")
        with open(model, "w", encoding="utf-8") as file:
            file.write(bench_train.model_file(row))
        run = tempfile.mkdtemp(dir=self.work)
        command = [os.path.join(self.bin, "octet-train"), *bench_train.train_options(row, model, self.tokens, run)]
        bench_train.copy_plans(row, self.work, run)
        with open(self.log + ".out", "w", encoding="utf-8") as out:
            code = self.prepare_tokens() or self.start(command, out.write)
        if self.cut(code):
            self.left += 1
            return None
        shown = " ".join(["octet-train"] + command[1:]).replace(self.work + "/", "")
        if code != 0:
            why = f"ended after {GROUP_SECONDS} s" if code == TIMED_OUT else f"exit code {code}"
            why += ": " + (tail(self.log) + " " + tail(self.log + ".out", 300)).strip()
            return self.results.add("octet", {"row": row["row"], "error": why}, shown)
        bench_train.copy_plans(row, run, self.work)
        return self.results.add("octet", bench_train.result_of(row, run, self.log), shown)
