#!/usr/bin/env python3
"""Registers, spills, stack and shared memory of every CUDA kernel, as ptxas reports them for Hopper (sm_90a), and from
the code the dynamic shared memory of its launches and its block, which give the warps that a multiprocessor can hold.

Usage: tests/checks/kernel_resources.py [--check] [BUILD_FOLDER]      default build/cuda; it must be configured
Compiles each .cu file of kernels/cuda with the build's own command for sm_90a alone and writes docs/kernel-resources.md. In a
build with CMAKE_CUDA_FLAGS=-Xptxas=-v ccache has done it already.
--check writes nothing: it fails when a kernel spills or has a stack frame, and when the committed page is not what
would be written (under another release of nvcc, whose figures differ, only spills are looked at).
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PAGE = "docs/kernel-resources.md"
# Flags of the build that do not belong here: the other GPUs, and what makes an error of a spill that is to be listed.
DROPPED = re.compile(r"^--generate-code=|^--Werror=|^-arch=|^-gencode")

REPORT = "-Xptxas=-v"
HOPPER = "--generate-code=arch=compute_90a,code=[sm_90a]"  # as CMake writes it for 90a-real in OCTET_CUDA_ARCHITECTURES


def command_for(entry, output):
    """The build's command for one file, for sm_90a, with ptxas' report. One that has both stays: ccache has its output."""
    words, out = shlex.split(entry["command"]), []
    if HOPPER in words and REPORT in words:
        for option, file in (("-o", output), ("-MF", output + ".d")):
            if option in words:
                words[words.index(option) + 1] = file
        return words
    while words:
        word = words.pop(0)
        if word == "-o":
            words.pop(0)
        elif not DROPPED.match(word):
            out.append(word.replace(",--warning-as-error", "").replace(",--warn-on-spills", ""))
    out += [HOPPER, REPORT, "-o", output]
    ccache = shutil.which("ccache")
    return (["env", "CCACHE_BASEDIR=" + ROOT, "CCACHE_NOHASHDIR=1", ccache] if ccache else []) + out


def as_built(entry, commands):
    """The entry with the command that the build itself runs, through ccache, where it is among its `commands`."""
    return entry | {"command": next((c for c in commands if f" -c {entry['file']} " in c + " "), entry["command"])}


def commands_of(build):
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", "room-kernels"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def compile_report(entry):
    """ptxas' words on one file; raises with the compiler's words when it does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command_for(entry, os.path.join(folder, "kernel.o")), cwd=entry["directory"],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{entry['file']} does not compile:\n{done.stdout}{done.stderr}")
    return done.stderr + done.stdout


def parse(report):
    """[{name (mangled), registers, stack, stores, loads, shared}] of one report, whose build may be for other GPUs too."""
    kernels, current = [], None
    for line in report.splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)' for '(\w+)'", line):
            current = None
            if entry[2] != "sm_90a":
                continue
            current = {"name": entry[1], "registers": None, "stack": 0, "stores": 0, "loads": 0, "shared": 0, "dynamic": 0,
                       "threads": "", "warps": ""}
            kernels.append(current)
        # Of a function that was not inlined too: what it spills is counted with the kernel before it.
        elif spill := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if current is not None:
                for key, value in zip(("stack", "stores", "loads"), spill.groups()):
                    current[key] = max(current[key], int(value))
        elif (used := re.search(r"Used (\d+) registers", line)) and current is not None:
            current["registers"] = int(used[1])
            shared = re.search(r"(\d+) bytes smem", line)
            current["shared"] = int(shared[1]) if shared else 0
    return kernels


def readable(mangled):
    """Demangled names without their arguments, our namespaces, and the words that say nothing here."""
    names = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True)
    return [shorten(name) for name in names.stdout.splitlines()]


def shorten(name):
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::|octet::cuda::|octet::", "", name)
    name = without_arguments(name)
    return name.replace("__nv_bfloat16", "bf16").replace("__nv_fp8_e4m3", "e4m3").replace("__nv_fp8_e5m2", "e5m2")


