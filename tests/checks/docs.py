#!/usr/bin/env python3
"""Every path named in backticks in the pages below exists, and the first commands that a reader copies name a run directory.

Usage: tests/checks/docs.py [ROOT]      A page that is not there is a violation too.
A path is a word with a slash whose first part stands at the top of the tree, or a file there by its name.
What a build, a run or the reader makes (build/, runs/, data/, text/) is left out.
"""
import os
import re
import sys

FIRST = ["README.md", "jobs/bundle-readme.md"]
PAGES = ["README.md", "jobs/bundle-readme.md"] + [f"docs/{name}.md" for name in (
    "architecture", "one-step", "gpu", "gpu-results", "bundle", "benchmarks", "clusters", "kernel-resources", "report", "timeline", "doctor", "tuning",
    "tuning/model", "tuning/commbench", "tuning/fit", "tuning/plugin", "tuning/topology", "tuning/contention",
    "tuning/infiniband", "tuning/roce", "tuning/custom")]
MADE = ("build/", "runs/", "data/", "text/")
OF_A_RUN = ("config.yaml", "owner.json", "status.json", "failure.txt", "profile.json", "profile-rankN.json", "job.sh", "octet-train.sh")
CODE = re.compile(r"^```.*?^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
TOP = ("src/", "kernels/", "jobs/", "slurm/", "configs/", "checkpoints/", "tests/", "docs/", "cmake/", ".ci/")
NAMED = re.compile(r"^[\w.-]+\.(md|txt|json|cmake|sh|py)$|^LICENSE$")


def alternatives(word):
    """a/{b,c}.h -> a/b.h, a/c.h"""
    match = re.match(r"^(.*)\{([^{}]+)\}(.*)$", word)
    return [match[1] + part + match[3] for part in match[2].split(",")] if match else [word]


def paths(text):
    """(line, path) of every path in backticks; blocks of code count word by word."""
    for match in CODE.finditer(text):
        for word in re.finditer(r"[^\s`]+", match[0]):
            line = text.count("\n", 0, match.start() + word.start()) + 1
            for path in alternatives(word[0].strip(",;:()\"'").removeprefix("./")):
                if path.startswith(MADE) or re.search(r"[*<>$…]|NAME|ROOM", path):
                    continue
                if path.startswith(TOP):
                    yield line, re.sub(r"(:\d+|#.*)$", "", path)
                elif match[1] is not None and NAMED.match(path) and path not in OF_A_RUN:
                    yield line, path


def check(root, pages):
    count, problems = 0, []
    for page in pages:
        name = os.path.join(root, page)
        if not os.path.exists(name):
            problems.append(f"{page}: is missing")
            continue
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for line, path in paths(text):
            count += 1
            if not os.path.exists(os.path.join(root, path)):
                problems.append(f"{page}:{line}: {path} does not exist")
    return count, problems


def unnamed_runs(root, pages):
    """Commands that train into a directory whose name only the clock knows: they cannot be gone on with by being copied again."""
    problems = []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                trains = re.match(r"(\S*mpiexec .*)?\S*octet-train ", line) and not re.search(r"--help|--print", line)
                if trains and "--run.dir" not in line:
                    problems.append(f"{page}:{number}: a command that trains, without --run.dir")
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    count, problems = check(root, PAGES)
    problems += unnamed_runs(root, [page for page in FIRST if os.path.exists(os.path.join(root, page))])
    print("\n".join(problems) if problems else f"docs: {count} paths exist")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
