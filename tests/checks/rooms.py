#!/usr/bin/env python3
"""Reads every #include of the source tree against the tables of rooms and of their folders below, which
docs/rooms.svg draws, and finds files that include each other in a circle, headers that share a name and comments
that name a file that is gone.

Usage: tests/checks/rooms.py [ROOT]      prints one line a violation; exit 1 when there is any.
"""
import os
import re
import sys

# --- the table -------------------------------------------------------------------------------------------------------

# Room -> rooms it may include. Transitive: a room may also include what those may include.
LOWER = "base device tensor kernels ops comm parallel model"  # what data, optim, metrics and checkpoints stand on
ROOMS = {
    "base": "",
    "device": "base",
    "profile": "device",
    "tensor": "device",
    "kernels": "profile",
    "ops": "tensor kernels",
    "comm": "profile",
    "parallel": "comm tensor ops",
    "model": "ops",
    "data": LOWER,
    "tokenizer": "base",
    "corpus": "data tokenizer",
    "optim": LOWER,
    "metrics": LOWER,
    "owner": "metrics cluster",
    "report": "owner",
    "checkpoints": LOWER,
    "run_config": "data optim checkpoints cluster",
    "train": "run_config owner",
    "evaluate": "train corpus",
    "cluster": "base",
    "tuning": "cluster",  # and the arithmetic of the mesh, below
    "topology": "cluster",
    "jobs": "evaluate tuning topology report",
    "tests": "jobs",
}
# The picture draws some rooms as one group on all of LOWER. What each of them may include is less, as said here.
ALLOWED = ROOMS | {
    "data": "base",
    "metrics": "base",
    "optim": "kernels",
    "checkpoints": "comm model",
    "run_config": "data optim checkpoints parallel cluster",
}
OUTSIDE_SRC = ["kernels", "checkpoints", "jobs", "tests"]  # rooms at the top level; the others are src/ROOM

# Headers that a room may include although they stand in a room it may not.
INTERFACES = {
    "src/comm/mesh_shape.h": "tuning",
}
# For that, these headers keep to less than their room may: what they may include.
PURE = {
    "src/comm/mesh_shape.h": "base",
}
# Places whose folders have an order: place -> folder -> folders that it may include, transitive too. Every file of such a
# place stands in one of them, or beside them where "." says what those may include.
FOLDERS = {
    "checkpoints": {
        "format": "",
        "restore": "format",
        "save": "restore",
        "tools": "restore",
        "hugging_face": "tools",
    },
    "src/cluster": {
        "machine": "",
        ".": "machine",
        "cores": "machine",
        "environment": ".",
        "doctor": "environment cores",
    },
    "src/tuning": {
        ".": "",  # the tuning file, and what measurements are called
        "pairs": ".",
        "cost_model": ".",
        "plugin": ".",
        "fit": "cost_model pairs",
        "explain": "fit",
        "contention": "cost_model",
    },
    "jobs": {
        "ranks": "",
        "run": "",
        "dry_run": "run",
        "train": "dry_run ranks",
        "evaluate": "",
        "commbench": "run",
        "octet": "run ranks evaluate",
        ".": "train evaluate commbench octet",
    },
    "src/run_config": {
        ".": "",  # the configuration itself
        "options": ".",
        "checks": "options",
        "resume": "options",
    },
    "src/train": {
        "step": "",
        "plan": "step",
        "health": "",
        "start": "step",
        "algorithms": "plan start",
        "run": "algorithms health",
    },
    "kernels/cpu": {
        "parts": "",  # what loops are made of
        "gemm": "parts",
        "attention": "gemm",
        "float8": "parts",
        "layers": "parts",
        "update": "parts",
    },
    "kernels/cuda": {
        "host": "",  # what launches kernels, and loads NVIDIA's libraries
        "device": "host",  # what kernels are made of
        "gemm": "device",
        "attention": "gemm",
        "float8": "device",
        "layers": "device",
        "update": "device",
    },
}
# Beside those folders: what fills the table of kernels from all of them.
BESIDE_FOLDERS = ["kernels/cpu/cpu_kernels.h", "kernels/cpu/table.cpp", "kernels/cuda/cuda_kernels.h", "kernels/cuda/table.cpp"]
# Folders for their own room alone (and the tests).
PRIVATE = ["kernels/cpu/", "kernels/cuda/", "kernels/no_cuda/"]
# Rooms that ask the ops, which check shapes, and call no kernel themselves.
ABOVE_OPS = ["src/model/", "src/evaluate/"]