def without_arguments(name):
    """Cuts the list of arguments: the first round bracket that stands outside of angle brackets."""
    depth = 0
    for i, c in enumerate(name):
        if c == "(" and depth == 0 and not name.startswith("(anonymous", i):
            return name[:i]
        depth += (c == "<") - (c == ">" and name[i - 1] != "-")
    return name


def dynamic_shared(text):
    """{kernel: expression} of the launches in a source that ask for dynamic shared memory, and "" for the kernels that
    use as much as the launch works out from the shape (kernels/cuda/device/shared_memory.cuh)."""
    found = {}
    for definition in text.split("__global__ void")[1:]:
        if "dynamic_shared<" in definition:
            found[re.match(r"\s*(?:__launch_bounds__(\((?:[^()]|\([^()]*\))*\))\s*)?(\w+)\(", definition)[2]] = ""
    by_shape = bool(found)
    for kernel, arguments in re.findall(r"(\w+)(?:<[\w, ]*>)?<<<(.*?)>>>", text, re.DOTALL):
        size = top_level_parts(arguments)[2]
        if size != "0" and not (by_shape and kernel == "kernel"):  # a variable
            found[kernel] = size
    return found


def top_level_parts(text):
    """Split at the commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "(<{") - (c in ")>}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def add_dynamic_shared(rows, nvcc):
    """Sets it for the kernels that have some: NAME<D, ...> of a header of kernels/cuda, of the kernel's last arguments."""
    wanted = {}
    for file, name, k in rows:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            text = source.read()
        launches, kernel = dynamic_shared(text), name.split("<")[0].split("::")[-1]
        if unknown := sorted(set(launches) - {n.split("<")[0].split("::")[-1] for f, n, _ in rows if f == file}):
            raise RuntimeError(f"{file}: {unknown[0]} is launched with dynamic shared memory, and is no kernel's own name")
        size = launches.get(kernel)
        if size is None:
            continue
        if size == "":
            k["dynamic"] = "by shape"
            continue
        expression = of_last_arguments(size, name)
        if expression is None:
            raise RuntimeError(f"{file}: {name}: dynamic shared memory {size}: expected NAME<D, ...> of the kernel's last arguments")
        wanted[expression] = re.findall(r'#include "(kernels/cuda/[\w/]+\.cuh)"', text)
        k["dynamic"] = expression
    values = evaluate(wanted, nvcc) if wanted else {}
    for _, _, k in rows:
        k["dynamic"] = k["dynamic"] if k["dynamic"] == "by shape" else values.get(k["dynamic"], 0)


def of_last_arguments(size, name):
    """forward_shared<64, 32> of the launch's forward_shared<D, B> and the kernel's name tiles<float, 64, 32>; None where they
    do not fit."""
    asked, has = re.fullmatch(r"(\w+)<([\w, ]+)>", size), re.fullmatch(r"[^<]+<(.*)>", name)
    if not asked or not has:
        return None
    last = has[1].split(", ")[-len(asked[2].split(", ")):]
    return f"{asked[1]}<{', '.join(last)}>" if all(map(str.isdigit, last)) else None


