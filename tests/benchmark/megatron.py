#!/usr/bin/env python3
"""Runs Megatron-LM's own tools/preprocess_data.py beside octet prepare on one JSONL file with one tokenizer.json, compares
both files to the byte, and opens octet's with Megatron's IndexedDataset. Megatron adds what the tokenizer's
post-processor adds, so octet is given --bos. Needs a Python with torch, transformers, tokenizers, numpy.

Usage: tests/benchmark/megatron.py OCTET MEGATRON_FOLDER INPUT.jsonl TOKENIZER.json [--workers N ...]
"""
import argparse
import filecmp
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# Megatron asks Python 3.12's typing for `override`.
START = """import runpy, sys, typing, typing_extensions
typing.override = getattr(typing, "override", typing_extensions.override)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
READ = """import sys, typing, typing_extensions
typing.override = getattr(typing, "override", typing_extensions.override)
from megatron.core.datasets.indexed_dataset import IndexedDataset
data = IndexedDataset(sys.argv[1])
print(len(data), sum(len(data[i]) for i in range(len(data))))
"""


def timed(*command, **options):
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return time.monotonic() - begin, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("octet", "megatron", "input", "tokenizer"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    o = parser.parse_args()
    megabytes = o.input.stat().st_size / 1e6
    environment = {"PYTHONPATH": str(o.megatron), "PATH": "/usr/bin:/bin"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(o.tokenizer, folder / "tokenizer.json")
        (folder / "tokenizer_config.json").write_text(
            '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end_of_text|>"}')
        for workers in o.workers:
            ours, _ = timed(o.octet, "prepare", "--input", o.input, "--tokenizer", folder, "--bos", "--workers", str(workers),
                            "--overwrite", "--output", folder / "ours")
            theirs, _ = timed(sys.executable, "-c", START, o.megatron / "tools/preprocess_data.py", "--input", o.input,
                              "--json-keys", "text", "--tokenizer-type", "HuggingFaceTokenizer", "--tokenizer-model", folder,
                              "--output-prefix", folder / "theirs", "--workers", str(workers), "--append-eod",
                              env=environment)
            for end in ("bin", "idx"):
                if not filecmp.cmp(folder / f"ours.{end}", folder / f"theirs_text_document.{end}", shallow=False):
                    sys.exit(f"{workers} workers: the .{end} files differ")
            print(f"{workers} workers: the same .bin and .idx; octet {megabytes / ours:.1f} MB/s, Megatron "
                  f"{megabytes / theirs:.2f} MB/s with its start")
        _, text = timed(sys.executable, "-c", READ, folder / "ours", env=environment)
        print("Megatron's IndexedDataset reads documents and tokens:", text.strip())


if __name__ == "__main__":
    main()
