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

    def test_other_gpus_of_the_same_build_are_left_out(self):
        elsewhere = REPORT.replace("sm_90a", "sm_80").replace("26 registers", "40 registers")
        self.assertEqual(checked.parse(elsewhere + REPORT + elsewhere), checked.parse(REPORT))

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
            with self.assertRaisesRegex(RuntimeError, "a_kernel<float, 4>: dynamic shared memory 64 . n: expected NAME<D, ...>"):
                checked.add_dynamic_shared([(os.path.relpath(file, checked.ROOT), "a_kernel<float, 4>", {})], "nvcc")

    def test_the_size_is_of_the_kernels_last_arguments(self):
        self.assertEqual(checked.of_last_arguments("forward_shared<D>", "a_kernel<float, 4>"), "forward_shared<4>")
        self.assertEqual(checked.of_last_arguments("forward_shared<D, B>", "n::a_kernel<bf16, 64, 32>"), "forward_shared<64, 32>")
        self.assertIsNone(checked.of_last_arguments("forward_shared<D, B>", "a_kernel<float, 4>"))
        self.assertIsNone(checked.of_last_arguments("bytes", "a_kernel<4>"))

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

    def test_the_block_of_a_kernel(self):
        text = """#include "kernels/cuda/tiles.cuh"
                  constexpr std::int64_t most = few * 4, other = 3;
                  template <typename T, int width>
                  __global__ void __launch_bounds__(width, width <= few(2) ? 2 : 1) a_kernel(Arguments args) {}
                  __global__ void __launch_bounds__(Tile<T>::threads) b_kernel(Arguments args) {}
                  __global__ void __launch_bounds__(most / 2) c_kernel(Arguments args) {}
                  __global__ void d_kernel(Arguments args) {}
                  __global__ void e_kernel(Arguments args) {}
                  d_kernel<<<f(1, 2), dim3(few, 2 + other), 0, stream>>>(args);
                  e_kernel<<<f(1, 2), n, 0, stream>>>(args);"""
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "kernels/cuda"))
            with open(os.path.join(folder, "kernels/cuda/tiles.cuh"), "w", encoding="utf-8") as out:
                out.write("constexpr int few = 32, other = 8; struct Tile { static constexpr int threads = 8 * few; };")
            threads = {name: checked.threads_of(name, text, folder)
                       for name in ("a_kernel<bf16, 512>", "n::b_kernel", "c_kernel", "d_kernel", "e_kernel", "f_kernel")}
        self.assertEqual(threads, {"a_kernel<bf16, 512>": 512, "n::b_kernel": 256, "c_kernel": 64, "d_kernel": 160,
                                   "e_kernel": None, "f_kernel": None})

    def test_warps_of_a_multiprocessor(self):
        self.assertEqual(checked.warps_of(32, 0, 256), 64, "all there are")
        self.assertEqual(checked.warps_of(33, 0, 256), 48, "registers are given by eight a thread: six blocks of eight warps")
        self.assertEqual(checked.warps_of(46, 8192, 256), 40)
        self.assertEqual(checked.warps_of(63, 8192, 256), 32)
        self.assertEqual(checked.warps_of(255, 0, 32), 8)
        self.assertEqual(checked.warps_of(16, 0, 32), 32, "32 blocks at most")
        self.assertEqual(checked.warps_of(16, 0, 1024), 64)
        self.assertEqual(checked.warps_of(168, 104448, 256), 8, "one block by registers")
        self.assertEqual(checked.warps_of(40, 227 * 1024, 256), 8, "one block by shared memory")
        self.assertEqual(checked.warps_of(40, 113 * 1024, 256), 16, "two, with the kilobyte that each takes beside")
        self.assertEqual(checked.warps_of(40, 113 * 1024 + 1, 256), 8)

    def test_warps_depend_on_the_shape_where_shared_memory_does(self):
        with tempfile.TemporaryDirectory(dir=checked.ROOT) as folder:
            file = os.path.join(folder, "a.cu")
            with open(file, "w", encoding="utf-8") as out:
                out.write("__global__ void __launch_bounds__(128) a_kernel(int n) {}\n__global__ void b_kernel(int n) {}")
            rows = [(os.path.relpath(file, checked.ROOT), name, {"registers": 128, "shared": 0, "dynamic": dynamic})
                    for name, dynamic in (("a_kernel<float>", 0), ("a_kernel<bf16>", "by shape"), ("b_kernel", 0))]
            checked.add_warps(rows)
            self.assertEqual([(k["threads"], k["warps"]) for _, _, k in rows], [(128, 16), (128, "at most 16"), ("", "")])

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
