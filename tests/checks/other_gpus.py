#!/usr/bin/env python3
"""Compiles kernels for the GPUs that a build for Hopper alone leaves out of OCTET_CUDA_ARCHITECTURES, each with the build's
own command, where a spill is an error: what a GPU cannot do, or has no registers for, is seen before it is on a cluster.

Usage: tests/checks/other_gpus.py BUILD_FOLDER SOURCE.cu...      the folder must be configured
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import kernel_resources

ROOT = kernel_resources.ROOT


def others(options):
    """['80', '100'] of the text of cmake/options.cmake: the architectures that are not Hopper's."""
    listed = re.search(r'set\(OCTET_CUDA_ARCHITECTURES "([^"]+)"', options)[1]
    return [name for name in listed.replace("-real", "").split(";") if name != "90a"]


def command_for(entry, architectures, output):
    """The build's command for one file, with code for these architectures in place of Hopper's, into another object."""
    words = shlex.split(entry["command"])
    at = words.index(kernel_resources.HOPPER)
    words[at:at + 1] = [f"--generate-code=arch=compute_{name},code=[sm_{name}]" for name in architectures]
    for option, file in (("-o", output), ("-MF", output + ".d")):
        if option in words:
            words[words.index(option) + 1] = file
    return words


def compile_one(entry, architectures):
    """What is wrong with it, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command_for(entry, architectures, os.path.join(folder, "kernel.o")), cwd=entry["directory"],
                              capture_output=True, text=True, check=False)
    name = os.path.relpath(entry["file"], ROOT)
    return None if done.returncode == 0 else f"{name} does not compile for {', '.join(architectures)}:\n{done.stdout}{done.stderr}"


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build, wanted = sys.argv[1], {os.path.join(ROOT, source) for source in sys.argv[2:]}
    with open(os.path.join(ROOT, "cmake/options.cmake"), encoding="utf-8") as file:
        architectures = others(file.read())
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file) if entry["file"] in wanted}
    commands = kernel_resources.commands_of(build)  # through ccache
    problems = [f"{os.path.relpath(source, ROOT)} is not in {build}" for source in sorted(wanted - set(entries))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = [kernel_resources.as_built(entry, commands) for entry in entries.values()]
        problems += filter(None, pool.map(lambda entry: compile_one(entry, architectures), built))
    print("\n".join(problems) if problems else f"other GPUs: {len(entries)} sources compile for {', '.join(architectures)}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
