#!/usr/bin/env python3
"""Interrupts small training runs at random moments in random ways, starts them again until they are finished, and
checks what docs/run-directories.md and docs/checkpoints.md promise: a run that was interrupted is the run that was not.

Usage: tests/chaos/chaos.py [--seed S] [--count N] [--until HH:MM] [--bin DIR] [--keep] [--work DIR] [--quiet]
  --seed S       the first seed (default 1); a seed draws the run and all interruptions of one trial
  --count N      so many trials, with the seeds from S on (default 1)
  --until HH:MM  begin no trial after that time of today, UTC
  --bin DIR      programs of a build with tests (default build/cpu/bin)
  --keep         leave the folders of trials without violations too
  --work DIR     where trials have their folders (default: a new folder under the temporary folder)
  --quiet        tell only the violations and the summary

The plan of a seed is always the same; how far a start has come when it is interrupted depends on the machine. Exit code
1 if there is a violation, 2 if a trial could not be made.
"""
import argparse
import collections
import datetime
import pathlib
import shutil
import signal
import sys
import tempfile
import traceback

from starts import Programs
from trial import NotTried, Trial, prepare_data

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--until", type=lambda text: datetime.datetime.strptime(text, "%H:%M").time())
    parser.add_argument("--bin", default=ROOT / "build/cpu/bin")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--work")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(words)


def is_over(until):
    return until is not None and datetime.datetime.now(datetime.timezone.utc).time() >= until


def run_seed(programs, seed, work, options):
    """The trial and whether it could be made."""
    folder = work / f"seed-{seed}"
    folder.mkdir()
    trial = Trial(programs, seed, folder, say=(lambda text: None) if options.quiet else say)
    if not options.quiet:
        say(f"seed {seed}: {trial.settings}")
    mistake = ""
    try:
        trial.run()
    except NotTried as reason:
        mistake = f"could not be tried: {reason}"
    except Exception:  # in the hour that it runs alone, the other seeds go on
        mistake = f"ended by a mistake of this program: {traceback.format_exc()}"
    for text in trial.violations:
        say(f"VIOLATION of seed {seed}: {text}")
    if mistake:
        say(f"seed {seed} {mistake}")
    if trial.violations or mistake:
        say(f"  again: tests/chaos/chaos.py --seed {seed} --bin {programs.folder}\n  logs: {folder}")
    elif not options.keep:
        shutil.rmtree(folder)
    return trial, not mistake


def say(text):
    print(text, flush=True)


def main(words=None):
    options = parse(words)
    programs = Programs(options.bin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # starts end with this process
    work = pathlib.Path(options.work or tempfile.mkdtemp(prefix="octet-chaos-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    prepare_data(programs, work)
    kinds, trials, starts, bad, missed = collections.Counter(), 0, 0, [], 0
    for seed in range(options.seed, options.seed + options.count):
        if is_over(options.until):
            break
        trial, made = run_seed(programs, seed, work, options)
        trials, starts, missed = trials + 1, starts + trial.starts, missed + (not made)
        kinds.update(trial.kinds)
        bad += [seed] if trial.violations else []
    say(f"{trials} trial(s), {starts} starts, {len(bad)} with violations{f' (seeds {bad})' if bad else ''}; " +
        ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()) if kind != "none"))
    if not bad and not missed and not options.keep and not options.work:
        shutil.rmtree(work)
    return 1 if bad else 2 if missed or not trials else 0


if __name__ == "__main__":
    sys.exit(main())
