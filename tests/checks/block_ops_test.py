#!/usr/bin/env python3
"""Holds what jobs/gpu/bench.sh takes a training step for against the program itself, by dry runs, which need no GPU: the
ops of a block (bench_rows.block_ops) are what a stack launches more with a block more, and every row's run is one that
octet-train takes.
Usage: tests/checks/block_ops_test.py OCTET_TRAIN"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "jobs/gpu/bench"))
import bench_rows  # noqa: E402
import bench_train  # noqa: E402

MEGABYTE = 1_000_000  # less than it the list leaves out: of norms' weights, of scales
NAMES = {"add_rmsnorm": "add_rmsnorm_forward", "cast": "cast_to_float8", "transpose": "transpose_float8"}  # of kernels


class DryRunTest(unittest.TestCase):
    program = None

    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name

    def dry_run(self, row):
        """The kernels of a step, as --order lists them."""
        model, order = os.path.join(self.work, "model.yaml"), os.path.join(self.work, "order.jsonl")
        with open(model, "w", encoding="utf-8") as file:
            file.write(bench_train.model_file(row))
        options = bench_train.train_options(row, model, os.path.join(self.work, "tokens"), os.path.join(self.work, "run"))
        done = subprocess.run([self.program, *options, "--dry-run", "--ranks", "1", "--gpu", "H100", "--order", order], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, f"{row['row']}: {done.stderr}")
        with open(order, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def launched_by_a_block(self, model, precision, recipe, micro_batches, gradients):
        """Counter of (kernel, bytes, FLOPs of a GEMM): what a stack of two blocks has more than one of one."""
        stacks = []
        for layers in (1, 2):
            ops = self.dry_run(bench_rows.step(model, precision, layers, micro_batches, recipe, gradients=gradients))
            stacks.append(collections.Counter((op["name"], op["bytes"], op["flops"] if op["name"] == "gemm" else 0)
                                              for op in ops if op["bytes"] >= MEGABYTE))
        low, high = stacks
        self.assertEqual(low - high, collections.Counter())
        return high - low

    def listed(self, model, precision, recipe, micro_batches, gradients):
        ops = collections.Counter()
        for _, row, count in bench_rows.block_ops(bench_rows.MODELS[model], precision, micro_batches, recipe, gradients):
            ops[NAMES.get(row["op"], row["op"]), row["bytes"], row["flops"] if row["op"] == "gemm" else 0] += count * micro_batches
        for name, size, _ in [key for key in ops if key[0] == "swiglu_backward" and precision == "float8" and recipe is None]:
            count = ops.pop((name, size, 0))  # it is launched twice, and moves 6 bytes a value and then 10
            ops.update({(name, size * 6 // 16, 0): count, (name, size * 10 // 16, 0): count})
        updates = [key for key in ops if key[0] == "adamw"]  # the program gives those of a block as one
        ops["adamw", round(sum(key[1] * ops.pop(key) for key in updates)), 0] = 1
        return ops

    def test_a_block_is_what_the_program_launches(self):
        for model in bench_rows.STACKS:
            for precision, recipe in bench_rows.TIMED_BLOCKS:
                for micro_batches, gradients in ((1, None), (1, "bf16"), (4, None)):
                    with self.subTest(f"{model} {precision} {recipe} {micro_batches} {gradients}"):
                        of = (model, precision, recipe, micro_batches, gradients)
                        there = sorted(self.launched_by_a_block(*of).items())
                        listed = sorted(self.listed(*of).items())
                        text = lambda ops: "\n".join(f"{count:g} {name} {size:,} bytes {flops:g}" for (name, size, flops), count in ops)
                        message = f"launched:\n{text(there)}\nlisted:\n{text(listed)}"
                        self.assertEqual([(key[0], key[2], count) for key, count in there],
                                         [(key[0], key[2], round(count, 9)) for key, count in listed], message)
                        for (launched, _), (row, _) in zip(there, listed):  # the list leaves out what a row has once
                            self.assertLess(abs(launched[1] / row[1] - 1), 1e-3, message)

    def test_the_program_takes_every_row(self):
        rows = [row for _, by, of in bench_rows.groups() for row in of if by == "octet" and row["op"] in ("step", "start")]
        self.assertGreater(len(rows), 50)
        for row in rows:
            self.assertGreater(len(self.dry_run(row)), 0)


if __name__ == "__main__":
    DryRunTest.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