# Header or its folder (ending in /) -> where it may be included, as path prefixes; "" is everywhere.
LIBRARIES = {
    "mpi.h": ["src/comm/mpi", "tests/"],
    "nccl.h": ["src/comm/nccl", "tests/"],
    "cuda": ["src/device/cuda", "kernels/cuda", "src/comm/nccl", "tests/"],
    "nvtx3/": ["src/device/cuda"],
    "cublas": ["kernels/cuda", "tests/"],
    "cudnn": ["kernels/cuda", "tests/"],
    "hdf5": ["checkpoints/", "tests/"],
    "H5": ["checkpoints/", "tests/"],
    "oneapi/dnnl/": ["kernels/cpu/"],
    "dnnl": ["kernels/cpu/", "tests/emulated/"],
    "yaml-cpp/": ["src/base/options"],
    "boost/context/": ["tests/emulated/"],
    "boost/": ["src/base/options"],
    "spdlog/": ["src/base/"],
    "Random123/": ["src/base/"],
    "xxhash.h": ["src/base/", "src/data/", "src/tokenizer/", "src/corpus/", "src/train/", "src/evaluate/tasks/", "checkpoints/"],
    "pcre2.h": ["src/tokenizer/pattern/"],
    "sentencepiece_processor.h": ["src/tokenizer/sentencepiece/"],
    "simdjson.h": ["src/corpus/"],
    "zlib.h": ["src/corpus/"],
    "zstd.h": ["src/corpus/"],
    "parquet/": ["src/corpus/arrow/", "tests/"],
    "arrow/": ["src/corpus/arrow/", "tests/"],
    "nlohmann/": ["src/base/json_reader", "src/data/data_facts", "src/data/tokenizer_identity", "src/tokenizer/", "src/corpus/part_folder", "src/corpus/parquet_rows.h", "src/comm/trace", "src/profile/", "src/metrics/", "src/owner/", "src/report/", "src/train/", "src/cluster/", "src/tuning/", "src/evaluate/tasks/", "checkpoints/", "jobs/",
                  "tests/"],
    "pugixml": ["src/topology/"],
    "hwloc": ["src/topology/", "src/cluster/cores/"],
    "simgrid/": ["src/tuning/contention/"],
    "gtest/": ["tests/"],
    "sanitizer/": ["tests/"],
    "gmock/": ["tests/"],
    "benchmark/": ["tests/"],
    "fmt/": [""],
}
# The C and POSIX headers, compiler intrinsics and OpenMP are free to all, as is every standard header without a suffix.
SYSTEM = re.compile(
    r"^[a-z_0-9]+$|^(sys|linux|arpa|netinet)/[a-z_0-9]+\.h$|^(x86intrin|immintrin|cpuid|omp|unistd|fcntl|signal|poll|sched|"
    r"pthread|link|dirent|dlfcn|errno|glob|fnmatch|netdb|pwd|semaphore|spawn|termios|time|ucontext|execinfo|malloc|getopt|limits)\.h$")

# Headers and sources of NCCL, its plugins and CUDA that comments name.
FOREIGN = ["cublasLt.h", "src/nccl.h", "src/include/alloc.h", "src/include/comm.h", "src/include/device.h",
           "src/include/graph.h", "src/include/nccl_common.h", "src/graph/topo.h", "src/graph/xml.h",
           "src/tuner/nccl_ofi_regions.cpp"]

