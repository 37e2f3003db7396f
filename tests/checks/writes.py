#!/usr/bin/env python3
"""Finds code that writes to files past src/base/files.h, where a write of nothing counts as a full disk
and a file is made by the user's umask, through no symbolic link.

Usage: tests/checks/writes.py [ROOT]      prints one line a violation; exit 1 when there is any, and
when one of the folders has no source: then the rule looks where the code no longer is.
C++'s streams and plain loops try a write of nothing again for ever; some file systems answer so when they are full.
"""
import os
import re
import sys

FOLDERS = ["src", "checkpoints", "kernels", "jobs"]
ALLOWED = {"src/base/files.cpp"}
WRITES = [
    re.compile(r"\bstd::(o|w|wo)?f(stream|ilebuf)\b|\bstd::basic_o?f(stream|ilebuf)\b"),
    re.compile(r"(?<!\w)::p?writev?2?(64)?\("),
    re.compile(r"(?<![\w.>:])p?writev?(64)?\((\w*file\w*|fd|STD\w+|\w+\.get\(\)|\w+->get\(\))[,.]"),
    re.compile(r"\b(fwrite|fputs|fmt::output_file|dprintf)\b(?!.*std(err|out))"),
    re.compile(r"\bfopen\([^)]*\"[wa]"),
    re.compile(r"\bO_CREAT\b|(?<!\w)creat\("),  # open_to_write follows no symbolic link and keeps to the umask
]


def sources(root, folder):
    return [os.path.relpath(os.path.join(path, name), root) for path, _, files in os.walk(os.path.join(root, folder))
            for name in sorted(files) if name.endswith((".cpp", ".h", ".cu", ".cuh"))]


def without_sources(root):
    return [f"{folder}: expected sources there, found none" for folder in FOLDERS if not sources(root, folder)]


def violations(root):
    for here in (here for folder in FOLDERS for here in sources(root, folder) if here not in ALLOWED):
        with open(os.path.join(root, here), encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                if any(pattern.search(line.split("//")[0]) for pattern in WRITES):
                    yield f"{here}:{number}: writes past src/base/files.h: {line.strip()}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = without_sources(root) + list(violations(root))
    print("\n".join(found) if found else "all writes go through src/base/files.h")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
