#!/usr/bin/env python3
"""Proves that rooms.py finds violations: each is planted in a small tree of its own."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rooms  # noqa: E402

CLEAN = {
    "src/base/error.h": "#pragma once\n#include <fmt/format.h>\n#include <string>\n",
    "src/base/options/schema.cpp": "#include <yaml-cpp/yaml.h>\n#include <boost/program_options.hpp>\n",
    "src/device/device.h": '#pragma once\n#include "src/base/error.h"\n#include <sys/mman.h>\n',
    "src/tensor/tensor.h": '#pragma once\n#include "src/base/error.h"\n',
    "src/comm/communicator.h": '#pragma once\n#include "src/device/device.h"\n',
    "src/comm/mesh_shape.h": '#pragma once\n#include "src/base/error.h"\n',
    "src/tuning/cost.cpp": '#include "src/comm/mesh_shape.h"\n',
    "src/comm/mpi/mpi.cpp": '#include <mpi.h>\n#include "src/comm/communicator.h"\n',
    "src/tensor/weight_provider.h": '#pragma once\n#include "src/tensor/tensor.h"\n',
    "src/parallel/fsdp.h": '#pragma once\n#include "src/comm/communicator.h"\n',
    "src/model/llama.cpp": '#include "src/tensor/weight_provider.h"\n#include "src/base/error.h"\n',
    "src/optim/adamw.h": '#pragma once\n#include "kernels/adamw.h"\n',
    "src/data/store.h": "#pragma once\n#include <unistd.h>\n",
    "src/train/run/loop.cpp": '#include "src/model/llama.h"\n#include "src/optim/adamw.h"\n#include "src/data/store.h"\n',
    "src/model/llama.h": "#pragma once\n",
    "kernels/adamw.h": '#pragma once\n#include "src/device/device.h"\n',
    "kernels/cpu/gemm/gemm.cpp": '#include <oneapi/dnnl/dnnl.hpp>\n#include "kernels/cpu/gemm/gemm_plan.h"\n',
    "kernels/cpu/gemm/gemm_plan.h": "#pragma once\n",
    "jobs/octet_train.cpp": '#include "src/train/run/loop.h"\n#include "src/comm/communicator.h"\n',
    "src/train/run/loop.h": "#pragma once\n",
    "tests/comm/ring_test.cpp": '#include <gtest/gtest.h>\n#include <mpi.h>\n#include "kernels/cpu/gemm/gemm_plan.h"\n',
}

# file, text, what the message must say
PLANTED = [
    ("src/base/a.cpp", '#include "src/device/device.h"\n', "is in device, which base may not include"),
    ("src/tensor/a.cpp", '#include "src/ops/linear.h"\n', "is in ops, which tensor may not include"),
    ("kernels/a.cpp", '#include "src/tensor/tensor.h"\n', "is in tensor, which kernels may not include"),
    ("kernels/cpu/gemm/a.cpp", '#include "src/model/llama.h"\n', "is in model, which kernels may not include"),
    ("src/ops/a.cpp", '#include "src/comm/communicator.h"\n', "is in comm, which ops may not include"),
    ("src/comm/a.cpp", '#include "src/ops/linear.h"\n', "is in ops, which comm may not include"),
    ("src/model/a.cpp", '#include "src/parallel/fsdp.h"\n', "is in parallel, which model may not include"),
    ("src/model/b.cpp", '#include "src/comm/communicator.h"\n', "is in comm, which model may not include"),
    ("src/parallel/a.cpp", '#include "src/model/llama.h"\n', "is in model, which parallel may not include"),
    ("src/data/a.cpp", '#include "src/optim/adamw.h"\n', "is in optim, which data may not include"),
    ("src/optim/a.cpp", '#include "src/metrics/log.h"\n', "is in metrics, which optim may not include"),
    ("src/data/b.cpp", '#include "src/comm/communicator.h"\n', "is in comm, which data may not include"),
    ("src/metrics/b.cpp", '#include "src/model/llama.h"\n', "is in model, which metrics may not include"),
    ("src/model/c.cpp", "void f(Op& op) { op.kernels.rope(op.stream, {}); }\n", "calls a kernel (kernels.rope(...)"),
    ("src/metrics/a.cpp", '#include "src/data/store.h"\n', "is in data, which metrics may not include"),
    ("src/train/run/a.cpp", '#include "jobs/program.h"\n', "is in jobs, which train may not include"),
    ("src/tuning/a.cpp", '#include "src/train/run/loop.h"\n', "is in train, which tuning may not include"),
    ("src/run_config/options/a.h", '#pragma once\n#include "src/run_config/checks/a.h"\n',
     "is in src/run_config/checks, which src/run_config/options may not include"),
    ("src/run_config/checks/a.cpp", '#include "src/train/run/loop.h"\n', "is in train, which run_config may not include"),
    ("src/train/step/a.cpp", '#include "src/train/run/loop.h"\n', "is in src/train/run, which src/train/step may not include"),
    ("src/train/a.h", "#pragma once\n", "is in none of the folders of src/train"),
    ("kernels/cpu/layers/a.cpp", '#include "kernels/cpu/gemm/gemm_plan.h"\n',
     "is in kernels/cpu/gemm, which kernels/cpu/layers may not include"),
    ("kernels/cuda/b.cu", "", "is in none of the folders of kernels/cuda"),
    ("jobs/attic/a.cpp", "", "is in none of the folders of jobs"),
    ("jobs/ranks/a.cpp", '#include "jobs/dry_run/a.h"\n', "is in jobs/dry_run, which jobs/ranks may not include"),
    ("src/cluster/machine/a.cpp", '#include "src/cluster/a.h"\n', "is in src/cluster, which src/cluster/machine may not include"),
    ("src/cluster/a.cpp", '#include "src/cluster/doctor/a.h"\n', "is in src/cluster/doctor, which src/cluster may not include"),
    ("jobs/a.cpp", '#include "tests/support/a.h"\n', "is in tests, which jobs may not include"),
    ("src/train/run/b.cpp", '#include "kernels/cpu/gemm/gemm_plan.h"\n', "is private to kernels"),
    ("src/tensor/weight_provider.h", '#pragma once\n#include "src/comm/communicator.h"\n',
     "is in comm, which tensor may not include"),
    ("src/comm/mesh_shape.h", '#pragma once\n#include "src/comm/communicator.h"\n', "interface header"),
    ("src/tuning/b.cpp", '#include "src/comm/communicator.h"\n', "is in comm, which tuning may not include"),
    ("src/comm/b.cpp", '#include "communicator.h"\n', "is not written from the repository root"),
    ("src/comm/c.cpp", '#include "../tensor/tensor.h"\n', "is not written from the repository root"),
    ("src/comm/d.cpp", '  #  include "comm/communicator.h"\n', "is not written from the repository root"),
    ("src/comm/e.cpp", '#include "src/comm/missing.h"\n', "does not exist"),
    ("src/comm/f.h", '#include "src/base/error.h"\n', "has no #pragma once"),
    ("src/attic/a.h", "#pragma once\n", "is in no room"),
    ("src/parallel/b.cpp", "#include <mpi.h>\n", "mpi.h belongs in src/comm/mpi"),
    ("src/comm/self/a.cpp", "#include <mpi.h>\n", "mpi.h belongs in src/comm/mpi"),
    ("src/model/c.cpp", "#include <cuda_runtime.h>\n", "belongs in src/device/cuda"),
    ("src/train/run/c.cpp", "#include <hdf5.h>\n", "belongs in checkpoints/"),
    ("src/train/run/d.cpp", "#include <yaml-cpp/yaml.h>\n", "belongs in src/base/options"),
    ("src/base/b.cpp", "#include <boost/program_options.hpp>\n", "belongs in src/base/options"),
    ("src/ops/b.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n", "belongs in kernels/cpu/"),
    ("src/ops/c.cpp", "#include <dnnl.hpp>\n", "belongs in kernels/cpu/"),
    ("src/comm/g.cpp", "#include <gtest/gtest.h>\n", "belongs in tests/"),
    ("src/comm/h.cpp", "#include <lzma.h>\n", "is of no library in the table"),
]


class RoomsTest(unittest.TestCase):
    def violations(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            count, problems = rooms.check(root)
        self.assertEqual(count, len(files))
        return problems

    def test_accepts_what_the_table_allows(self):
        self.assertEqual(self.violations(CLEAN), [])

    def test_finds_each_planted_violation(self):
        for path, text, message in PLANTED:
            with self.subTest(path=path, text=text):
                problems = self.violations({**CLEAN, path: text})
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith(path + ":"), problems)
                self.assertIn(message, problems[0])

    def test_one_name_is_one_type(self):
        def header(space):
            return f"#pragma once\nnamespace {space} {{\nstruct Link;\nstruct Link {{\n}};\n}}\n"
        problems = self.violations({"src/base/a.h": header("octet"), "src/data/b.h": header("octet"),
                                    "src/optim/c.h": header("octet::other")})
        self.assertEqual(problems, ["src/data/b.h: octet::Link is defined in src/base/a.h too"])

    def test_one_name_is_one_header(self):
        once = "#pragma once\n"
        problems = self.violations({"src/base/a.h": once, "src/data/a.h": once, "kernels/norm.h": once,
                                    "src/ops/norm.h": once, "src/data/norm.h": once, "src/optim/A.h": once})
        self.assertEqual(problems, ["src/data/a.h: has the name of src/base/a.h",
                                    "src/data/norm.h: has the name of kernels/norm.h",
                                    "src/optim/A.h: has the name of src/base/a.h"])

    def test_finds_files_that_include_each_other(self):
        problems = self.violations({"src/base/a.h": "#pragma once\n",
                                    "src/base/a.cpp": '#include "src/base/a.h"\n#include "src/base/b.h"\n',
                                    "src/base/b.h": "#pragma once\n#include <string>\n",
                                    "src/base/b.cpp": '#include "src/base/b.h"\n#include "src/base/a.h"\n'})
        self.assertEqual(problems, ["src/base/a -> src/base/b -> src/base/a: include each other in a circle"])

    def test_finds_files_that_comments_name_and_are_gone(self):
        comments = """// See a.h, base/a.h, src/base/b.cpp (src/graph/topo.h of NCCL).
