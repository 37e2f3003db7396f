#!/usr/bin/env python3
"""What jobs/gpu/bench.sh does: chooses rows, has them measured, prints tables. Standard library only."""

import argparse
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_rows  # noqa: E402
import bench_table  # noqa: E402
from bench_results import ROOT, Results, commit, device_of_this_machine, driver, read_results  # noqa: E402
from bench_run import Runner  # noqa: E402

MEMORY = 84942979072  # of an H100, for --list without one


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
    parser.add_argument("--output", "--out", metavar="FILE", action="append")  # --out: its name before
    parser.add_argument("--into", metavar="PAGE", action="append", default=[])
    parser.add_argument("--python", type=program, default="python3")
    for mode in ("list", "dry-run", "table", "only-parse"):  # the last for bench.sh: are the options right?
        parser.add_argument("--" + mode, action="store_true")
    options = parser.parse_args()
    options.files = options.output or [os.path.join(ROOT, "runs/gpu-results.jsonl")]
    options.output = options.files[-1]
    if options.into and not options.table:
        parser.error("--into is for --table")
    if len(options.files) > 1 and not options.table:
        parser.error("several --output are for --table")
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


def measure(options):
    device = device_of_this_machine()
    if device is None:
        print("bench: FAILED: octet-bench-gpu --device gives no device")
        return 1
    identity = {"device": device["device"], "driver": driver(), "commit": commit()}
    print("  ".join(f"{k}: {v}" for k, v in {**identity, "results": options.output}.items()), flush=True)
    identity["run"] = shlex.join(["jobs/gpu/bench.sh"] + sys.argv[1:])
    identity["peaks"] = [device.get("bf16_peak"), device.get("fp8_peak")]  # FLOP/s, as octet-train has them
    results = Results(options.output, identity)
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
        done = Results(options.output, {"device": device["device"], "commit": commit()}).done
        rows = [(by, r["row"]) for by, group in chosen(options.only, options.by, device["memory_bytes"]) for r in group]
        waiting = [r for r in rows if r not in done]
        print("\n".join(f"{by}:{row}" for by, row in waiting))
        print(f"bench: {len(waiting)} rows would be measured on {device['device']}, {len(rows) - len(waiting)} are there")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end the program that runs
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