def evaluate(wanted, nvcc):
    """{expression: value} by a program of the host."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "sizes.cu"), os.path.join(folder, "sizes")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{h}"\n' for h in sorted({h for headers in wanted.values() for h in headers}))
            file.write("#include <cstdio>\nusing namespace octet::cuda;\nusing namespace octet::cuda::attention;\nint main() {\n")
            file.writelines(f'std::printf("%d\\n", static_cast<int>({size}));\n' for size in wanted)
            file.write("}\n")
        command = [nvcc, "-std=c++20", "-arch=sm_90a", "-I" + ROOT, "-DFMT_USE_CONSTEXPR=1", "-DFMT_CONSTEVAL=", source, "-o", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"sizes of dynamic shared memory do not compile:\n{done.stdout}{done.stderr}")
        values = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(wanted, map(int, values)))


def constants_of(text, folder=ROOT):
    """{name: expression} of the integral constants of a source and of the headers of kernels/cuda that it includes; its
    own come before theirs."""
    found = {}
    for declared in re.findall(r"\bconstexpr (?:int|unsigned|std::int64_t) (\w+ = [^;]+);", text):
        for part in top_level_parts(declared):
            name, _, value = part.partition(" = ")
            found[name] = value
    for header in re.findall(r'#include "(kernels/cuda/[\w/]+\.cuh?)"', text):
        with open(os.path.join(folder, header), encoding="utf-8") as file:
            found = constants_of(file.read(), folder) | found
    return found


def value_of(expression, names):
    """Of an integral expression of constants, or None where it has others."""
    expression = re.sub(r"\w+<[^<>]*>::", "", expression)  # a constant of a template
    for _ in range(10):
        expression = re.sub(r"\b[A-Za-z_]\w*", lambda m: f"({names.get(m[0], m[0])})", expression)
    if not re.fullmatch(r"[\d\s+*/()-]+", expression):
        return None
    return eval(expression.replace("/", "//"), {"__builtins__": {}})  # digits and operators alone


KERNEL = re.compile(r"(?:template <([^>]*)>\s*)?__global__ void\s*(?:__launch_bounds__(\((?:[^()]|\([^()]*\))*\))\s*)?(\w+)\(")


def blocks_of(text):
    """{kernel: (its template parameters, threads of a block as an expression)}: of the launch bounds, or else of a launch
    that names the kernel."""
    found = {}
    for parameters, bounds, kernel in KERNEL.findall(text):
        threads = top_level_parts(bounds[1:-1])[0] if bounds else ""
        if not threads:
            launch = re.search(r"\b" + kernel + r"(?:<[\w, ]*>)?<<<(.*?)>>>", text, re.DOTALL)
            threads = top_level_parts(launch[1])[1] if launch else ""
        if block := re.fullmatch(r"dim3\((.*)\)", threads):
            threads = " * ".join(f"({part})" for part in top_level_parts(block[1]))
        found[kernel] = ([part.split()[-1] for part in parameters.split(", ") if part], threads)
    return found


def threads_of(name, text, folder=ROOT):
    """Threads of the largest block of a kernel with these template arguments, or None where the code leaves it open."""
    plain, _, arguments = name.partition("<")
    parameters, threads = blocks_of(text).get(plain.split("::")[-1], ([], ""))
    return value_of(threads, constants_of(text, folder) | dict(zip(parameters, top_level_parts(arguments[:-1]))))


def warps_of(registers, shared, threads):
    """Warps of such blocks that a multiprocessor of compute capability 9.0 holds at once, of 64 (CUDA programming guide,
    technical specifications): registers go to warps by 256 and to its four parts, shared memory by 128 bytes, of which
    a block takes 1024 beside its own."""
    of_block = -(-threads // 32)
    by_registers = 65536 // (-(-max(registers, 1) * 32 // 256) * 256) // 4 * 4 // of_block
    by_shared = 233472 // (-(-(shared + 1024) // 128) * 128)
    return min(by_registers, by_shared, 64 // of_block, 32) * of_block


def add_warps(rows):
    """Sets `warps`: as many as fit, "at most" where shared memory depends on the shape, or "" where the block does."""
    for file, name, k in rows:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            threads = threads_of(name, source.read())
        by_shape = k["dynamic"] == "by shape"
        warps = "" if threads is None else warps_of(k["registers"], k["shared"] + (0 if by_shape else k["dynamic"]), threads)
        k["threads"], k["warps"] = threads or "", f"at most {warps}" if by_shape and warps else warps


def release_of(nvcc):
    words = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\bV(\d+\.\d+\.\d+)", words)[1]


def measure(build):
    """(rows, release of nvcc); a row is (file, kernel, figures)."""
    database = os.path.join(build, "compile_commands.json")
    if not os.path.exists(database):
        sys.exit(f"{database} is missing: configure first, cmake --preset cuda")
    with open(database, encoding="utf-8") as file:
        entries = [e for e in json.load(file) if re.search(r"/kernels/cuda/.+\.cu$", e["file"])]
    if not entries:
        sys.exit(f"{database} has no .cu file of kernels/cuda: is it a build with CUDA?")
    commands = commands_of(build)
    entries = [as_built(e, commands) for e in sorted(entries, key=lambda e: e["file"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(compile_report, entries))
    rows = []
    for entry, report in zip(entries, reports):
        kernels = parse(report)
        names = readable([k["name"] for k in kernels]) if kernels else []
        file = os.path.relpath(entry["file"], ROOT)
        rows += sorted(((file, name, k) for name, k in zip(names, kernels)), key=lambda row: (row[1], str(row[2])))
    nvcc = next(word for word in shlex.split(entries[0]["command"]) if os.path.basename(word) == "nvcc")
    add_dynamic_shared(rows, nvcc)
    add_warps(rows)
    return rows, release_of(nvcc)


def render(rows, release):
    text = f"""# Resources of the CUDA kernels