int a;  ///< as #include <nccl.h> has it; tail.h
const char* url = "https://gone.h";  // "it's" gone.cpp.
/* src/base/
   data/a.h */
"""
        problems = self.violations({"src/base/a.h": "#pragma once\n", "src/base/b.cpp": comments})
        self.assertEqual(problems, [f"src/base/b.cpp:{line}: the comment names {name}, which does not exist"
                                    for line, name in ((2, "tail.h"), (3, "gone.cpp"), (5, "data/a.h"))])

    def test_names_the_line(self):
        problems = self.violations({"src/base/a.cpp": '// one\n\n#include "src/base/gone.h"\n'})
        self.assertEqual(problems, ["src/base/a.cpp:3: src/base/gone.h does not exist"])

    def test_table_has_no_cycle_and_names_only_rooms(self):
        for table in (rooms.ROOMS, rooms.ALLOWED):
            for room, below in table.items():
                self.assertNotIn(room, rooms.reach(below, table))
        for folders in rooms.FOLDERS.values():
            for folder, below in folders.items():
                self.assertNotIn(folder, rooms.reach(below, folders))

    def test_each_room_of_the_table_has_a_folder(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        place = lambda room: room if room in rooms.OUTSIDE_SRC else f"src/{room}"
        folders = [place(room) for room in rooms.ROOMS]
        folders += [f"{place}/{folder}" for place, below in rooms.FOLDERS.items() for folder in below]
        self.assertEqual([folder for folder in folders if not os.path.isdir(os.path.join(root, folder))], [])


if __name__ == "__main__":
    unittest.main()
