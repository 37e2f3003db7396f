#!/usr/bin/env python3
"""Proves that writes.py finds violations: each is planted in a small tree of its own."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import writes  # noqa: E402

PLANTED = [
    "std::ofstream file(path);",
    "std::fstream file(path, std::ios::out);",
    "const ssize_t n = ::write(file, data, bytes);",
    "while (write(file.get(), data, bytes) > 0) {",
    "return write(fd, data, bytes);",
    "::pwrite(handle->get(), data, bytes, offset);",
    "::writev(file, parts, 2);",
    "std::fwrite(data, 1, bytes, file);",
    "FILE* file = std::fopen(path, \"wb\");",
    "const FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));",
]
CLEAN = [
    "std::ifstream file(path);",
    "void CommTrace::write(const std::string& path) const {",
    "metrics_->write(metrics);",
    "write(directory_.profile(rank), text);",
    "if (!write_all(file.get(), text)) throw failed(path);",
    "std::fwrite(data, 1, bytes, stdout);",
    "// as ::write(file) does",
]


class Writes(unittest.TestCase):
    def found(self, line, path="src/base/a.cpp"):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write("#include <string>\n" + line + "\n")
            return list(writes.violations(root))

    def test_each_is_found(self):
        for line in PLANTED:
            self.assertEqual(len(self.found(line)), 1, line)
            self.assertIn("src/base/a.cpp:2: ", self.found(line)[0])

    def test_nothing_else_is(self):
        for line in CLEAN:
            self.assertEqual(self.found(line), [], line)
        self.assertEqual(self.found(PLANTED[2], "src/base/files.cpp"), [])
        self.assertEqual(self.found(PLANTED[2], "tests/base/a.cpp"), [])

    def test_folders_without_sources_are_a_failure(self):
        with tempfile.TemporaryDirectory() as root, mock.patch("sys.argv", ["writes.py", root]):
            for folder in writes.FOLDERS:
                os.makedirs(os.path.join(root, folder, "base"))
                with open(os.path.join(root, folder, "base", "a.h"), "w", encoding="utf-8") as file:
                    file.write(CLEAN[0] + "\n")
            self.assertEqual(self.result(), (0, "all writes go through src/base/files.h\n"))
            os.rename(os.path.join(root, "kernels/base/a.h"), os.path.join(root, "kernels/base/a.md"))
            self.assertEqual(self.result(), (1, "kernels: expected sources there, found none\n"))

    def result(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return writes.main(), out.getvalue()


if __name__ == "__main__":
    unittest.main()
