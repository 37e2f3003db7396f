#!/usr/bin/env python3
"""Proves that kernel_resources.py reads ptxas' report, names a spill, and sees a stale page."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernel_resources as checked  # noqa: E402

# As ptxas 13.0 writes it.
REPORT = """ptxas info    : 17 bytes gmem
ptxas info    : Compiling entry function '_ZN5octet4cuda8a_kernelIfLi4EEEvPKT_l' for 'sm_90a'
ptxas info    : Function properties for _ZN5octet4cuda8a_kernelIfLi4EEEvPKT_l
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, used 1 barriers, 1056 bytes smem
ptxas info    : Compile time = 12.3 ms
ptxas info    : Compiling entry function '_ZN5octet4cuda8b_kernelEv' for 'sm_90a'
ptxas info    : Function properties for _ZN5octet4cuda8b_kernelEv
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 16 bytes cumulative stack size
"""


def rows():
    kernels = checked.parse(REPORT)
    return [("kernels/cuda/a.cu", name, k) for name, k in zip(checked.readable([k["name"] for k in kernels]), kernels)]


class KernelResources(unittest.TestCase):
    def test_figures_of_each_kernel(self):
        a, b = checked.parse(REPORT)
        self.assertEqual((a["registers"], a["shared"], a["stack"], a["stores"], a["loads"]), (26, 1056, 0, 0, 0))
        self.assertEqual((b["registers"], b["shared"], b["stack"], b["stores"], b["loads"]), (255, 0, 16, 8, 4))

    def test_names_keep_their_template_arguments(self):
        self.assertEqual([name for _, name, _ in rows()], ["a_kernel<float, 4>", "b_kernel"])
        self.assertEqual(checked.shorten("void octet::cuda::(anonymous namespace)::k<__nv_bfloat16, (int)3>(octet::A, int)"),
                         "k<bf16, (int)3>")

    def test_launches_with_dynamic_shared_memory(self):
        text = """a_kernel<T, D><<<dim3(1, 2), threads, forward_shared<D>, native(stream)>>>(args);
                  b_kernel<<<blocks_for(n, f<4>(x, 2)), dim3(a, b), 0,
                             stream>>>(args);"""
        self.assertEqual(checked.dynamic_shared(text), {"a_kernel": "forward_shared<D>"})
        with tempfile.TemporaryDirectory(dir=checked.ROOT) as folder:
            file = os.path.join(folder, "a.cu")
            with open(file, "w", encoding="utf-8") as out:
                out.write("a_kernel<<<1, 2, 64 * n, stream>>>();")
            with self.assertRaisesRegex(RuntimeError, "a_kernel<float, 4>: dynamic shared memory 64 . n: expected NAME<D>"):
                checked.add_dynamic_shared([(os.path.relpath(file, checked.ROOT), "a_kernel<float, 4>", {})], "nvcc")

    def test_shared_memory_that_the_shape_decides(self):
        text = """__global__ void __launch_bounds__(most, most <= few(2) ? 2 : 1)
                      c_kernel(Arguments args) { auto* p = dynamic_shared<float>(); }
                  __global__ void d_kernel(Arguments args) {}
                  auto* kernel = c_kernel<T>;
                  kernel<<<blocks, threads, bytes, stream>>>(args);"""
        self.assertEqual(checked.dynamic_shared(text), {"c_kernel": ""})
        with tempfile.TemporaryDirectory(dir=checked.ROOT) as folder:
            file = os.path.join(folder, "a.cu")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            rows = [(os.path.relpath(file, checked.ROOT), name, {"dynamic": 0}) for name in ("c_kernel<float>", "d_kernel")]
            checked.add_dynamic_shared(rows, "nvcc")
            self.assertEqual([k["dynamic"] for _, _, k in rows], ["by shape", 0])

    def test_a_spill_is_named(self):
        self.assertEqual(checked.spilled(rows()), ["kernels/cuda/a.cu: b_kernel: 16 bytes of stack, 8 of spill stores, 4 of spill loads"])

    def test_a_stale_page_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            text = checked.render(rows(), "13.0.88")
            self.assertIn("is missing", checked.stale(page, text, "13.0.88"))
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual(checked.stale(page, text, "13.0.88"), "")
            why = checked.stale(page, text.replace("| 26 |", "| 27 |"), "13.0.88")
            self.assertIn("+ | `a_kernel<float, 4>` | 27 |", why)
            self.assertEqual(checked.stale(page, text.replace("| 26 |", "| 27 |"), "13.4.1"), "", "another release has other figures")

    def test_the_command_is_the_builds_for_hopper_alone(self):
        entry = {"command": "nvcc -O3 --generate-code=arch=compute_80,code=[sm_80] -Xptxas=--warn-on-spills,--warning-as-error "
                            "--Werror=all-warnings -c a.cu -o a.o", "file": "a.cu", "directory": "/"}
        command = checked.command_for(entry, "out.o")
        self.assertNotIn("a.o", command)
        self.assertEqual([w for w in command if "generate-code" in w], ["--generate-code=arch=compute_90a,code=[sm_90a]"])
        self.assertFalse([w for w in command if "warning-as-error" in w or "Werror" in w], "a spill is to be listed")
        self.assertIn("-O3", command)

    def test_what_the_build_ran_for_hopper_alone_is_run_again_as_it_was(self):
        built = "ccache nvcc -Xptxas=-v -Xptxas=--warning-as-error --generate-code=arch=compute_90a,code=[sm_90a] -MD -MF a.o.d -c /a.cu -o a.o"
        entry = {"command": "nvcc -c /a.cu -o a.o", "file": "/a.cu", "directory": "/"}
        self.assertEqual(checked.as_built(entry, ["ccache c++ -c /b.cpp -o b.o"]), entry)
        entry = checked.as_built(entry, ["ccache c++ -c /b.cpp -o b.o", built])
        expected = built.replace("-MF a.o.d", "-MF out.o.d").replace("-o a.o", "-o out.o")
        self.assertEqual(checked.command_for(entry, "out.o"), expected.split())


if __name__ == "__main__":
    unittest.main()