SUFFIXES = (".h", ".hpp", ".cuh", ".inc", ".cpp", ".cc", ".cu")
TOPS = ["src", "kernels", "jobs", "checkpoints", "tests"]

# --- the check -------------------------------------------------------------------------------------------------------

TYPE = re.compile(r"^(?:struct|class|enum(?: class)?|union) (\w+)[^;{]*\{", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# A comment, or a text in which // is none.
COMMENT = re.compile(r"""(//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
KERNEL_CALL = re.compile(r"\bkernels(?:\(\))?\.\w+\(")
NAMED_FILE = re.compile(r"<[^>\n]*>|([\w./-]*\w\.(?:h|cpp))\b(?!\.\w)")  # what stands in <> is a library's


def reach(names, table=None):
    """The rooms in `names` (or the folders, with a table of FOLDERS) and everything that those may include."""
    table = ROOMS if table is None else table
    found = set()
    for name in names.split():
        if name not in found:
            found |= {name} | reach(table[name], table)
    return found


def room_of(path):
    """Room of a file or include path written from the root; None when it is in none."""
    parts = path.split("/")
    if len(parts) < 2:
        return None
    if parts[0] in OUTSIDE_SRC:
        return parts[0]
    return parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] in ROOMS else None


def folder_of(path):
    """(place with an order of folders, folder of it) of a file; the folder is "." for one that stands beside the folders,
    None where the table has no such folder, and both are None where no folders have an order."""
    for place, folders in FOLDERS.items():
        if path.startswith(place + "/"):
            first, *rest = path[len(place) + 1:].split("/")
            folder = first if rest else "."
            return place, folder if folder in folders else None
    return None, None


def judge_folder(path, target):
    """Why the file `path` may not include "target", for the order of the folders of a place where both stand."""
    (place, folder), (other_place, other) = folder_of(path), folder_of(target)
    if place != other_place or folder is None or other is None:
        return None
    if other == folder or other in reach(FOLDERS[place][folder], FOLDERS[place]):
        return None
    names = [place if name == "." else f"{place}/{name}" for name in (other, folder)]
    return f"is in {names[0]}, which {names[1]} may not include"


def judge_own(path, room, target):
    """Why the file `path` may not include "target"; None when it may."""
    other = room_of(target)
    if other is None:
        return "is not written from the repository root"
    if path in PURE:
        allowed = reach(PURE[path])
        if other not in allowed and PURE.get(target) != PURE[path]:
            return f"is outside what this interface header may include ({', '.join(sorted(allowed))})"
        return None
    if room in INTERFACES.get(target, "").split():
        return None
    if any(target.startswith(folder) for folder in PRIVATE) and room not in (other, "tests"):
        return f"is private to {other}"
    if other == room:
        return judge_folder(path, target)
    if other in reach(ALLOWED[room], ALLOWED):
        return None
    return f"is in {other}, which {room} may not include"


def judge_library(path, target):
    """Why the file `path` may not include <target>; None when it may."""
    for name, places in LIBRARIES.items():
        if target.startswith(name):
            if any(path.startswith(place) for place in places):
                return None
            return f"belongs in {', '.join(places)}"
    return None if SYSTEM.match(target) else "is of no library in the table (LIBRARIES in tests/checks/rooms.py)"


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    room = room_of(path)
    if room is None:
        return [f"{path}: is in no room of the table"]
    problems = []
    place, folder = folder_of(path)
    if place and folder is None and path not in BESIDE_FOLDERS:
        problems.append(f"{path}: is in none of the folders of {place} ({', '.join(FOLDERS[place])})")
    if path.endswith((".h", ".hpp", ".cuh")) and not re.search(r"^#pragma once$", text, re.MULTILINE):
        problems.append(f"{path}: has no #pragma once")
    for match in INCLUDE.finditer(text):
        quote, target = match.groups()
        why = judge_own(path, room, target) if quote == '"' else judge_library(path, target)
        if why is None and quote == '"' and not os.path.exists(os.path.join(root, target)):
            why = "does not exist"
        if why:
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{line}: {target} {why}")
    return problems


def files(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def types(root, path):
    """(namespace, name) of the types that a header defines in it."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    spaces = re.findall(r"^namespace ([\w:]+) \{", text, re.MULTILINE)
    return {("::".join(spaces), name) for name in TYPE.findall(text)}


def check_types(root, paths):
    """One name, one type: programs link all rooms, and two types of one name break them without a word."""
    seen, problems = {}, []
    for path in paths:
        if path.endswith(".h") and not path.startswith("tests/"):
            for key in sorted(types(root, path)):
                if seen.setdefault(key, path) != path:
                    problems.append(f"{path}: {'::'.join(key)} is defined in {seen[key]} too")
    return problems


def check_names(paths):
    """One name, one header: people and messages call a header by its name alone, and some file systems take
    A.h for a.h. What takes a header's place has its name. An operation's header in kernels/ and that of its caller in src/ops or src/optim have the operation's."""
    seen, problems = {}, []
    for path in paths:
        if path.endswith((".h", ".hpp", ".cuh")) and not path.startswith("tests/emulated/include/"):
            caller = path.startswith(("src/ops/", "src/optim/"))
            name = ("caller " if caller and f"kernels/{os.path.basename(path)}" in paths else "") + os.path.basename(path)
            if seen.setdefault(name.lower(), path) != path:
                problems.append(f"{path}: has the name of {seen[name.lower()]}")
    return problems


def includes_of(root, paths):
    """What each pair of a header and its source file includes; both go by their path without its ending."""
    found = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            targets = [target for quote, target in INCLUDE.findall(file.read()) if quote == '"']
        own = os.path.splitext(path)[0]
        found.setdefault(own, set()).update(t for t in (os.path.splitext(target)[0] for target in targets) if t != own)
    return found


def check_circles(root, paths):
    """Files that include each other in a circle have to be read, changed and tested as one."""
    includes = includes_of(root, [path for path in paths if not path.startswith("tests/")])
    done, problems = set(), []

    def follow(unit, way):
        if unit in way:
            circle = way[way.index(unit):]
            problems.append(f"{' -> '.join(circle + [unit])}: include each other in a circle")
        elif unit in includes and unit not in done:
            for target in sorted(includes[unit]):
                follow(target, way + [unit])
            done.add(unit)

    for unit in sorted(includes):
        follow(unit, [])
    return problems


def tails(path):
    """a/b/c.h -> a/b/c.h, b/c.h, c.h"""
    parts = path.split("/")
    return ["/".join(parts[i:]) for i in range(len(parts))]


def check_comments(root, paths):
    """A header or source that a comment names, with its folders, some of them or none, is in the tree."""
    known = {tail for path in paths + FOREIGN for tail in tails(path)}
    problems = []
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for comment in COMMENT.finditer(text):
            for word in NAMED_FILE.finditer(comment[1] or ""):
                if word[1] and word[1].lstrip("./-") not in known:
                    line = text.count("\n", 0, comment.start() + word.start()) + 1
                    problems.append(f"{path}:{line}: the comment names {word[1]}, which does not exist")
    return problems


def check_kernel_calls(root, paths):
    """Kernels believe the pointers and sizes that they get, so it is an op that calls them."""
    problems = []
    for path in paths:
        if path.startswith(tuple(ABOVE_OPS)):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            for call in KERNEL_CALL.finditer(text):
                line = text.count("\n", 0, call.start()) + 1
                problems.append(f"{path}:{line}: calls a kernel ({call[0]}...); the op that checks its shapes belongs in src/ops")
    return problems


def check(root):
    """(number of files read, list of violations)"""
    paths = sorted(files(root))
    each = [problem for path in paths for problem in check_file(root, path)]
    return len(paths), each + check_types(root, paths) + check_names(paths) + check_circles(root, paths) + check_comments(root, paths) + check_kernel_calls(root, paths)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    count, problems = check(root)
    print("\n".join(problems) if problems else f"rooms: {count} files keep to the table")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
