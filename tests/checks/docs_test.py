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

    def test_finds_links_that_lead_nowhere(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "docs"))
            for name, text in (("README.md", "[a](docs/b.md#part) [b](https://a.b/c.md)\n[c](b.md)\n"),
                               ("docs/b.md", "[a](../README.md) [b](c.md)\n")):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(docs.check(root, ["README.md", "docs/b.md"]),
                             (4, ["README.md:2: the link b.md leads nowhere", "docs/b.md:1: the link c.md leads nowhere"]))

    def test_finds_headings_that_are_gone(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "docs"))
            for name, text in (("README.md", "# Why not 1.25, and `a_b`\n\n[a](#why-not-125-and-a_b) [b](#gone)\n"
                                             "[c](docs/b.md#part) [d](docs/b.md#part-1)\n[e](docs/b.md#part-2) [f](docs/b.md#code)\n"
                                             "[g](docs/gone.md#part) [h](https://a.b/c#d)\n"),
                               ("docs/b.md", "## Part\n\n### [Part](../README.md)\n\n```\n# code\n```\n")):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(docs.lost_anchors(root, ["README.md", "docs/b.md"]),
                             ["README.md:3: this page has no heading #gone", "README.md:5: docs/b.md has no heading #part-2",
                              "README.md:5: docs/b.md has no heading #code"])

    def test_finds_blocks_of_code_that_are_torn(self):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (("whole.md", "```\na\n```\n\n```cpp\nb\n```\n"), ("headless.md", "a\n```\n\n```cpp\nb\n```\n"),
                               ("endless.md", "```\na\n```\n```sh\nb\n")):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(docs.torn_blocks(root, ["whole.md", "headless.md", "endless.md"]),
                             ["headless.md:4: a block of code begins within that of line 2",
                              "endless.md:4: a block of code without an end"])

    def unsaid(self, *messages):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (("a.cpp", 'f("cannot read {} on {} "\n  "of {} host(s)");\n' + "\n" * 500 + 'g("at {}");\n'),
                               ("b.cpp", 'h("as {}");\n'),
                               ("docs/problems.md", "### A\n\n" + ", or ".join(f"`{m}`" for m in messages) + ". See `x`.\n")):
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return docs.messages_quoted(root)

    def test_finds_messages_that_nothing_says(self):
        self.assertEqual(self.unsaid("cannot read PATH on N of M host(s)"), [])
        for message in ("cannot open it",
                        "cannot read N host(s) on M of ...",  # in another order
                        "cannot read PATH at N",              # of two messages
                        "cannot read PATH as N"):             # of two sources
            with self.subTest(message=message):
                self.assertEqual(self.unsaid("cannot read PATH on N", message), [f'docs/problems.md: no source says "{message}"'])

    def test_finds_scripts_that_nobody_may_execute(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "jobs"))
            for name, mode in (("may.sh", 0o755), ("not.sh", 0o644), ("not.py", 0o644)):
                with open(os.path.join(root, "jobs", name), "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n")
                os.chmod(file.name, mode)
            with open(os.path.join(root, "page.md"), "w", encoding="utf-8") as file:
                file.write("See `jobs/not.sh`, or run `jobs/not.sh --all`.\n\n    A=1 jobs/not.py 3\n    python3 jobs/not.py 3\n    jobs/may.sh 1\n")
            self.assertEqual(docs.not_startable(root, ["page.md"]),
                             ["page.md:1: jobs/not.sh is started, and is not executable",
                              "page.md:3: jobs/not.py is started, and is not executable"])

    def test_finds_runs_without_a_directory(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as file:
                file.write("mpiexec -n 2 bin/octet-train a.yaml --run.dir runs/a\nbin/octet-train --help\n"
                           "`octet-train` trains\nmpiexec -n 2 bin/octet-train a.yaml\noctet-train a.yaml\n")
            self.assertEqual([p.partition(": ")[0] for p in docs.unnamed_runs(root, ["README.md"])],
                             ["README.md:4", "README.md:5"])

    def test_finds_headings_that_are_none_and_that_nobody_names(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("docs", docs.BODY):
                os.makedirs(os.path.join(root, folder))
            files = {"docs/problems.md": "# P\n\n### A b\n\n### C\n\n`own`.\n\n### E\n\n### F\n\n`No space left on device`.\n",
                     docs.BODY + "/1.sh": 'say "x" \\\n  "(docs/problems.md, \\"E\\")"\n',
                     "a.cpp": 'throw e("x (docs/problems.md, \\"A "\n    "b\\")", 1);\nthrow e("(docs/problems.md, \\"D\\")");\n'}
            for name, text in files.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(docs.problems_named(root), ['a.cpp: names "D", which is no heading of docs/problems.md',
                                                         'docs/problems.md: no message names "C"'])

    def misquoted(self, page, **more):
        files = {"a.cpp": "void f() {\n  // why\n  g(1,\n\n    2);\n  h();\n}\n", "b.h": "void k();\n", "page.md": page, **more}
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "tests"))
            for name, text in files.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return docs.quotes(root, ["page.md"])

    def test_accepts_code_that_is_in_one_source(self):
        self.assertEqual(self.misquoted("One:\n\n```cpp\nvoid f() {\ng(1,\n2);\n...\n}\n```\n\n```cpp\n...\nvoid k();\n```\n\n```\nno code\n```\n"),
                         (5, []))

    def test_finds_code_that_is_not_in_the_source(self):
        gone = "the block, in this order, stands in no .h or .cpp file"
        for block, message in (("g(1,\ng(2,\n", "g(2, stands in no .h or .cpp file"),
                               ("2);\ng(1,\n", gone),               # swapped
                               ("h();\n...\ng(1,\n", gone),         # swapped around dots
                               ("void f() {\n2);\n", gone),         # without dots for what was left out
                               ("h();\n...\nvoid k();\n", gone)):   # of two files
            with self.subTest(block=block):
                self.assertEqual(self.misquoted(f"One:\n\n```cpp\n{block}```\n")[1], [f"page.md:3: {message}"])
        self.assertEqual(self.misquoted("```cpp\nt();\n```\n", **{"tests/t.cpp": "t();\n"})[1],
                         ["page.md:1: t(); stands in no .h or .cpp file"])

    def test_finds_pages_without_code(self):
        for page in ("no block\n", "```cpp\n...\n```\n"):
            self.assertEqual(self.misquoted(page), (0, ["page.md: quotes no code"]))

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
