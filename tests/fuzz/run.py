#!/usr/bin/env python3
"""Gives every reader of what comes from outside changed copies of good files: none may crash, leak, take over 2 s or
1 GiB in one allocation, or throw what is no refusal (tests/fuzz/fuzz.h).

Usage: tests/fuzz/run.py BIN [ROOM...] [--runs N] [--reader NAME] [--hdf5] [--folder FOLDER]
BIN holds octet-fuzz-ROOM of a build with the preset fuzz. What was once found is tried first: the files of
tests/fuzz/cases/READER. The inputs follow from the seed 1, so a run repeats; --runs of them each. A finding is kept
below FOLDER (build/fuzz) with the command that repeats it; put it under cases when it is mended. --hdf5 tries instead
what HDF5 does with a damaged shard whose hashes fit, which no reader of a checkpoint gets to see: it counts crashes and
fails on none.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ONLY_ON_REQUEST = {"shard-hdf5"}
LIMITS = ["-timeout=2", "-malloc_limit_mb=1024", "-rss_limit_mb=2048"]


def memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Target:
    """One reader of one program."""

    def __init__(self, program, reader, found):
        self.program, self.reader = program, reader
        self.found = pathlib.Path(found) / reader
        self.cases = HERE / "cases" / reader

    def environment(self, folder):
        return dict(os.environ, OCTET_FUZZ_READER=self.reader, OCTET_FUZZ_FOLDER=str(folder))

    def call(self, folder, *arguments, limit=None):
        # Both are libFuzzer's to watch: a signal handler of ASan would come first.
        return subprocess.run([self.program, *map(str, arguments)], env=self.environment(folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, text=True, errors="replace")

    def seeds(self, folder):
        seeds = pathlib.Path(folder) / "seeds"
        seeds.mkdir()
        done = self.call(folder, "--seeds", seeds)
        return seeds, done.stdout if done.returncode else ""

    def fuzz(self, runs):
        """What is wrong; empty where nothing is."""
        with tempfile.TemporaryDirectory(prefix="octet-fuzz-", dir=memory_folder()) as folder:
            seeds, wrong = self.seeds(folder)
            if wrong:
                return wrong
            cases = sorted(self.cases.iterdir()) if self.cases.is_dir() else []
            self.found.mkdir(parents=True, exist_ok=True)
            options = [*LIMITS, f"-artifact_prefix={self.found}/"]
            for arguments in ([*cases] if cases else None, [f"-runs={runs}", "-seed=1", seeds]):
                if arguments is None:
                    continue
                done = self.call(folder, *options, *arguments)
                if "libFuzzer: timeout" in done.stdout and self.are_quick(folder):  # two seconds of a busy machine
                    done = self.call(folder, *options, *arguments)
                if done.returncode:
                    return self.explain(done)
            if not re.search(r"Done \d+ runs", done.stdout):
                return f"libFuzzer did not say that it was done:\n{done.stdout[-2000:]}"
        return ""

    def are_quick(self, folder):
        """Whether the inputs that took too long take less by the processor's clock; those are forgotten."""
        for file in self.found.glob("timeout-*"):
            code, seconds = self.processor_seconds(folder, file)
            if code or seconds > 2:
                return False
            file.unlink()
        return True

    def processor_seconds(self, folder, file):
        """(exit code, seconds) of the program for one input."""
        with subprocess.Popen([self.program, "-timeout=60", file], env=self.environment(folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def explain(self, done):
        lines = done.stdout.splitlines()
        first = next((i for i, line in enumerate(lines) if re.search(r"ERROR|runtime error|terminate called", line)), 0)
        shown = "\n".join(line[:200] for line in lines[max(first - 2, 0):first + 24])
        return (f"{shown}\nkept in {self.found}; again: OCTET_FUZZ_READER={self.reader} OCTET_FUZZ_FOLDER=/dev/shm "
                f"{self.program} {' '.join(LIMITS)} FILE\n")

    def count_crashes(self, seconds):
        """libFuzzer in a fork of its own for each batch of inputs: it goes on after a crash."""
        with tempfile.TemporaryDirectory(prefix="octet-fuzz-", dir=memory_folder()) as folder:
            seeds, wrong = self.seeds(folder)
            if wrong:
                return wrong
            kept = pathlib.Path(folder) / "kept"
            kept.mkdir()
            done = self.call(folder, *LIMITS, "-fork=1", "-ignore_crashes=1", "-ignore_timeouts=1", "-ignore_ooms=1",
                             f"-max_total_time={seconds}", "-seed=1", f"-artifact_prefix={kept}/", seeds)
            inputs = re.findall(r"^#(\d+):", done.stdout, re.MULTILINE)
            kinds = {}
            for file in kept.iterdir():
                kind = file.name.split("-")[0]
                kinds[kind] = kinds.get(kind, 0) + 1
            said = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "nothing found"
            print(f"{self.reader}: {inputs[-1] if inputs else 0} inputs in {seconds} s: {said}")
        return ""


def targets_of(options):
    targets = []
    programs = sorted(options.bin.glob("octet-fuzz-*"))
    if options.rooms:
        programs = [options.bin / f"octet-fuzz-{room}" for room in options.rooms]
    for program in programs:
        if not program.exists():
            sys.exit(f"tests/fuzz/run.py: {program} was not built")
        readers = subprocess.run([program, "--readers"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        for reader in readers:
            wanted = reader == options.reader if options.reader else (reader in ONLY_ON_REQUEST) == options.hdf5
            if wanted:
                targets.append(Target(program, reader, options.folder))
    return targets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("rooms", nargs="*")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--reader")
    parser.add_argument("--hdf5", action="store_true")
    parser.add_argument("--seconds", type=int, default=60, help="of --hdf5")
    parser.add_argument("--folder", default=HERE.parent.parent / "build" / "fuzz")
    options = parser.parse_args()
    targets = targets_of(options)
    if not targets:
        sys.exit("tests/fuzz/run.py: no reader to try")
    if options.hdf5:
        sys.exit(max([target.count_crashes(options.seconds) for target in targets], default="") or 0)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for target, wrong in zip(targets, pool.map(lambda t: t.fuzz(options.runs), targets)):
            print(f"{target.reader:<20} {'FAILED' if wrong else 'ok'}", flush=True)
            if wrong:
                print(wrong, flush=True)
                failed += 1
    print(f"{len(targets)} readers, {options.runs} inputs each, {failed} with a finding")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
