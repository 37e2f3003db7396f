#!/usr/bin/env python3
"""What has changed against the merge base with main or, on main itself, against the commit before the last; uncommitted
and untracked files too. Without history everything has. Only `files` counts a file in which nothing but comments has
changed. What every program is built by does not count as a part of each: the CPU build compiles and tests all anyway.

Usage: tests/support/changed.py [--hours N] WHAT      N: on main, against the last commit before the N hours that ended
                                                   with the last one, as several may have come at once
       tests/support/changed.py files              the changed files
       tests/support/changed.py code               those of which not only comments have changed
       tests/support/changed.py device             the sources of kernels for GPUs that are made of one of them; all, where what they are
                                                   compiled by has changed
       tests/support/changed.py tests ROOM...      those of the rooms whose test program is made of a changed file
       tests/support/changed.py own ROOM...        those of the rooms that have a changed file of their own; of the test
                                                   programs that are of several rooms, those whose own test has changed,
                                                   and `equivalence` and `train_ranks`, which train, with every room that
                                                   training needs
       tests/support/changed.py fuzz ROOM...       those of the rooms whose readers have changed, which octet-fuzz-ROOM
                                                   holds: the room itself, or what tests/fuzz/ROOM.cpp includes of rooms
                                                   that have no such program; all, where a file of tests/fuzz has changed
"""
import functools
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
CMAKE = re.compile(r"^ *octet_(room|test)\((\w+)([^)]*)\)", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
# How every program is compiled, and what it is tested with.
BUILD = ("cmake/compiler.cmake", "cmake/options.cmake", "cmake/rooms.cmake", "CMakePresets.json",
         "tests/support/mpi_main.cpp", "tests/support/lsan.supp", "tests/golden/")
DEVICE_BUILD = {"cmake/compiler.cmake", "cmake/cuda.cmake", "cmake/options.cmake", "jobs/install-cuda.sh"}
NO_PART = re.compile(r"\.md$|^tests/support/\w+\.(py|sh)$")  # pages, and the scripts of tests/run.sh
TRAINING = ("equivalence", "train_ranks")  # the programs that train
HOURS = 0  # of --hours
CODE = (".h", ".cpp", ".cu", ".cuh", ".inc")


def git(*words):
    result = subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True)
    return result.stdout.split() if result.returncode == 0 else None


def base_commit():
    head = git("rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        base = git("merge-base", main, "HEAD")
        if base and base != head:
            return base[0]
    if HOURS and (last := git("log", "-1", "--format=%ct")):
        before = git("log", "-1", "--first-parent", "--format=%H", f"--before={int(last[0]) - 3600 * HOURS}")
        return before[0] if before else None
    return (git("rev-parse", "--verify", "--quiet", "HEAD~1") or [None])[0]


@functools.cache
def changed_files():
    base = base_commit()
    if base is None:
        return git("ls-files")
    return git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")


def without_comments(text):
    """Code with no comments that have a line of their own or end one with ///<, and no empty lines."""
    lines = (re.sub(r" +///<.*", "", line).rstrip() for line in text.splitlines())
    return [line for line in lines if line and (not line.lstrip().startswith("//") or "NOLINT" in line)]


def has_other_code(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            now = file.read()
        before = subprocess.run(["git", "show", f"{base_commit()}:{path}"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # one of the two does not exist
        return True
    return without_comments(now) != without_comments(before.stdout.decode())


@functools.cache
def changed_code():
    return [path for path in changed_files() if not path.endswith(CODE) or has_other_code(path)]


@functools.cache
def includes_of(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return INCLUDE.findall(file.read())
    except OSError:  # made by the build, or gone
        return []


def closure(paths):
    """The files and all of ours that they include."""
    found, todo = set(), list(paths)
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += includes_of(path)
    return found


def linked_rooms():
    """(room -> rooms that it links, test program -> the same), as CMakeLists.txt has them."""
    rooms, tests = {"jobs": ["train", "tuning", "topology", "report"]}, {}
    for page in ("CMakeLists.txt", "tests/CMakeLists.txt"):
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            for kind, name, rest in CMAKE.findall(file.read()):
                (rooms if kind == "room" else tests)[name] = re.findall(r"room-(\w+)", rest)
    tests["launch"].append("comm")  # it runs a program of that room
    return rooms, tests


def reach(names, rooms):
    found = set()
    for name in names:
        if name not in found:
            found |= {name} | reach(rooms.get(name, []), rooms)
    return found


def is_made_of(test, changed, rooms, tests, above=True):
    """above: what stands on a changed room counts as well."""
    if above or test in TRAINING:
        linked = reach(tests.get(test, []) + ([test] if test in rooms else []), rooms)
    else:
        linked = {test} & set(rooms)
    top = tuple(prefix for name in linked for prefix in (f"src/{name}/", f"{name}/")) + (f"tests/{test}/",) + BUILD
    own = [path for path in git("ls-files", f"tests/{test}") if path.endswith(CODE)]
    included = closure(own)
    return any((path.startswith(top) and not NO_PART.search(path)) or path in included for path in changed)


def is_fuzzed(room, changed):
    """A reader counts with the header that declares it and the source of the same name; what they stand on does not."""
    def has_own(path):
        name = path.split("/")[1 if path.startswith("src/") else 0]
        return os.path.exists(os.path.join(ROOT, "tests/fuzz", name + ".cpp"))

    readers = {os.path.splitext(path)[0] for path in includes_of(f"tests/fuzz/{room}.cpp") if not has_own(path)}
    own = (f"src/{room}/", f"{room}/", "tests/fuzz/", "cmake/compiler.cmake", "cmake/options.cmake",
           "cmake/rooms.cmake", "CMakePresets.json")
    return any((path.startswith(own) and not path.endswith(".md")) or os.path.splitext(path)[0] in readers
               for path in changed)


def device_sources(changed):
    sources = [source for source in git("ls-files", "*.cu") if source.startswith("kernels/")]
    if not DEVICE_BUILD.isdisjoint(changed):
        return sources
    return [source for source in sources if not closure([source]).isdisjoint(changed)]


def print_lines(lines):
    for line in lines:  # no line where there is none: a caller reads each as a name
        print(line)


def main():
    global HOURS
    if sys.argv[1:2] == ["--hours"] and len(sys.argv) > 2:
        HOURS = int(sys.argv[2])
        del sys.argv[1:3]
    if sys.argv[1:] == ["files"]:
        print_lines(changed_files())
    elif sys.argv[1:] == ["code"]:
        print_lines(changed_code())
    elif sys.argv[1:] == ["device"]:
        print_lines(device_sources(changed_code()))
    elif len(sys.argv) > 2 and sys.argv[1] == "fuzz":
        print_lines(r for r in sys.argv[2:] if is_fuzzed(r, changed_code()))
    elif len(sys.argv) > 2 and sys.argv[1] in ("tests", "own"):
        rooms, tests = linked_rooms()
        above = sys.argv[1] == "tests"
        print_lines(t for t in sys.argv[2:] if is_made_of(t, changed_code(), rooms, tests, above))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
