#!/usr/bin/env python3
"""Proves that comments.py finds names that are gone, and which words it takes for names."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import comments  # noqa: E402


class CommentsTest(unittest.TestCase):
    def test_words_that_are_names(self):
        text = "int a;  // `a`, `b()` and `C::d`, not `a + b`, `run.dir` or `src/a.h`\n" \
               "/// See (plan_run) and (E::f()), not (tests), (see g_h) or (a_test.cpp).\n" \
               "const char* s = \"`no_comment`\";  // https://a.b/`c`\n"
        self.assertEqual(list(comments.names(text)),
                         [(1, "a"), (1, "b"), (1, "C::d"), (2, "plan_run"), (2, "E::f"), (3, "c")])

    def test_finds_names_that_are_gone(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("src", "kernels", "tests"):
                os.mkdir(os.path.join(root, folder))
            for name, text in (("src/a.h", "/// `there`, `option`, `A::there`\n/// `gone` (was_here)\nvoid there();\n"),
                               ("kernels/b.cu", "struct A {};  // `A::gone_too`, for one\n"),
                               ("tests/c_test.cpp", "// `of_tests` is not looked at\n"),
                               ("src/d.yaml", "option: 1  # gone_from_code\n")):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            subprocess.run(["git", "-C", root, "init", "-q"], check=True)
            count, problems = comments.check(root)
            self.assertEqual(count, 6)
            self.assertEqual(sorted(problems),
                             ["kernels/b.cu:1: no code has the name A::gone_too", "src/a.h:2: no code has the name gone",
                              "src/a.h:2: no code has the name was_here"])


if __name__ == "__main__":
    unittest.main()
