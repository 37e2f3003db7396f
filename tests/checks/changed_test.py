#!/usr/bin/env python3
"""Tests of tests/support/changed.py on this tree: which test programs are made of which files."""
import contextlib
import io
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import changed

ROOMS, TESTS = changed.linked_rooms()


def programs(*paths, above=True):
    return {test for test in TESTS if changed.is_made_of(test, paths, ROOMS, TESTS, above)}


def fuzzed(*paths):
    names = {name[:-4] for name in os.listdir(os.path.join(changed.ROOT, "tests/fuzz")) if name.endswith(".cpp")} - {"main"}
    return {room for room in names if changed.is_fuzzed(room, paths)}


class Changed(unittest.TestCase):
    def test_what_all_stands_on_is_in_every_program(self):
        for path in ("src/base/error.h", "cmake/compiler.cmake", "cmake/options.cmake", "tests/support/mpi_main.cpp"):
            self.assertEqual(programs(path), set(TESTS), path)

    def test_a_room_is_in_the_programs_that_link_it(self):
        kernels = programs("kernels/cpu/gemm/gemm.cpp")
        self.assertLessEqual({"kernels", "ops", "model", "parallel", "train", "train_ranks", "equivalence", "checkpoints"}, kernels)
        self.assertFalse({"base", "device", "tuning", "cluster", "report", "data"} & kernels)
        self.assertLessEqual({"topology", "jobs"}, programs("src/topology/places.cpp"))
        self.assertFalse({"ops", "model", "cluster", "tuning"} & programs("src/topology/places.cpp"))

        options = programs("src/run_config/options/training_options.cpp")
        self.assertLessEqual({"run_config", "train", "equivalence", "evaluate", "jobs"}, options)
        self.assertFalse({"owner", "checkpoints", "optim", "report"} & options)

    def test_own_programs_leave_out_what_stands_above(self):
        own = lambda *paths: programs(*paths, above=False)
        self.assertEqual(own("src/ops/linear.cpp"), {"ops", "equivalence", "train_ranks"})
        self.assertEqual(own("src/topology/places.cpp"), {"topology"})
        self.assertLessEqual({"run_config", "equivalence"}, own("src/run_config/options/training_options.cpp"))
        self.assertNotIn("train", own("src/run_config/options/training_options.cpp"))
        self.assertEqual(own("checkpoints/save/saver.cpp"), {"checkpoints", "equivalence", "train_ranks"})
        self.assertEqual(own("tests/crash/rank_test.cpp"), {"crash"})
        self.assertLessEqual({"comm", "equivalence", "train_ranks"}, own("src/comm/nccl/nccl_api.cpp"))
        self.assertEqual(own("cmake/compiler.cmake"), set(TESTS))

    def test_hours_reach_back_on_main_alone(self):
        def said(*words):
            if words[0] == "rev-parse":
                return ["head" if words[-1] == "HEAD" else "before"]
            if words[0] == "merge-base":
                return [base]
            return ["100000"] if words[-1] == "--format=%ct" else {"--before=85600": ["older"], "--before=64000": []}[words[-1]]

        for base, hours, expected in (("head", 0, "before"), ("head", 4, "older"), ("head", 10, None), ("left", 4, "left")):
            with mock.patch.object(changed, "git", said), mock.patch.object(changed, "HOURS", hours):
                self.assertEqual(changed.base_commit(), expected, (base, hours))

    def test_kernels_for_gpus_count_where_what_they_include_or_are_compiled_by_has_changed(self):
        rope = "kernels/cuda/layers/rope.cu"
        self.assertEqual(changed.device_sources([rope]), [rope])
        tiles = changed.device_sources(["kernels/cuda/attention/attention_tiles.cuh"])
        self.assertEqual(len(tiles), 2, tiles)
        every = set(changed.git("ls-files", "kernels/*.cu"))
        for path in ("src/base/float8.h", "cmake/cuda.cmake", "cmake/options.cmake", "jobs/install-cuda.sh"):
            found = set(changed.device_sources([path]))
            self.assertLessEqual(found, every)
            self.assertGreater(len(found), 10, path)
        self.assertEqual(set(changed.device_sources(["cmake/cuda.cmake"])), every)
        self.assertEqual(changed.device_sources(["kernels/cuda/host/cluster.cpp", "kernels/cuda/gemm/gemm_plans.h",
                                                 "tests/gpu/rope_test.cpp", "tests/emulated/rules_test.cu"]), [])

    def test_readers_are_fuzzed_where_they_or_their_room_changed(self):
        self.assertEqual(fuzzed("src/data/token_file.cpp"), {"data"})
        self.assertEqual(fuzzed("src/metrics/step_metrics.cpp"), {"report"})
        for path in ("kernels/algorithm_choices.cpp", "kernels/algorithm_choices.h",
                     "src/run_config/options/model_file.cpp"):
            self.assertEqual(fuzzed(path), {"run_config"}, path)
        for path in ("src/metrics/status.cpp", "src/owner/record.cpp"):
            self.assertEqual(fuzzed(path), {"report"}, path)
        self.assertEqual(fuzzed("src/base/options/yaml.cpp", "src/base/error.h"), {"base"})
        self.assertEqual(fuzzed("src/base/log.h"), {"base"}, "training is not built for what all stands on")
        self.assertLessEqual({"base", "run_config"}, fuzzed("cmake/rooms.cmake"))
        self.assertLessEqual({"base", "run_config"}, fuzzed("tests/fuzz/targets.cmake"))
        self.assertFalse(fuzzed("tests/CMakeLists.txt"))
        self.assertEqual(fuzzed("kernels/cpu/gemm/gemm.cpp", "src/ops/linear.cpp", "docs/numerics.md"), set())
        self.assertLessEqual({"base", "report", "run_config", "tuning"}, fuzzed("tests/fuzz/main.cpp"))

    def test_tests_are_of_their_own_program_and_of_those_that_include_them(self):
        self.assertEqual(programs("tests/tuning/sick_test.cpp"), {"tuning"})
        shared = programs("tests/data/support.h")
        self.assertLessEqual({"data", "train", "cluster"}, shared)
        self.assertNotIn("ops", shared)

    def test_programs_of_the_cuda_build_are_known_too(self):
        self.assertLessEqual({"nccl", "comm"}, programs("src/comm/nccl/nccl_api.cpp"))
        self.assertLessEqual({"cuda", "gpu"}, programs("kernels/cuda/float8/cast.cu"))

    def test_where_nothing_counts_nothing_is_printed(self):
        for kind in ("fuzz", "own", "tests"):
            with contextlib.redirect_stdout(io.StringIO()) as out, mock.patch.object(changed, "changed_code", list), \
                    mock.patch.object(sys, "argv", ["changed.py", kind, "base", "data"]):
                changed.main()
            self.assertEqual(out.getvalue(), "", kind)

    def test_comments_are_no_code(self):
        code = 'int f();  ///< how many\n\n  // why\n/// what\nauto u = "http://a";\n'
        self.assertEqual(changed.without_comments(code), changed.without_comments('int f();  ///< number\nauto u = "http://a";\n// end\n'))
        self.assertNotEqual(changed.without_comments(code), changed.without_comments(code.replace("http://a", "http://b")))
        self.assertNotEqual(changed.without_comments(code), changed.without_comments(code.replace("f()", "g()")))

    def test_a_file_counts_whose_code_is_another(self):
        path = "src/base/error.h"
        with open(os.path.join(changed.ROOT, path), encoding="utf-8") as file:
            now = file.read()
        for before, expected in ((now, False), (now.replace("/// ", "/// Once more: "), False), (now.replace("Error", "Fault"), True)):
            answer = mock.Mock(stdout=before.encode())
            with mock.patch.object(changed.subprocess, "run", return_value=answer), mock.patch.object(changed, "base_commit", str):
                self.assertEqual(changed.has_other_code(path), expected)
        self.assertTrue(changed.has_other_code("src/base/not_there.h"))

    def test_pages_are_in_none(self):
        self.assertEqual(programs("docs/numerics.md", "README.md", "src/base/README.md", "tests/support/steps.sh"), set())

    def test_a_file_is_in_the_closure_of_those_that_include_it(self):
        self.assertIn("src/base/error.h", changed.closure(["src/ops/linear.h"]))
        self.assertNotIn("src/train/step/trainer.h", changed.closure(["src/ops/linear.h"]))


if __name__ == "__main__":
    unittest.main()
