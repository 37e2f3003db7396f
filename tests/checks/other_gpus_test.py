#!/usr/bin/env python3
"""Tests of tests/checks/other_gpus.py: which command it makes of the build's, and of what a compiler says."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import other_gpus as checked  # noqa: E402

HOPPER = "'--generate-code=arch=compute_90a,code=[sm_90a]'"


def entry(program, folder="/"):
    return {"command": f"{program} -O3 {HOPPER} -Xptxas=--warning-as-error -MD -MF a.o.d -c /a.cu -o a.o", "file": "/a.cu",
            "directory": folder}


class OtherGpus(unittest.TestCase):
    def test_the_list_of_the_build_without_hopper(self):
        with open(os.path.join(checked.ROOT, "cmake/options.cmake"), encoding="utf-8") as file:
            self.assertEqual(checked.others(file.read()), ["80", "100"])
        self.assertEqual(checked.others('set(OCTET_CUDA_ARCHITECTURES "90a-real;120-real" CACHE STRING "")'), ["120"])

    def test_the_command_is_the_builds_for_the_others(self):
        self.assertEqual(checked.command_for(entry("nvcc"), ["80", "100"], "out.o"),
                         ["nvcc", "-O3", "--generate-code=arch=compute_80,code=[sm_80]", "--generate-code=arch=compute_100,code=[sm_100]",
                          "-Xptxas=--warning-as-error", "-MD", "-MF", "out.o.d", "-c", "/a.cu", "-o", "out.o"])

    def test_a_build_for_others_too_is_none_of_its(self):
        with self.assertRaises(ValueError):
            checked.command_for({"command": "nvcc -c /a.cu -o a.o"}, ["80"], "out.o")

    def test_what_the_compiler_refuses_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "nvcc")
            for code, expected in ((0, None), (1, "a.cu does not compile for 80:\nptxas: no register\n")):
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\necho ptxas: no register >&2\nexit {code}\n")
                os.chmod(program, 0o755)
                said = checked.compile_one(entry(program, folder), ["80"])
                self.assertEqual(said and said[said.index("a.cu"):], expected)


if __name__ == "__main__":
    unittest.main()
