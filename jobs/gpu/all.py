#!/usr/bin/env python3
"""What jobs/gpu/all.sh does: runs the parts of all_plan.py that have no result yet for this commit and device, keeps
what they say, sums up. Standard library only."""

import argparse
import datetime
import json
import os
import re
import shlex
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "bench"), HERE]
import all_plan  # noqa: E402
import bench  # noqa: E402
import bench_results  # noqa: E402
import processes  # noqa: E402

UNFINISHED = 75  # exit code: stopped early, another call goes on; as octet-train's
VERDICT = re.compile(r"^\w+: (PASSED|FAILED|SKIPPED): (.*)$")
LEFT = re.compile(r"\b\d+ left for want of time")
GRACE = 20  # seconds that bench.sh has to end by itself after its --minutes
PASSED, FAILED, SKIPPED, CUT = "PASSED", "FAILED", "SKIPPED", "left"


class Record:
    """The results that are there: DIR/parts.jsonl has a line for each part that ended, DIR/results.jsonl the bench's
    rows. For a part counts its last line of this commit and device, and only if the commit names the code."""

    def __init__(self, folder, identity, memory):
        self.folder, self.identity, self.memory = folder, identity, memory
        self.path, self.rows = os.path.join(folder, "parts.jsonl"), os.path.join(folder, "results.jsonl")
        self.last = {}
        for line in bench_results.read_results(self.path):
            if bench_results.names_code(identity["commit"]) and all(line.get(k) == v for k, v in identity.items()):
                self.last[line["part"]] = line

    def of(self, part):
        """The part's line where it has passed or failed, else None. A part of rows of the bench is not done as long as
        one of its rows is not there."""
        line = self.last.get(part.name)
        if part.rows and (line is None or line["verdict"] != FAILED):
            wanted = bench.chosen(re.compile(part.rows), None, self.memory)
            names = [(by, row["row"]) for by, rows in wanted for row in rows]
            done = bench_results.Results(self.rows, self.identity).done
            if any(name not in done for name in names):
                return None
            return line or {"verdict": PASSED, "text": f"{len(names)} rows are there", "seconds": 0}
        return line if line and line["verdict"] in (PASSED, FAILED) else None

    def add(self, part, verdict, text, seconds, log):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = {"part": part.name, "verdict": verdict, "text": text, "seconds": round(seconds, 1),
                "log": os.path.relpath(log, self.folder), **self.identity, "date": date}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.last[part.name] = line


class Runner:
    def __init__(self, options, record):
        self.options, self.record = options, record
        self.deadline = time.monotonic() + 60 * options.minutes
        self.now = {}  # part's name: (verdict, text, seconds) of this call

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def command(self, part, folder, seconds):
        command = [os.path.join(HERE, part.script), *part.arguments]
        if part.rows:
            return command + ["--only", part.rows, "--minutes", f"{max(seconds, 0) / 60:.3f}",
                              "--output", self.record.rows, "--python", self.options.python]
        return command + ["--output", folder]

    def new_folder(self, part):
        """Of one try of the part: the scripts want one that does not exist."""
        tries = 1
        while os.path.exists(folder := os.path.join(self.record.folder, f"{part.name}-{tries}")):
            tries += 1
        return folder

    def run(self, part):
        folder, seconds = self.new_folder(part), self.seconds_left()
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        log, start = folder + ".log", time.monotonic()
        command = self.command(part, folder, seconds)
        print(f"\n=== {part.name}: {part.answers} ({seconds:.0f} s left)\n{shlex.join(command)}", flush=True)
        code, last, cut = processes.run(command, seconds + (GRACE if part.rows else 0), log,
                                        lambda line: print(line, end="", flush=True))
        verdict, text = self.judge(code, last, cut)
        seconds = time.monotonic() - start
        self.now[part.name] = (verdict, text, seconds)
        if verdict in (PASSED, FAILED):
            self.record.add(part, verdict, text, seconds, log)

    @staticmethod
    def judge(code, last, cut):
        """(verdict, text) of how a script ended."""
        if cut:
            return CUT, "the time ran out"
        found = VERDICT.match(last)
        if not found or code != (1 if found[1] == FAILED else 0):
            return FAILED, f"exit code {code}, its last line: {last[:200]!r}"
        return (CUT if found[1] == PASSED and LEFT.search(found[2]) else found[1]), found[2]

    def run_all(self, parts):
        """Those without a result, then those that failed in a call before."""
        results = {part.name: self.record.of(part) for part in parts}
        failed = [part for part in parts if results[part.name] and results[part.name]["verdict"] == FAILED]
        waiting = [part for part in parts if results[part.name] is None] + failed
        while self.seconds_left() > 0 and (part := all_plan.next_part(waiting, self.seconds_left(), bool(self.now))):
            waiting.remove(part)
            self.run(part)