Written by `tests/checks/kernel_resources.py` from ptxas' report for sm_90a, nvcc {release}; `--check` holds it to the code.
Dynamic shared memory is what the launch asks for, beside the static. A spill or a stack frame fails the build.
Threads are those of the largest block that the code allows, and warps how many of such blocks a multiprocessor can hold
at once, of 64, by registers, shared memory and the block's size.
"""
    file = None
    for row_file, name, k in rows:
        if row_file != file:
            file = row_file
            text += f"\n`{file}`\n\n| Kernel | Registers | Shared memory, bytes | Dynamic | Threads | Warps of 64 | Stack, bytes | Spill stores, loads, bytes |\n"
            text += "|---|---:|---:|---:|---:|---:|---:|---:|\n"
        text += f"| `{name}` | {k['registers']} | {k['shared']} | {k['dynamic']} | {k['threads']} | {k['warps']} | {k['stack']} | {k['stores']}, {k['loads']} |\n"
    return text


def spilled(rows):
    return [f"{file}: {name}: {k['stack']} bytes of stack, {k['stores']} of spill stores, {k['loads']} of spill loads"
            for file, name, k in rows if k["stack"] or k["stores"] or k["loads"]]


def stale(page, text, release):
    """Why the committed page is not what the code gives, or ''."""
    if not os.path.exists(page):
        return f"{PAGE} is missing"
    with open(page, encoding="utf-8") as file:
        committed = file.read()
    written = re.search(r"nvcc (\d+\.\d+\.\d+)", committed)
    if written and written[1] != release:
        print(f"{PAGE} was written with nvcc {written[1]}, this is {release}: its figures are not compared")
        return ""
    if committed == text:
        return ""
    old, new = set(committed.splitlines()), set(text.splitlines())
    lines = [f"  - {line}" for line in committed.splitlines() if line not in new]
    lines += [f"  + {line}" for line in text.splitlines() if line not in old]
    return "\n".join([f"{PAGE} is stale: run tests/checks/kernel_resources.py"] + lines[:20])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build/cuda"))
    options = parser.parse_args()
    try:
        rows, release = measure(options.build)
    except RuntimeError as error:
        sys.exit(str(error))
    if not rows:
        sys.exit("no kernel in any report: is this nvcc's ptxas another one?")
    text, problems = render(rows, release), spilled(rows)
    page = os.path.join(ROOT, PAGE)
    if options.check:
        if why := stale(page, text, release):
            problems.append(why)
    else:
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
    print("\n".join(problems) if problems else f"{len(rows)} kernels, none spills")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
