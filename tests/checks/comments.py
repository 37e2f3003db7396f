#!/usr/bin/env python3
"""A name of code that a comment of the source has in backticks, or alone in parentheses, stands somewhere in the code too: what was
renamed is renamed there as well.

Usage: tests/checks/comments.py [ROOT]      prints one line a name that is gone; exit 1 when there is any.
In backticks that is one word such as `fsdp_options`, `Llama::plan` or `ranks`, in parentheses one with an underscore or colons.
"""
import os
import re
import subprocess
import sys

COMMENTED = ("src/", "kernels/", "checkpoints/", "jobs/")
CPP = (".h", ".cpp", ".cu", ".cuh")
CODE = CPP + (".py", ".sh", ".cmake", ".txt", ".yaml", ".json")  # of the rest the comments count: they are few
COMMENT = re.compile(r"(?<!:)//.*")  # not of an address
NAME = re.compile(r"`([A-Za-z_][\w:]*)(?:\(\))?`|\(([A-Za-z]\w*(?:_|::)[\w:]*)(?:\(\))?\)")


def names(text):
    """(line, name) of every name in the comments of a C++ source."""
    for number, line in enumerate(text.splitlines(), 1):
        for comment in COMMENT.findall(line):
            for match in NAME.finditer(comment):
                yield number, match[1] or match[2]


def check(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True)
    texts = {}
    for name in listed.stdout.decode().split("\0"):
        if name.endswith(CODE) and os.path.isfile(os.path.join(root, name)):
            with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
                texts[name] = file.read()
    words = set()
    for name, text in texts.items():
        words.update(re.findall(r"\w+", COMMENT.sub("", text) if name.endswith(CPP) else text))
    count, problems = 0, []
    for source, text in texts.items():
        if not (source.startswith(COMMENTED) and source.endswith(CPP)):
            continue
        for line, name in names(text):
            count += 1
            if not set(filter(None, name.split("::"))) <= words:
                problems.append(f"{source}:{line}: no code has the name {name}")
    return count, problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    count, problems = check(root)
    print("\n".join(problems) if problems else f"comments: {count} names stand in the code")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
