#!/usr/bin/env python3
"""Runs on a real Slurm of virtual nodes: what octet submit's jobs do when all goes well, and when it does not. The
scenarios stand in the modules beside this file.

Usage: tests/slurm/scenarios.py [NAME...] [--list] [--keep] [--report FILE]
Starts a cluster of its own (slurm/virtual-cluster.sh) and ends it. Scenarios run beside each other. The report has the
counts in GoogleTest's form.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from harness import CLUSTER, SCENARIOS, Skipped, free_ports, output_of, prepare_data, remove

# In this order they begin.
import without_faults  # noqa: F401
import slurm_fails  # noqa: F401
import limits  # noqa: F401
import chains  # noqa: F401
import records  # noqa: F401
import faults  # noqa: F401
import shared_folders  # noqa: F401
import machines  # noqa: F401


def traces_of(folder):
    """What tells why: the nodes and jobs of Slurm, the launches and the end of the log of every run."""
    text = ""
    for command in (["sinfo", "--Node", "--long"], ["squeue", "--all"], ["scontrol", "show", "jobs"]):
        text += "\n" + subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    for path in sorted([*folder.glob("**/job/launches.jsonl"), *folder.glob("**/job-*.out")]):
        text += f"\n{path.relative_to(folder)}:\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:]) + "\n"
    return text


def attempt(name, folder, trial):
    """(result, text, seconds) of one try, in a folder of its own."""
    start = time.monotonic()
    mine = pathlib.Path(folder) / (name if trial == 1 else f"{name}-{trial}")
    mine.mkdir()
    for suffix in (".bin", ".idx"):
        os.symlink(pathlib.Path(folder) / f"tokens{suffix}", mine / f"tokens{suffix}")
    try:
        SCENARIOS[name](mine)
        result, text = "passed", ""
    except Skipped as reason:
        result, text = "skipped", str(reason)
    except Exception:  # a scenario fails, the others go on
        result, text = "failed", traceback.format_exc() + traces_of(mine)
    return result, text, time.monotonic() - start


def attempts(name, folder):
    """A scenario that fails is tried once more, and both tries are told: processes are killed at moments that nobody
    chooses, beside other work on two cores."""
    for trial in (1, 2):
        result, text, seconds = attempt(name, folder, trial)
        print(f"{result:<8} {seconds:6.1f} s  {name}{'' if trial == 1 else ', second try'}", flush=True)
        if text:
            print("    " + text.replace("\n", "\n    "), flush=True)
        if result != "failed":
            break
    return {"name": name, "status": "RUN", "result": "SKIPPED" if result == "skipped" else "COMPLETED",
            **({"failures": [{"failure": text}]} if result == "failed" else {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave folder and cluster as they are")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--report")
    parser.add_argument("--gtest_output", help="json:FILE, as GoogleTest has it")
    parser.error = lambda message: parser.exit(64, f"scenarios.py: {message} (see --help)\n")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SCENARIOS))
        return 0
    names = options.names or list(SCENARIOS)
    unknown = [n for n in names if n not in SCENARIOS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; --list names all")
    folder = tempfile.mkdtemp(prefix="octet-slurm-")
    os.environ.update(OCTET_CLUSTER=f"{folder}/cluster", OCTET_CLUSTER_PORT=str(free_ports(4 * options.jobs + 1)),
                      SLURM_CONF=f"{folder}/cluster/slurm.conf", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    results = []

    def end(number, _):  # the cluster ends with this process; scenarios are not waited for
        subprocess.run([CLUSTER, "end"], check=False)
        remove(folder)
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        print(output_of(CLUSTER, "start", "--nodes", 4 * options.jobs), flush=True)
        prepare_data(folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda n: attempts(n, folder), names))
    finally:
        if options.keep:
            print(f"left in {folder}")
        else:
            subprocess.run([CLUSTER, "stop"], check=False)
            remove(folder)
    failed = sum("failures" in r for r in results)
    skipped = sum(r["result"] == "SKIPPED" for r in results)
    report = options.report or (options.gtest_output or "").removeprefix("json:")
    if report:
        pathlib.Path(report).write_text(json.dumps({"tests": len(results), "failures": failed, "testsuites": [
            {"name": "Slurm", "tests": len(results), "failures": failed, "testsuite": results}]}))
    print(f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or len(results) != len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
