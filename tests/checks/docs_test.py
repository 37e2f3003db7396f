#!/usr/bin/env python3
"""Proves that docs.py finds a path that is gone, and which words it takes for paths."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs  # noqa: E402


class DocsTest(unittest.TestCase):
    def test_words_that_are_paths(self):
        text = "See `src/base/error.h`, `configs/{models,runs}`, `build/cpu/bin/octet`, `a / b`, src/gone.h.\n" \
               "```\njobs/quickstart.sh --text FILE\nmpiexec -n 2 build/cpu/bin/octet-train configs/runs/a.yaml\n```\n" \
               "`octet_test(ROOM)` `README.md` `config.yaml` `tests/ROOM/` `metrics.jsonl` `src/device/cpu:12`"
        self.assertEqual([path for _, path in docs.paths(text)],
                         ["src/base/error.h", "configs/models", "configs/runs", "jobs/quickstart.sh",
                          "configs/runs/a.yaml", "README.md", "src/device/cpu"])

    def test_finds_what_is_gone(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "src"))
            with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as file:
                file.write("`src/`\n\nand `src/gone.h`\n")
            self.assertEqual(docs.check(root, ["README.md", "docs/b.md"]),
                             (2, ["README.md:3: src/gone.h does not exist", "docs/b.md: is missing"]))

    def test_finds_runs_without_a_directory(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as file:
                file.write("mpiexec -n 2 bin/octet-train a.yaml --run.dir runs/a\nbin/octet-train --help\n"
                           "`octet-train` trains\nmpiexec -n 2 bin/octet-train a.yaml\noctet-train a.yaml\n")
            self.assertEqual([p.partition(": ")[0] for p in docs.unnamed_runs(root, ["README.md"])],
                             ["README.md:4", "README.md:5"])

    def test_finds_code_that_is_not_in_the_source(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "a.cpp"), "w", encoding="utf-8") as file:
                file.write("void f() {\n  g(1,\n    2);\n}\n")
            with open(os.path.join(root, "page.md"), "w", encoding="utf-8") as file:
                file.write("One:\n\n```cpp\nvoid f() {\n  ...\n  g(1,\n2);\n```\n\nTwo:\n\n```cpp\ng(1,\ng(2,\n```\n\n```\nno code\n```\n")
            self.assertEqual(docs.quotes(root, ["page.md"]),
                             (5, ["page.md:14: g(2, stands in no .h or .cpp file"]))

    def test_finds_a_picture_of_other_rooms(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        self.assertEqual(docs.picture(root), [])
        import draw_rooms
        allowed = draw_rooms.rooms.ROOMS
        self.addCleanup(allowed.update, dict(allowed))
        allowed["cluster"] = ""
        self.assertEqual(docs.picture(root), ["docs/rooms.svg: is not what docs/draw_rooms.py draws; run it"])
        allowed["base"], allowed["device"] = "device", ""
        self.assertRegex(docs.picture(root)[0], "the arrow from base to device does not go down")


if __name__ == "__main__":
    unittest.main()
