#!/usr/bin/env python3
"""What jobs/gpu/bench.sh does: chooses rows, runs the programs, appends results, prints tables. Standard library only."""

import argparse
import datetime
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import bench_rows  # noqa: E402
import bench_table  # noqa: E402
import bench_train  # noqa: E402

NO_DEVICE = 3  # exit code of octet-bench-gpu and torch_gpu.py where they cannot run
DEVICE_IN_ERROR = 70  # and of octet-bench-gpu after a fault of a kernel
TIMED_OUT = -1000  # in the place of an exit code
PROCESSES_A_GROUP = 5
GROUP_SECONDS = 420  # a process that takes longer is ended; the rows that it finished stay
MEMORY = 84942979072  # of an H100, for --list without one


# --- what this run is ------------------------------------------------------------------------------------------------


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """Of the source: the tree's, or what the bundle's COMMIT file says."""
    if os.environ.get("OCTET_COMMIT"):
        return os.environ["OCTET_COMMIT"]
    if os.path.exists(os.path.join(ROOT, ".git")):
        git = ["git", "-C", ROOT]
        head = output_of(git + ["rev-parse", "--short=10", "HEAD"])
        if head:
            return head + ("-dirty" if output_of(git + ["status", "--porcelain", "--untracked-files=no"]) else "")
    for name in ("COMMIT", "share/octet/COMMIT"):
        if os.path.exists(os.path.join(ROOT, name)):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                return file.read().split()[0]
    return "unknown"


def driver():
    smi = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    if smi:
        return smi.splitlines()[0]
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            found = re.search(r"\b\d+\.\d+(\.\d+)?\b", file.read())
    except OSError:
        return "unknown"
    return found[0] if found else "unknown"


def names_code(text):
    """Whether a commit names the code: a changed tree and an unknown one do not."""
    return text != "unknown" and not text.endswith("-dirty")


def read_results(path):
    if not os.path.exists(path):
        return []
    results = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    results.append(json.loads(line))
            except json.JSONDecodeError:  # a killed run may leave half a line
                print(f"{path}:{number}: not JSON, left out", file=sys.stderr)
    return results


class Results:
    """The results file: what it has for this commit and device, and where new rows go. A changed tree and a tree of
    an unknown commit name no code: what was measured with one is measured again."""

    def __init__(self, path, identity):
        self.path, self.identity = path, identity
        self.measured = self.failed = 0
        here = [r for r in read_results(path) if names_code(identity["commit"])
                and all(r.get(key) == identity[key] for key in ("commit", "device"))]
        self.done = {(r["by"], r["row"]) for r in here if "error" not in r}
        self.broken = {(r["by"], r["row"]) for r in here} - self.done
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self.ends_clean = self._ends_clean()

    def _ends_clean(self):
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            return True
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"

    def add(self, by, result, command):
        if "error" in result:
            self.failed += 1
            print(f"  {by}:{result['row']}  FAILED: {result['error'].splitlines()[0][:200]}", flush=True)
        else:
            self.measured += 1
            self.done.add((by, result["row"]))
            print(f"  {by}:{result['row']}  {result['seconds'] * 1e3:.4g} ms", flush=True)
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = {"by": by, **result, **self.identity, "date": date, "command": command}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(("" if self.ends_clean else "\n") + json.dumps(line) + "\n")
        self.ends_clean = True