def show(rows):
    """Lines of text under each other; the last column is not padded."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        print("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[-1]]).rstrip())


def summary(parts, runner):
    """Prints a table, and returns {verdict: names} of all parts, whether they ran in this call or before."""
    by_verdict, rows = {PASSED: [], FAILED: [], SKIPPED: [], CUT: []}, [("part", "verdict", "seconds", "")]
    for part in parts:
        before = runner.record.last.get(part.name) if part.name not in runner.now else None
        there = runner.record.of(part)
        if part.name in runner.now:
            verdict, text, seconds = runner.now[part.name]
        elif there:
            verdict, seconds = there["verdict"], there["seconds"]
            text = there["text"] + (f" (of {before['date']})" if before else "")
        else:
            verdict, text, seconds = CUT, f"takes about {part.seconds} s", 0
        by_verdict[verdict].append(part.name)
        rows.append((part.name, verdict, f"{seconds:.0f}" if seconds else "-", text))
    print(f"\n=== summary: commit {runner.record.identity['commit']}, {runner.record.identity['device']}, results in "
          f"{runner.record.folder}")
    show(rows)
    print(f"tables: jobs/gpu/bench.sh --table --output {shlex.quote(runner.record.rows)}")
    return by_verdict


def conclusion(by_verdict, seconds):
    """(verdict, text, exit code)."""
    counts = [f"{len(by_verdict[PASSED])} of {sum(map(len, by_verdict.values()))} parts passed"]
    counts += [f"{len(names)} {word} ({', '.join(names)})" for word, names in
               (("failed", by_verdict[FAILED]), ("skipped", by_verdict[SKIPPED]), ("left for the next call", by_verdict[CUT]))
               if names]
    text = ", ".join(counts) + f" ({seconds:.0f} s)"
    if by_verdict[FAILED]:
        return FAILED, text, 1
    if by_verdict[CUT]:
        return "UNFINISHED", text, UNFINISHED
    return (PASSED if by_verdict[PASSED] else SKIPPED), text, 0


def show_plan(parts, options, record):
    """The parts in their order: there, or in which call of so many minutes."""
    results = {part.name: record and record.of(part) for part in parts}
    call = all_plan.calls([p for p in parts if not results[p.name]], 60 * options.minutes)
    rows = [("part", "about", f"call of {options.minutes:g} min", "answers")]
    for part in parts:
        there = results[part.name]
        rows.append((part.name, f"{part.seconds} s", there["verdict"] if there else str(call[part.name]), part.answers))
    show(rows)


def minutes(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected above 0")
    return value


def arguments():
    parser = bench.Parser(prog="jobs/gpu/all.sh", allow_abbrev=False)
    parser.add_argument("--minutes", type=minutes, default=25.0)
    parser.add_argument("--only", metavar="REGEX", type=bench.regular_expression, default=re.compile(""))
    parser.add_argument("--output")
    parser.add_argument("--python", type=bench.program, default="python3")
    for mode in ("list", "only-parse"):  # the last for all.sh: are the options right?
        parser.add_argument("--" + mode, action="store_true")
    options = parser.parse_args()
    options.parts = [part for part in all_plan.PARTS if options.only.search(part.name)]
    if not options.parts:
        parser.error(f"--only {options.only.pattern}: no part's name matches; there are "
                     + ", ".join(part.name for part in all_plan.PARTS))
    return options


def main():
    options = arguments()
    if options.only_parse:
        return 0
    device, commit = bench_results.device_of_this_machine(), bench_results.commit()
    folder = os.path.abspath(options.output or os.path.join(bench_results.ROOT, f"runs/gpu-all-{commit}"))
    record = device and Record(folder, {"commit": commit, "device": device["device"]}, device["memory_bytes"])
    if options.list:
        show_plan(options.parts, options, record)
        return 0
    if record is None:
        print("all: FAILED: octet-bench-gpu --device gives no device")
        return 1
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends what runs on its way out
    start, runner = time.monotonic(), Runner(options, record)
    runner.run_all(options.parts)
    verdict, text, code = conclusion(summary(options.parts, runner), time.monotonic() - start)
    print(f"all: {verdict}: {text}")
    return code


if __name__ == "__main__":
    sys.exit(main())
