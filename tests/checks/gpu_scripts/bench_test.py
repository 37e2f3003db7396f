"""jobs/gpu/bench.sh and its rows."""
import json
import os
import re
import unittest

from stand_ins import ROOT, ScriptTest  # with it, jobs/gpu is on the path

import bench_rows


class BenchTest(ScriptTest):
    rows = ["copy", "kernel/add_rmsnorm/8192x4096", "kernel/rmsnorm_backward/8192x4096"]
    only = "^octet:(copy|kernel/(add_rmsnorm|rmsnorm_backward)/8192x4096)$"

    def bench(self, *arguments, **environment):
        return self.run_script("bench.sh", "--output", self.path("results.jsonl"), "--python", self.path("torch-python"),
                               *arguments, **environment)

    def results(self):
        with open(self.path("results.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]

    def test_a_row_is_measured_once_for_a_commit(self):
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 3 rows measured, 0 were there, 0 failed")
        first = self.results()
        self.assertEqual([r["row"] for r in first], self.rows)
        for key in ("device", "driver", "commit", "date", "command", "run", "peaks", "seconds", "bytes", "by"):
            self.assertIn(key, first[0])
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 0 rows measured, 3 were there")
        self.assertEqual(self.results(), first)
        self.assertRegex(self.bench("--only", self.only, OCTET_COMMIT="c2")[2], "^bench: PASSED: 3 rows measured, 0 were")
        self.assertIn("bench: 0 rows would be measured", self.bench("--only", self.only, "--dry-run")[2])

    def test_out_is_output_as_it_was_called_before(self):
        copy = ("--only", "^octet:copy$")
        self.run_script("bench.sh", "--out", self.path("results.jsonl"), "--python", self.path("torch-python"), *copy)
        self.assertRegex(self.bench(*copy)[2], "^bench: PASSED: 0 rows measured, 1 were there")

    def test_a_failed_row_fails_the_run_and_is_tried_again(self):
        code, text, last = self.bench("--only", self.only, BAD_ROW=self.rows[1])
        self.assertEqual(code, 1)
        self.assertRegex(last, "^bench: FAILED: 2 rows measured, 0 were there, 1 failed")
        self.assertIn("FAILED: broken", text)
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 1 rows measured, 2 were there")

    def test_a_program_that_dies_costs_one_row(self):
        code, text, last = self.bench("--only", self.only, DIES_AT=self.rows[1])
        self.assertEqual(code, 1, text)
        self.assertRegex(last, "^bench: FAILED: 2 rows measured, 0 were there, 1 failed")
        self.assertEqual([r["row"] for r in self.results() if "error" in r], [self.rows[1]])

    def test_half_a_line_is_left_out(self):
        self.bench("--only", "^octet:copy$")
        with open(self.path("results.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"by": "octet", "row": "kern')
        self.assertRegex(self.bench("--only", self.only)[2], "^bench: PASSED: 2 rows measured, 1 were there")
        self.assertEqual([r["row"] for r in self.results()], self.rows)

    def test_rows_of_a_changed_or_unknown_tree_never_count_as_done(self):
        for commit in ("c1-changed", "unknown"):
            for _ in range(2):
                last = self.bench("--only", "^octet:copy$", OCTET_COMMIT=commit)[2]
                self.assertRegex(last, "^bench: PASSED: 1 rows measured, 0 were there")

    def test_the_deadline_ends_what_runs(self):
        code, text, last = self.bench("--only", self.only, "--minutes", "0.03", HANGS_AT=self.rows[1])
        self.assertEqual(code, 0, text)
        self.assertRegex(last, "^bench: PASSED: 1 rows measured, 0 were there, 0 failed, 2 left for want of time")
        code, text, last = self.bench("--only", "^octet:step/8b/bf16/[0-9]+-blocks$", "--minutes", "0.05", TRAIN_HANGS="1")
        self.assertEqual(code, 0, text)
        self.assertRegex(last, "^bench: PASSED: 0 rows measured, 0 were there, 0 failed, 2 left for want of time")

    def test_the_environment_of_python_comes_first(self):
        text = self.bench("--only", "^octet:copy$", SAY_PATH="1")[1]
        self.assertIn(f"FAILED: {self.work.name}\n", text)

    def test_minutes(self):
        self.assertRegex(self.bench("--only", self.only, "--minutes", "0")[2], "^bench: PASSED: 0 rows .*3 left")

    def test_steps_of_both_programs_and_their_table(self):
        _, text, last = self.bench("--only", "step/8b/bf16/[0-9]+-blocks$")
        self.assertRegex(last, "^bench: PASSED: 4 rows measured", text)
        octet = [r for r in self.results() if r["by"] == "octet"]
        self.assertAlmostEqual(octet[0]["seconds"], 0.1)
        self.assertEqual(octet[0]["memory_bytes"], 2**30)
        self.assertIn("--precision bf16 --device cuda", octet[0]["command"])
        self.assertNotIn("/tmp", octet[0]["command"])

    def test_steps_without_a_time_do_not_count(self):
        only, row = ("--only", "^octet:step/8b/bf16/1-blocks$"), bench_rows.step("8b", "bf16", 1)
        warmup, steps = row["warmup"], row["steps"]
        self.assertGreaterEqual(warmup, 3)
        self.assertEqual(self.bench(*only, UNTIMED=f"1 {warmup + 1} {warmup + 2}")[0], 0)
        result = self.results()[0]
        self.assertAlmostEqual(result["seconds"], 0.1)
        self.assertEqual(result["repeats"], steps - 3)  # nor does the last one
        every = " ".join(map(str, range(1, warmup + steps + 1)))
        self.assertIn(f"FAILED: metrics.jsonl has no step_seconds after step {warmup}", self.bench(*only, UNTIMED=every, OCTET_COMMIT="c2")[1])

    def test_rows_name_the_libraries_that_were_loaded(self):
        self.bench("--only", "copy|step/8b/bf16/1-blocks$")
        libraries = {(r["by"], r["row"]): r["libraries"] for r in self.results()}
        cublas = {"version": "13.1.0", "path": "/with a space/libcublasLt.so.13"}
        self.assertEqual(libraries["octet", "copy"], {"cuBLASLt": cublas})
        self.assertEqual(libraries["octet", "step/8b/bf16/1-blocks"], {"cuDNN": {"version": "9.19.0", "path": "/x/libcudnn.so.9"},
                                                                       "NVRTC": {"version": "13.0.0", "path": "/x/libnvrtc.so.13"}})
        self.assertEqual(libraries["torch", "copy"], {"cuBLASLt": {"version": "12.9.1", "path": "/t/libcublasLt.so.12"}})

    def test_a_step_of_a_recipe_asks_for_it(self):
        _, text, last = self.bench("--only", "step/8b/float8-delayed/1-blocks$")
        self.assertRegex(last, "^bench: PASSED: 1 rows measured", text)
        self.assertIn("--float8.recipe delayed", self.results()[0]["command"])

    def test_a_step_with_graphs_or_without_asks_for_it(self):
        _, text, last = self.bench("--only", "step/1.8b/float8/.*graphs")
        self.assertRegex(last, "^bench: PASSED: 2 rows measured", text)
        asked = {r["row"].rsplit("/")[-1]: r["command"].split("--cuda.graphs ")[1].split()[0] for r in self.results()}
        self.assertEqual(asked, {"graphs-true": "true", "graphs-false": "false"})

    def test_a_step_with_the_update_beside_it_asks_for_that(self):
        _, text, last = self.bench("--only", "step/70b/float8/.*/(beside-true|multiprocessors-12|gemms-all)$")
        self.assertRegex(last, "^bench: PASSED: 8 rows measured", text)
        asked = [r["command"].split("--optimizer.beside_", 1)[1].rstrip() for r in self.results()]
        self.assertEqual(asked, ["forward true"] * 6 + ["forward true --optimizer.beside_multiprocessors 12",
                                                          "forward true --optimizer.beside_gemms all"])

    def test_algorithms_are_timed_once_before_the_first_step(self):
        """Both stacks of a precision run the same, and no step's time has the choice in it."""
        _, text, last = self.bench("--only", "octet:step/8b/bf16/([0-9]+-blocks$|.*micro-batches)")
        self.assertRegex(last, "^bench: PASSED: 4 rows measured", text)
        for result in self.results():
            self.assertIn("--cuda.gemm timed --cuda.attention timed", result["command"])
            self.assertEqual(result["seconds"], 0.1)
        self.assertEqual([r["choice_seconds"] for r in self.results()], [3.0, 0, 0, 0])

    def test_a_step_with_other_choices_asks_for_them(self):
        _, text, last = self.bench("--only", "step/8b/.*/(heuristic|fast-all)$")
        self.assertRegex(last, "^bench: PASSED: 3 rows measured", text)
        commands = {r["row"].split("/", 2)[2]: r["command"] for r in self.results()}
        for name in ("float8/12-blocks/heuristic", "bf16/12-blocks/heuristic"):
            self.assertIn("--cuda.gemm heuristic --cuda.attention heuristic", commands[name])
        fast = commands["float8/12-blocks/fast-all"]
        self.assertIn("--cuda.gemm timed --cuda.attention timed --float8.fast_accumulate all", fast)
        self.assertEqual([r.get("choice_seconds") for r in self.results()], [3.0, 0, 0])

    def test_a_step_with_gradients_in_bf16_asks_for_them_beside_pytorchs(self):
        _, text, last = self.bench("--only", "step/8b/float8/[0-9]+-blocks(/bf16-gradients)?$")
        self.assertRegex(last, "^bench: PASSED: 6 rows measured", text)
        asked = [(r["by"], r["row"].split("/", 4)[3:], "--parallel.gradient_wire bf16" in r["command"]) for r in self.results()]
        heights = ("1-blocks", "12-blocks")
        self.assertEqual(asked, [("octet", [n], False) for n in heights] + [("torch", [n], False) for n in heights] +
                         [("octet", [n, "bf16-gradients"], True) for n in heights])

    def test_the_start_is_what_the_log_says(self):
        _, text, last = self.bench("--only", "octet:start/")
        self.assertRegex(last, "^bench: PASSED: 1 rows measured", text)
        self.assertEqual((self.results()[0]["row"], self.results()[0]["seconds"]), ("start/8b/12-blocks", 4.5))
        self.assertIn("--train.steps 1 ", self.results()[0]["command"])
        self.assertIn("does not say in how long", self.bench("--only", "octet:start/", NO_START="1", OCTET_COMMIT="c2")[1])

    def test_without_torch_its_rows_are_skipped(self):
        code, _, last = self.bench("--only", "copy|^torch:gemm/1024x", NO_TORCH="1")
        self.assertEqual(code, 0)
        self.assertRegex(last, r"^bench: PASSED: 1 rows measured, .*PyTorch's skipped \(no torch: none here\)")

    def test_a_training_run_that_fails(self):
        code, _, _ = self.bench("--only", "^octet:step/8b/bf16/1-blocks$", TRAIN_FAILS="1")
        self.assertEqual(code, 1)
        self.assertIn("exit code 70: no such luck", self.results()[0]["error"])


# What an nvcc says of itself, and jobs/install-cuda.sh in a tree where nothing is fetched.


class RowsTest(unittest.TestCase):
    def test_names_are_unique_and_shapes_shared(self):
        for group, by, rows in bench_rows.groups():
            names = [r["row"] for r in rows]
            self.assertEqual(len(names), len(set(names)), (group, by))
            keys = [json.dumps({k: v for k, v in r.items() if k not in ("row", "bytes", "flops")}) for r in rows]
            self.assertEqual(len(keys), len(set(keys)), (group, by))

    def test_every_op_is_known_to_the_program(self):
        with open(os.path.join(ROOT, "tests/benchmark/gpu/memory_cases.cpp"), encoding="utf-8") as file:
            known = set(re.findall(r'\{"(\w+)", \w+\}', file.read()))
        asked = {r["op"] for _, by, rows in bench_rows.groups() for r in rows if by == "octet" and r["op"] not in ("step", "start")}
        self.assertEqual(asked - known, set())
        self.assertEqual(known - asked - {"accumulate"}, set())

    def test_sizes(self):
        m = bench_rows.MODELS["8b"]
        parameters = m["layers"] * bench_rows.block_parameters(m) + m["dim"] + 2 * m["vocab_size"] * m["dim"]
        self.assertEqual(parameters, 8030261248)  # configs/models/8b.yaml
        g = bench_rows.linear_gemm(14336, 4096, "grad_weight", "fp8")
        self.assertEqual((g["m"], g["n"], g["k"], g["flops"]), (14336, 4096, 8192, 2 * 14336 * 4096 * 8192))
        self.assertEqual(g["bytes"], (14336 + 4096) * 8192 + 4 * 14336 * 4096)
        added = bench_rows.linear_gemm(14336, 4096, "grad_weight", "fp8", True)
        self.assertEqual((added["beta"], added["bytes"] - g["bytes"]), (1, 4 * 14336 * 4096))
        narrow = bench_rows.linear_gemm(14336, 4096, "grad_weight", "fp8", gradient="bf16")
        self.assertEqual((narrow["row"], g["bytes"] - narrow["bytes"]), (g["row"] + "/bf16-gradients", 2 * 14336 * 4096))
        for of in (bench_rows.adamw, bench_rows.sum_of_squares):
            self.assertEqual((of(64)["bytes"] - of(64, "bf16")["bytes"], of(64, "bf16")["gradient"]), (2 * 64, "bf16"))
        self.assertNotIn("beta", {key for _, by, rows in bench_rows.groups() for r in rows if by == "torch" for key in r})
        casts = {mode: bench_rows.gemm(64, 32, 16, "forward", mode)["bytes"] - bench_rows.gemm(64, 32, 16, "forward", "fp8")["bytes"]
                 for modes in ({"fp8_casts"}, *bench_rows.RECIPE_MODES.values()) for mode in modes}
        self.assertEqual(casts, {"fp8_casts": 5 * 96 * 16, "delayed_casts": 3 * 96 * 16, "rowwise": 4 * 96,
                                 "rowwise_casts": 3 * 96 * 16 + 12 * 96, "gw_hp": 4 * 64,
                                 "gw_hp_casts": (3 * 64 + 5 * 32) * 16 + 12 * 64, "blockwise": 4 * (64 + 4),
                                 "blockwise_casts": 3 * 96 * 16 + 8 * (64 + 4)})
        grad_weight = lambda mode: bench_rows.gemm(256, 384, 640, "grad_weight", mode)["bytes"]
        self.assertEqual(grad_weight("blockwise") - grad_weight("fp8"), 4 * (256 + 384) * 5)
        self.assertEqual(bench_rows.quantize_vectors(256, "both", 640)["bytes"], 640 * 256 * 4 + 8 * 640 * 2)
        self.assertEqual(bench_rows.quantize_blocks(640, 256, "both")["bytes"], 640 * 256 * 4 + 4 * (5 * 4 + 2 * 8))
        self.assertEqual(bench_rows.quantize_rowwise(128, "both", 64)["bytes"], 4 * 64 * 128 + 8 * (64 + 128))
        self.assertEqual(bench_rows.cross_entropy(m)["rows"], (1 << 30) // 4 // m["vocab_size"] // 256 * 256)
        fit = {name: bench_rows.blocks_that_fit(bench_rows.MODELS[name], 84942979072) for name in bench_rows.STACKS}
        self.assertEqual(fit, {"8b": 12, "70b": 3, "405b-tp4": 3})

    def test_block_flops_are_those_of_its_gemms(self):
        for name in bench_rows.STACKS:
            m = bench_rows.MODELS[name]
            weights = sum(o * i for _, o, i in bench_rows.linears(m))
            for micro_batches in (1, 4):
                ops = bench_rows.block_ops(m, "bf16", micro_batches)
                gemms = sum(n * row["flops"] for _, row, n in ops if row["op"] == "gemm")
                self.assertEqual(gemms, 6 * weights * bench_rows.TOKENS)
