#!/usr/bin/env python3
"""From JSONL to token files: octet prepare beside Hugging Face's tokenizers, tiktoken, and what Megatron's
tools/preprocess_data.py does (its reader, a pool of processes that get 32 lines at a time, one writer of .bin and .idx,
with Hugging Face's tokenizers and an end-of-document token). All in one run; MB are 10^6 bytes of the documents' text.

Usage: tests/benchmark/prepare.py OCTET INPUT.jsonl[.zst] TOKENIZER.json [--threads 1 2] [--repeat 3]
Needs PyPI's tokenizers, tiktoken and numpy, and zstd for a packed input. Prints a table, each value the best of the runs.
"""
import argparse
import base64
import json
import multiprocessing
import os
import pathlib
import struct
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy  # noqa: E402
import tiktoken  # noqa: E402
import tokenizers  # noqa: E402

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")


def lines_of(path):
    """As a stream, unpacked by zstd where that is needed."""
    if path.suffix in (".zst", ".zstd"):
        with subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE) as process:
            yield from process.stdout
    else:
        with open(path, "rb") as file:
            yield from file


def alphabet():
    """The byte-level alphabet of tokenizer.json: character to byte."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in kept]
    return {chr(b): b for b in kept} | {chr(0x100 + i): b for i, b in enumerate(others)}


def ranks_of(tokenizer_file):
    vocab = json.loads(pathlib.Path(tokenizer_file).read_text())["model"]["vocab"]
    table = alphabet()
    spelled = sorted((i, bytes(table[c] for c in text)) for text, i in vocab.items() if all(c in table for c in text))
    return {text: rank for rank, (_, text) in enumerate(spelled)}


def start(kind, tokenizer_file):
    """In each process: the function that encodes a line."""
    global encode_line
    if kind == "tiktoken":
        encoding = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks_of(tokenizer_file), special_tokens={})
        encode = encoding.encode_ordinary
    else:
        tokenizer = tokenizers.Tokenizer.from_file(tokenizer_file)
        tokenizer.encode_special_tokens = True
        encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids  # noqa: E731

    def encode_line(line):
        text = json.loads(line)["text"]
        return encode(text), len(text.encode())


def call(line):
    return encode_line(line)


def megatron_like(kind, path, tokenizer_file, threads, prefix):
    sizes, offset, offsets = [], 0, []
    with open(prefix + ".bin", "wb") as out, multiprocessing.Pool(threads, start, (kind, tokenizer_file)) as pool:
        for ids, _ in pool.imap(call, lines_of(path), 32):
            tokens = numpy.array([*ids, 0], dtype=numpy.uint16)
            out.write(tokens.tobytes())
            sizes.append(len(tokens))
            offsets.append(offset)
            offset += tokens.nbytes
    with open(prefix + ".idx", "wb") as out:
        out.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, len(sizes), len(sizes) + 1))
        for values, dtype in ((sizes, numpy.int32), (offsets, numpy.int64), (range(len(sizes) + 1), numpy.int64)):
            out.write(numpy.array(values, dtype=dtype).tobytes())


def in_one_thread(kind, path, tokenizer_file):
    start(kind, tokenizer_file)
    for line in lines_of(path):
        encode_line(line)


def octet(program, path, tokenizer_file, threads, prefix):
    subprocess.run([program, "prepare", "--input", path, "--output", prefix, "--tokenizer", tokenizer_file, "--overwrite",
                    "--workers", str(threads)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("octet")
    parser.add_argument("input", type=pathlib.Path)
    parser.add_argument("tokenizer")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    text = sum(len(json.loads(line)["text"].encode()) for line in lines_of(given.input))
    print(f"{text / 1e6:.1f} MB of text; tokenizers {tokenizers.__version__}, tiktoken {tiktoken.__version__}")

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = f"{folder}/octet", f"{folder}/megatron"
        runs = []
        for n in given.threads:
            runs.append((f"octet prepare --workers {n}", lambda n=n: octet(given.octet, given.input, given.tokenizer, n, ours)))
        for kind in ("tokenizers", "tiktoken"):
            runs.append((f"{kind}, one thread, nothing written", lambda k=kind: in_one_thread(k, given.input, given.tokenizer)))
        for n in given.threads:
            runs.append((f"as preprocess_data, {n} worker{'s' * (n > 1)}",
                         lambda n=n: megatron_like("tokenizers", given.input, given.tokenizer, n, theirs)))
        best = {}
        for _ in range(given.repeat):  # all by turns, so that what else the machine does is the same for all
            for name, run in runs:
                begin = time.perf_counter()
                run()
                best[name] = min(best.get(name, 1e9), time.perf_counter() - begin)
        for name, seconds in best.items():
            print(f"{name:<45} {text / seconds / 1e6:8.1f} MB/s")
        # The end-of-document token is another one; all else has to be the same.
        a, b = (numpy.fromfile(f"{p}.bin", dtype=numpy.uint16) for p in (ours, theirs))
        sizes = numpy.fromfile(f"{theirs}.idx", dtype=numpy.int32, offset=34, count=sum(1 for _ in lines_of(given.input)))
        ends = numpy.cumsum(sizes) - 1
        if len(a) != len(b):
            raise SystemExit(f"other ids: {len(a)} and {len(b)} tokens")
        b[ends] = a[ends]
        print("ids are the same" if (a == b).all() else "ids differ")


if __name__ == "__main__":
    main()