# --- running programs ------------------------------------------------------------------------------------------------


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
            if by == "torch" and code == NO_DEVICE:
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
        for command in ([sys.executable, os.path.join(HERE, "make_text.py"), text, "4000000"],
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


# --- the command -----------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message):
        name = os.path.basename(self.prog).removesuffix(".sh")
        print(f"{name}: {message} (see --help)", file=sys.stderr)
        sys.exit(64)


def regular_expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from None


def minutes(text):
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected at least 0")
    return value


def program(text):
    if shutil.which(text) is None:
        raise argparse.ArgumentTypeError(f"{text} is not a program")
    return text


def arguments():
    parser = Parser(prog="jobs/gpu/bench.sh", allow_abbrev=False)
    parser.add_argument("--only", metavar="REGEX", type=regular_expression, default=re.compile(""))
    parser.add_argument("--by", choices=("octet", "torch"))
    parser.add_argument("--minutes", type=minutes, default=10000.0)
    parser.add_argument("--out", metavar="FILE", action="append")
    parser.add_argument("--into", metavar="PAGE", action="append", default=[])
    parser.add_argument("--python", type=program, default="python3")
    for mode in ("list", "dry-run", "table", "only-parse"):  # the last for bench.sh: are the options right?
        parser.add_argument("--" + mode, action="store_true")
    options = parser.parse_args()
    options.files = options.out or [os.path.join(ROOT, "runs/gpu-results.jsonl")]
    options.out = options.files[-1]
    if options.into and not options.table:
        parser.error("--into is for --table")
    if len(options.files) > 1 and not options.table:
        parser.error("several --out are for --table")
    for page in options.into:
        if not bench_table.has_place(page):
            parser.error(f"--into {page}: expected a page with a line {bench_table.BEGIN} and after it {bench_table.END}")
    return options


def chosen(only, wanted, memory):
    """(program, rows) of the groups: those that the regular expression finds, of the program if one is wanted."""
    out = []
    for _, by, rows in bench_rows.groups(memory):
        rows = [r for r in rows if only.search(f"{by}:{r['row']}")]
        if rows and wanted in (None, by):
            out.append((by, rows))
    return out


def device_of_this_machine():
    program = os.path.join(os.environ.get("OCTET_BIN", ""), "octet-bench-gpu")
    text = output_of([program, "--device"])
    return json.loads(text) if text else None


def measure(options):
    device = device_of_this_machine()
    if device is None:
        print("bench: FAILED: octet-bench-gpu --device gives no device")
        return 1
    identity = {"device": device["device"], "driver": driver(), "commit": commit()}
    print("  ".join(f"{k}: {v}" for k, v in {**identity, "results": options.out}.items()), flush=True)
    identity["run"] = shlex.join(["jobs/gpu/bench.sh"] + sys.argv[1:])
    identity["peaks"] = [device.get("bf16_peak"), device.get("fp8_peak")]  # FLOP/s, as octet-train has them
    results = Results(options.out, identity)
    start, already = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(options, results, work, start + 60 * options.minutes)
        for by, rows in chosen(options.only, options.by, device["memory_bytes"]):
            waiting = [r for r in rows if (by, r["row"]) not in results.done]
            already += len(rows) - len(waiting)
            if waiting:
                runner.run(by, waiting)
    text = f"{results.measured} rows measured, {already} were there, {results.failed} failed"
    text += f", {runner.left} left for want of time" if runner.left else ""
    text += f", PyTorch's skipped ({runner.no_torch})" if runner.no_torch else ""
    print(f"bench: {'FAILED' if results.failed else 'PASSED'}: {text} ({time.monotonic() - start:.0f} s)")
    return 1 if results.failed else 0


def main():
    options = arguments()
    if options.only_parse:
        return 0
    if options.table:
        wanted = [r for path in options.files for r in read_results(path) if options.only.search(f"{r['by']}:{r['row']}")]
        files = ", ".join(options.files)
        if not wanted or not options.into:
            print(bench_table.render(wanted) if wanted else f"no results in {files}")
            return 0
        for page in options.into:
            bench_table.write_into(page, wanted)
            print(f"{page}: tables of {len(wanted)} rows of {files}")
        return 0
    if options.list:
        for by, rows in chosen(options.only, options.by, MEMORY):
            print("\n".join(f"{by}:{row['row']}" for row in rows))
        return 0
    if options.dry_run:
        device = device_of_this_machine() or {"device": "an H100", "memory_bytes": MEMORY}
        done = Results(options.out, {"device": device["device"], "commit": commit()}).done
        rows = [(by, r["row"]) for by, group in chosen(options.only, options.by, device["memory_bytes"]) for r in group]
        waiting = [r for r in rows if r not in done]
        print("\n".join(f"{by}:{row}" for by, row in waiting))
        print(f"bench: {len(waiting)} rows would be measured on {device['device']}, {len(rows) - len(waiting)} are there")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end the program that runs
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
