#!/usr/bin/env python3
"""Compiles headers of the source tree alone (syntax only), with the flags of a build: in the batches of sources that
tests/run.sh compiles (OCTET_UNITY) a header finds what those before it have included. Those that changed or include
one that did (tests/support/changed.py), or all.

Usage: tests/checks/headers.py BUILD_FOLDER [--all]      e.g. build/cpu, configured; needs its compile_commands.json
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import changed  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TOPS = ["src", "kernels", "checkpoints", "jobs", "tests/support"]
SUFFIXES = (".h", ".hpp")


def headers():
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            if os.path.basename(folder) != "cuda":  # needs nvcc
                yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names)
                            if name.endswith(SUFFIXES))


def flags_by_folder(build):
    """Folder of a source file -> compiler and flags of one file in it, without input and output."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            words = shlex.split(entry["command"])
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]
            keep, skip = [], False
            for word in words:
                if skip or word == "-c" or word == entry["file"]:
                    skip = False
                elif word == "-o":
                    skip = True
                else:
                    keep.append(word)
            found.setdefault(os.path.relpath(os.path.dirname(entry["file"]), ROOT), keep)
    return found


def nearest(found, header):
    """The flags of the folder that shares most of the header's path."""
    def shared(folder):
        return len(os.path.commonprefix([folder.split("/"), os.path.dirname(header).split("/")]))
    return found[max(sorted(found), key=shared)]


def compile_alone(command, header):
    # Through standard input, twice: as the main file, #pragma once would be a warning and would not be tried.
    result = subprocess.run(command + ["-fsyntax-only", "-x", "c++", "-"], cwd=ROOT, text=True, capture_output=True,
                            input=f'#include "{header}"\n#include "{header}"\n')
    return None if result.returncode == 0 else f"{header} does not compile alone:\n{result.stderr}"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--all"]):
        sys.exit(__doc__)
    found = flags_by_folder(sys.argv[1])
    of_tree = sorted(headers())
    moved = set(changed.changed_code())
    names = of_tree if sys.argv[2:] else [name for name in of_tree if moved & changed.closure([name])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lambda name: compile_alone(nearest(found, name), name), names) if text]
    print("\n".join(problems) if problems else f"headers: {len(names)} of {len(of_tree)} compile alone")
    sys.exit(1 if problems or not of_tree else 0)


if __name__ == "__main__":
    main()
