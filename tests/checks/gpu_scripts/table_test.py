"""The tables that jobs/gpu makes of rows: bench_table.py."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from stand_ins import GPU, ROOT  # with it, jobs/gpu is on the path

import bench_rows
import bench_table


class TableTest(unittest.TestCase):
    common = {"device": "NVIDIA H100 80GB HBM3", "driver": "1", "commit": "c", "date": "2026-01-02T03:04:05Z",
              "run": "jobs/gpu/bench.sh --by octet", "peaks": [989e12, 1979e12]}

    def result(self, by, row, seconds, commit=None, **more):
        return {"by": by, "row": row["row"], "seconds": seconds, "bytes": row["bytes"], "flops": row["flops"], **more,
                **{**self.common, **({"commit": commit} if commit else {})}}

    def test_block_time_is_the_slope_and_gains_stand_beside_the_published(self):
        step = bench_rows.step
        results = [self.result("octet", step("70b", p, n), 0.010 + n * block, memory_bytes=2**30 * n)
                   for p, block in (("bf16", 0.100), ("float8", 0.064)) for n in (1, 3)]
        results += [self.result("torch", step("70b", "bf16", n), 0.050 + n * 0.110) for n in (1, 3)]
        text = bench_table.render(results)
        tokens = 8192 / 0.100 / 80
        self.assertRegex(text, rf"\| 70b \| bf16 \| 3 \| 100.00 \| 110.00 \| {tokens:,.0f} \| .*\| 3.0 \| - \| 1.10 \|")
        self.assertRegex(text, r"\| 70b \| 1.56 \| - \| 1.5 \| 956 to 1,430 \|")

    @staticmethod
    def aims(text):
        """{what: (measured, aim, reached)}."""
        part = text.split("### Aims\n")[1].split("\n### ")[0]
        return {what: rest for what, *rest in re.findall(r"(?m)^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", part)[1:]}

    def test_each_figure_stands_beside_its_aim(self):
        step, octet, torch = bench_rows.step, [], []
        blocks = {("8b", "float8"): (20, 25), ("8b", "bf16"): (30, 32.7), ("70b", "float8"): (40, 49)}  # ms of both programs
        for (model, precision), times in blocks.items():
            for n in (1, 3):
                octet.append(self.result("octet", step(model, precision, n), 0.01 + n * times[0] * 1e-3))
                torch.append(self.result("torch", step(model, precision, n), 0.01 + n * times[1] * 1e-3))
        whole = step("1.8b", "float8", 24)
        results = octet + torch + [self.result("octet", whole, 0.1), self.result("torch", whole, 0.1216)]
        for model, gain in (("8b", 1.40), ("70b", 1.59), ("405b-tp4", 1.66)):
            results += [self.result("octet", step(model, p, n, 4), 0.02 + n * 0.04 * slower) for n in (1, 3)
                        for p, slower in (("float8", 1), ("bf16", gain))]
        results.append(self.result("octet", bench_rows.start_row(), 4.5))
        aims = self.aims(bench_table.render(results))
        self.assertEqual(aims["a block of 8b, float8: speed relative to PyTorch"], ["1.25", "1.25", "yes"])
        self.assertEqual(aims["a block of 8b, bf16: speed relative to PyTorch"], ["1.09", "1.10", "**no**"])
        self.assertEqual(aims["a block of 70b, float8: speed relative to PyTorch"], ["1.23", "1.25", "**no**"])
        self.assertEqual(aims["a block of 405b-tp4, float8: speed relative to PyTorch"], ["not measured", "1.25", "-"])
        self.assertNotIn("the same with both (70b, float8)", aims)
        with_both = [self.result("octet", step("70b", "float8", n, gradients="bf16", beside="true"), 0.01 + n * 0.039) for n in (1, 3)]
        self.assertEqual(self.aims(bench_table.render(results + with_both))["the same with both (70b, float8)"], ["1.26", "1.25", "yes"])
        self.assertEqual(aims["1.8b whole, float8: speed relative to PyTorch"], ["1.22", "1.22", "yes"])
        whole_with = self.result("octet", step("1.8b", "float8", 24, gradients="bf16"), 0.095)
        text = bench_table.render(results + [whole_with])
        self.assertEqual(self.aims(text)["the same with gradients in bf16 (1.8b, float8)"], ["1.28", "1.22", "yes"])
        self.assertIn("| 1.8b | float8 | 95.00 | 100.00 | 121.60 | - | - | 1.053 | 1.28 |", text)
        gains = [aims[f"a block of {model}, 4 micro-batches: speed of float8 relative to bf16"] for model in bench_rows.STACKS]
        self.assertEqual(gains, [["1.40", "1.40", "yes"], ["1.59", "1.60", "**no**"], ["1.66", "1.64", "yes"]])
        beside = [self.result("octet", step("70b", p, n, 4, beside="true"), 0.02 + n * 0.03 * slower) for n in (1, 3)
                  for p, slower in (("float8", 1), ("bf16", 1.61))]
        self.assertEqual(self.aims(bench_table.render(results + beside))["the same with the update beside, in both (70b)"], ["1.61", "1.60", "yes"])
        self.assertEqual(aims["a run of 12 blocks of 8b with embedding and head: buffers and initial weights"],
                         ["4.50 s", "at most 5 s", "yes"])

    def test_the_aim_of_gemms_is_of_the_median(self):
        rows = [bench_rows.linear_gemm(4096, 4096, form, mode) for form in bench_rows.FORMS for mode in ("bf16", "fp8")]
        results = [self.result("torch", row, 1e-3) for row in rows]
        results += [self.result("octet", row, 1e-3 / speed) for row, speed in zip(rows, (0.9, 0.97, 1.01, 1.2, 9, 9))]
        what = "GEMM, forward and grad_input in bf16 and fp8: speed relative to PyTorch"  # weights' gradients are stored otherwise
        self.assertEqual(self.aims(bench_table.render(results))[what], ["0.99 (median of 4; 0.90 to 1.20)", "1.00", "**no**"])

    def test_aims_of_casts_count_a_micro_batch_of_the_step(self):
        results = [self.result("octet", bench_rows.copy(), 1e-3)]
        for recipe in (None, "delayed"):
            ops = bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", 4, recipe)
            results += [self.result("octet", row, 1e-5) for _, row, _ in ops]
        aims = self.aims(bench_table.render(results))
        # 2 abs-maxes, 4 inputs, 5 gradients, and 7 weights turned once in 4; delayed: 2 casts, 4 transposes.
        self.assertEqual(aims["casts of 12 blocks of 8b, tensorwise, one micro-batch of 4"], ["1.5 ms", "at most 12.5 ms", "yes"])
        self.assertEqual(aims["casts of 12 blocks of 8b, delayed, one micro-batch of 4"], ["0.9 ms", "at most 4 ms", "yes"])
        former = [row for _, row, _ in bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", 4, left=False)]
        copied = results[:1]
        aims = self.aims(bench_table.render(copied + [self.result("octet", row, 1e-5) for row in former]))
        self.assertEqual(aims["casts of 12 blocks of 8b, tensorwise, one micro-batch of 4"][0], "1.5 ms")  # cast, not turned
        both = {row["row"]: row for row in former if bench_rows.apart(row)}
        apart = [self.result("octet", part, 1e-5) for row in both.values() for part in bench_rows.apart(row)]
        others = [self.result("octet", row, 1e-5) for row in former if row["row"] not in both]
        aims = self.aims(bench_table.render(copied + others + apart))
        self.assertEqual(aims["casts of 12 blocks of 8b, tensorwise, one micro-batch of 4"][0], "1.7 ms")  # in two launches
        self.assertEqual(aims["memory-bound kernels that move over 50 MB: rate of the slowest relative to the copy"][2], "yes")

    def test_the_slowest_kernel_is_named(self):
        norm, small = bench_rows.add_rmsnorm(4096), bench_rows.transpose(1024, 4096)
        results = [self.result("octet", bench_rows.copy(), 2 * 2**30 / 3e12), self.result("octet", norm, norm["bytes"] / 2.4e12),
                   self.result("octet", small, small["bytes"] / 1e12)]  # which the cache holds
        what = "memory-bound kernels that move over 50 MB: rate of the slowest relative to the copy"
        self.assertEqual(self.aims(bench_table.render(results))[what],
                         ["0.80 (add_rmsnorm/8192x4096; 0 of 1 reach it)", "0.85", "**no**"])

    def test_steps_with_other_options_stand_beside_the_default(self):
        step = bench_rows.step
        results = [self.result("octet", step("8b", "float8", 12), 0.2, choice_seconds=5.25),
                   self.result("octet", step("8b", "float8", 12, plans="heuristic"), 0.204),
                   self.result("octet", step("8b", "float8", 12, fast="all"), 0.196),
                   self.result("octet", step("8b", "float8", 12, beside="true"), 0.190),
                   self.result("octet", step("1.8b", "bf16", 24, graphs="true"), 0.1)]
        text = bench_table.render(results)
        self.assertIn("| 8b/float8/12-blocks | cuda.gemm and cuda.attention heuristic | 204.00 | 200.00 | 0.980 |", text)
        self.assertIn("| 8b/float8/12-blocks | float8.fast_accumulate all | 196.00 | 200.00 | 1.020 |", text)
        self.assertIn("| 8b/float8/12-blocks | optimizer.beside_forward true | 190.00 | 200.00 | 1.053 |", text)
        self.assertIn("| 1.8b/bf16/24-blocks | cuda.graphs true | 100.00 | - | - |", text)
        self.assertIn("timed before the first step, which took 5.2 s at most", text)

    def test_steps_with_gradients_in_bf16_stand_beside_fp32_and_pytorchs(self):
        step = bench_rows.step
        of = lambda by, block, **more: [self.result(by, step("8b", "float8", n, **more), 0.010 + n * block, memory_bytes=2**30 * n)
                                        for n in (1, 3)]
        text = bench_table.render(of("octet", 0.020) + of("octet", 0.019, gradients="bf16") + of("torch", 0.024))
        self.assertIn("| 8b | float8 | 19.00 | 20.00 | 24.00 | 3.0 | 3.0 | 1.053 | 1.26 |", text)
        self.assertRegex(text, r"\| 8b \| float8 \| 3 \| 20.00 \| 24.00 \|")  # the others' table has fp32 alone
        self.assertNotIn("gradients of weights in bf16", bench_table.render(of("octet", 0.020) + of("torch", 0.024)))

    def test_steps_with_the_update_beside_stand_beside_those_without(self):
        step = bench_rows.step
        of = lambda by, block, **more: [self.result(by, step("70b", "bf16", n, **more), 0.010 + n * block) for n in (1, 3)]
        rows = (of("octet", 0.020) + of("torch", 0.024) + of("octet", 0.019, gradients="bf16") +
                of("octet", 0.018, beside="true") + of("octet", 0.0152, gradients="bf16", beside="true"))
        text = bench_table.render(rows)
        self.assertIn("| 70b | bf16 | fp32 | default | 18.00 | 20.00 | 24.00 | 1.111 | 1.33 |", text)
        self.assertIn("| 70b | bf16 | bf16 | default | 15.20 | 19.00 | 24.00 | 1.250 | 1.58 |", text)
        self.assertIn("| 70b/bf16/3-blocks/bf16-gradients | optimizer.beside_forward true | 55.60 | 67.00 | 1.205 |", text)

    def test_steps_are_compared_with_those_of_their_own_build(self):
        step = bench_rows.step
        of = lambda by, block, commit, **more: [self.result(by, step("70b", "bf16", n, **more), n * block, commit=commit) for n in (1, 3)]
        both = {"gradients": "bf16", "beside": "true", "multiprocessors": 16}
        rows = (of("octet", 0.020, "c1") + of("torch", 0.024, "c1") + of("octet", 0.018, "c1", gradients="bf16") +
                of("octet", 0.016, "c1", **both) + of("torch", 0.022, "c2") + of("octet", 0.0157, "c2", **{**both, "multiprocessors": 12}))
        text = bench_table.render(rows)
        self.assertIn("| a block of 70b, bf16: speed relative to PyTorch | 1.20 |", text)
        self.assertIn("| the same with both on 16 multiprocessors (70b, bf16) | 1.50 |", text)
        self.assertIn("| the same with both on 12 multiprocessors (70b, bf16) | 1.40 |", text)
        self.assertIn("| 70b | bf16 | bf16 | 12 | 15.70 | - | 22.00 | - | 1.40 |", text)
        self.assertIn("| 70b/bf16/3-blocks/bf16-gradients | optimizer.beside_forward true, beside_multiprocessors 16 | 48.00 | 54.00 | 1.125 |", text)
        self.assertNotIn("beside_multiprocessors 12", text)

    def test_what_is_compared_is_of_the_last_build_that_has_most_of_it(self):
        def of(by, precision, block, commit, micro_batches=1, **more):
            return [self.result(by, bench_rows.step("70b", precision, n, micro_batches, **more), n * block * micro_batches, commit=commit)
                    for n in (1, 3)]
        rows = (of("octet", "bf16", 0.030, "c1", 4) + of("octet", "float8", 0.020, "c1", 4) + of("octet", "float8", 0.015, "c2", 4) +
                of("octet", "float8", 0.020, "c1") + of("torch", "float8", 0.022, "c1") + of("octet", "float8", 0.016, "c2") +
                of("octet", "float8-delayed", 0.0128, "c2"))
        text = bench_table.render(rows)
        self.assertIn("| a block of 70b, 4 micro-batches: speed of float8 relative to bf16 | 1.50 |", text)
        self.assertIn("| a block of 70b, float8: speed relative to PyTorch | 1.10 |", text)
        self.assertIn("| 70b | delayed | 12.80 | 1.25 | - |", text)
        variant = self.result("octet", bench_rows.step("70b", "float8", 3, plans="heuristic"), 0.05, commit="c3")
        self.assertIn("| 70b/float8/3-blocks | cuda.gemm and cuda.attention heuristic | 50.00 | - | - |", bench_table.render(rows + [variant]))

    def test_gemms_that_leave_room_stand_beside_those_that_do_not(self):
        row = bench_rows.room_gemm_rows()[0]
        whole = bench_rows.linear_gemm(4096, 4096, "forward", row["mode"])
        self.assertEqual(row["row"], whole["row"] + "/116-multiprocessors")
        text = bench_table.render([self.result("octet", whole, 1e-3), self.result("octet", row, 1.25e-3)])
        rate = whole["flops"] / 1e9
        self.assertIn(f"| 8192 x 4096 x 4096 | bf16 | {rate:,.0f} | {rate / 1.25:,.0f} | 0.800 |", text)

    def test_ways_of_a_gemm_stand_beside_pytorchs(self):
        way = bench_rows.ways_rows()[0]
        seconds = {"as a run": 1e-3, "bigger workspace": 0.9e-3, "refused": None}
        results = [self.result("octet", way, 0.9e-3, way="bigger workspace", seconds_of_way=seconds),
                   self.result("torch", bench_rows.linear_gemm(14336, 4096, "forward", "fp8"), 0.8e-3)]
        text = bench_table.render(results)
        self.assertIn("| GEMM | us, as a run | bigger workspace: times as fast | refused: times as fast | PyTorch: times as fast |", text)
        self.assertIn("| 8192x14336x4096/forward/fp8 | 1000.0 | 1.111 | - | 1.250 |", text)
        self.assertNotIn("one thing changed", bench_table.render(results[1:]))

    def test_fast_gradients_and_timed_choices(self):
        row, fast = (bench_rows.linear_gemm(4096, 4096, "grad_input", "fp8", fast=f) for f in (False, True))
        results = [self.result("octet", row, 1e-3, way="timed", seconds_of_way={"heuristic": 1.1e-3, "timed": 1e-3}),
                   self.result("octet", fast, 0.95e-3)]
        text = bench_table.render(results)
        self.assertIn("| 8192 x 4096 x 4096 | grad_input | 275 | 289 | 1.053 |", text)
        self.assertIn("The timed one is 1.100 times as fast in the median of 1 products, and 1.100 times at most.", text)

    def test_attention_within_documents(self):
        of = lambda **more: bench_rows.attention(bench_rows.MODELS["8b"], "backward", **more)
        results = [self.result("octet", of(), 2e-3), self.result("octet", of(documents="2048"), 1.5e-3),
                   self.result("octet", of(documents="2048", by="cudnn"), 0.6e-3)]
        self.assertIn("| 2048 | backward | 0.250 | 1,500 | 0.750 | 600 | 0.300 |", bench_table.render(results))
        self.assertNotIn("within documents", bench_table.render(results[:1]))

    def test_rates_and_fractions(self):
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        gemm = bench_rows.gemm(8192, 8192, 8192, "forward", "fp8")
        results = [self.result("octet", copy, copy["bytes"] / 3e12), self.result("octet", norm, norm["bytes"] / 2.7e12),
                   self.result("torch", gemm, gemm["flops"] / 1e15)]
        text = bench_table.render(results)
        self.assertIn("copy 3,000 GB/s", text)
        self.assertIn("dense peaks 989 TFLOP/s in bf16, 1,979 in fp8", text)
        self.assertIn("    jobs/gpu/bench.sh --by octet\n", text)
        self.assertNotIn("Rows of several builds", text)
        mixed = [self.result("octet", bench_rows.rmsnorm_backward(4096), 1e-4, commit="d")] + results
        self.assertIn("Rows of several builds: c; d.", bench_table.render(mixed))
        self.assertRegex(text, r"\| add_rmsnorm/8192x4096 \| 268.4 \| 99.4 \| 2,700 \| 0.90 \|")
        self.assertRegex(text, r"\| square 8192 \| forward \| 8192 x 8192 x 8192 \| - \| - \| - \| 1,000 \(51 %\) \| - \| - \|")

    def test_recipes_stand_beside_the_tensorwise_product(self):
        of = lambda mode: bench_rows.gemm(8192, 8192, 8192, "forward", mode)
        results = [self.result("octet", of(mode), of(mode)["flops"] / rate)
                   for mode, rate in (("fp8", 1e15), ("rowwise", 8e14), ("delayed_casts", 6e14))]
        text = bench_table.render(results)
        self.assertRegex(text, r"\| square 8192 \| forward \| 8192 x 8192 x 8192 \| 1,000 \(51 %\) \| - \| 600 \(30 %\) \| 800 \(40 %\) \|")
        self.assertNotIn("of the recipes", bench_table.render(results[:1]))

    def test_steps_of_recipes_stand_beside_tensorwise_and_bf16(self):
        results = [self.result("octet", bench_rows.step("8b", p, n, recipe=recipe), 0.010 + n * block)
                   for p, recipe, block in (("bf16", None, 0.120), ("float8", None, 0.080), ("float8", "rowwise", 0.100))
                   for n in (1, 3)]
        self.assertRegex(bench_table.render(results), r"\| 8b \| rowwise \| 100.00 \| 0.80 \| 1.20 \|")
        self.assertNotIn("other recipes", bench_table.render(results[:4]))

    def test_where_the_time_goes_needs_every_op(self):
        copy = bench_rows.copy()
        ops = [row for _, row, _ in bench_rows.block_ops(bench_rows.MODELS["8b"], "float8")]
        results = [self.result("octet", copy, 1e-3)] + [self.result("octet", row, 1e-3) for row in ops]
        self.assertIn("#### 8b, float8", bench_table.render(results))
        self.assertNotIn("#### 8b, bf16", bench_table.render(results))
        self.assertNotIn("#### 8b", bench_table.render([r for r in results if "adamw" not in r["row"]]))
        narrow = bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", gradients="bf16")
        text = bench_table.render(results + [self.result("octet", row, 1e-3) for _, row, _ in narrow])
        self.assertIn("#### 8b, float8, gradients in bf16", text)
        # With several micro-batches a sequence has its share of the optimizer, and weight gradients that add.
        self.assertNotIn("#### 8b, float8, 4 micro-batches", bench_table.render(results))
        ops = [row for _, row, _ in bench_rows.block_ops(bench_rows.MODELS["8b"], "float8", 4)]
        text = bench_table.render([self.result("octet", row, 1e-3) for row in [copy] + ops])
        self.assertRegex(text, r"#### 8b, float8, 4 micro-batches(.|\n)*\| AdamW \| 1.750 \|")

    def test_libraries_stand_once_and_differences_are_said(self):
        library = lambda version, path: {"cuBLASLt": {"version": version, "path": path}}
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        mine = [self.result("octet", row, 1e-3, libraries=library("13.1.0", "/a/lt")) for row in (copy, norm)]
        other = [self.result("torch", copy, 1e-3, libraries={**library("13.0.2", "/b/lt"), "NCCL": {"version": "2.28.9", "path": "/b/nccl"}})]
        text = bench_table.render(mine + other)
        self.assertIn("| cuBLASLt | 13.1.0 `/a/lt` (2 rows) | 13.0.2 `/b/lt` (1 rows) | **yes** |\n", text)
        self.assertIn("| NCCL | not loaded | 2.28.9 `/b/nccl` (1 rows) | - |\n", text)
        self.assertIn("Times of rows whose libraries differ compare the libraries too.", text)
        same = bench_table.render(mine + [self.result("torch", copy, 1e-3, libraries=library("13.1.0", "/b/lt"))])
        self.assertIn("| 13.1.0 `/b/lt` (1 rows) | no |\n", same)
        self.assertNotIn("compare the libraries too", same)
        self.assertIn("had loaded was not recorded", bench_table.render([self.result("octet", copy, 1e-3)]))

    def test_the_copy_names_its_way_and_every_fraction_is_of_it(self):
        copy, norm = bench_rows.copy(), bench_rows.add_rmsnorm(4096)
        ways = {"way": "kernel", "seconds_of_way": {"cudaMemcpyAsync": 2e-3, "kernel": 1e-3}}
        text = bench_table.render([self.result("octet", copy, copy["bytes"] / 2.9e12, **ways),
                                   self.result("torch", copy, copy["bytes"] / 2.8e12),
                                   self.result("octet", norm, norm["bytes"] / 2.32e12)])
        self.assertIn("; copy 2,900 GB/s (bytes read and written; fastest: kernel); PyTorch's copy 2,800 GB/s", text)
        self.assertRegex(text, r"\| add_rmsnorm/8192x4096 \| .* \| 0.80 \|")

    def test_rows_of_several_builds_of_a_commit_are_told_apart(self):
        rows = [bench_rows.add_rmsnorm(4096), bench_rows.rmsnorm_backward(4096)]
        results = [self.result("octet", row, 1e-4, code=code) for row, code in zip(rows, ("c", "c with a patch"))]
        self.assertIn("Rows of several builds: c; c with a patch.", bench_table.render(results))

    def test_the_pages_of_results_are_what_their_rows_give(self):
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(ROOT, "docs/gpu-results")
            days = ("h100-2026-11-26", "h100-2026-11-27-warmed", "h100-2026-11-27-recipes")
            pages = {os.path.join(ROOT, "docs/gpu-results.md"): days,
                     **{f"{folder}/{day}.md": [day] for day in (*days, "h100-2026-11-27")}}
            bench = lambda days, *into: subprocess.run(
                [os.path.join(GPU, "bench.sh"), "--table", *(word for day in days for word in ("--output", f"{folder}/{day}.jsonl")),
                 *(word for page in into for word in ("--into", page))], check=False, capture_output=True, text=True)
            for page, rows in pages.items():
                made = shutil.copy(page, work)
                self.assertEqual(bench(rows, made).returncode, 0)
                self.assertEqual(bench_table.read_page(made), bench_table.read_page(page))
            wrong = os.path.join(work, "wrong.md")
            with open(wrong, "w", encoding="utf-8") as file:
                file.write("no marks\n")
            done = bench(days, made, wrong)
            self.assertEqual(done.returncode, 64)
            self.assertIn(f"{wrong}: expected a page with a line {bench_table.BEGIN}", done.stderr)

    def test_a_page_gets_the_part_that_its_mark_names(self):
        step, norm = bench_rows.step, bench_rows.add_rmsnorm(4096)
        results = [self.result("octet", step("8b", "bf16", n), 0.01 * n) for n in (1, 3)] + [self.result("octet", norm, 1e-4)]
        begin = lambda part: bench_table.BEGIN.replace(": begin", f" {part}: begin")
        with tempfile.TemporaryDirectory() as work:
            page = os.path.join(work, "page.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write(f"a\n{begin('summary')}\nold\n{bench_table.END}\nb\n{begin('details')}\n{bench_table.END}\nc\n")
            bench_table.write_into(page, results)
            text = bench_table.read_page(page)
        self.assertRegex(text, r"^a\n<!--.*summary.*-->\n\n(.|\n)*### Training step(.|\n)*\nb\n<!--.*details.*-->\n\n(.|\n)*"
                               r"### Memory-bound kernels(.|\n)*\nc\n$")
        summary, details = text.split("\nb\n")
        self.assertNotIn("### Memory-bound", summary)
        self.assertNotIn("### Training step", details)
        self.assertNotIn("old", text)
        for table in ("### Training step", "### Memory-bound kernels"):
            self.assertIn(table, bench_table.render(results))

    def test_the_last_result_counts_and_failures_are_listed(self):
        norm = bench_rows.add_rmsnorm(4096)
        failed = {"by": "octet", "row": norm["row"], "error": "broken | twice\nmore", **self.common}
        self.assertIn("| octet | kernel/add_rmsnorm/8192x4096 | broken / twice |", bench_table.render([failed]))
        text = bench_table.render([failed, self.result("octet", norm, 1.0), self.result("octet", norm, 1e-4)])
        self.assertIn("| 100.0 |", text)
        self.assertNotIn("broken", text)
