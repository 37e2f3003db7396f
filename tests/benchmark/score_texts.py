#!/usr/bin/env python3
"""Tokens/s of scoring texts: octet-evaluate beside transformers in fp32 and bf16, by turns, on the CPU.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/benchmark/score_texts.py --octet build/cpu/bin/octet-evaluate [--rounds 3] [--threads 2] [--ranks 2]

A Llama with random weights scores made-up documents of two kinds: `short`, as long as a question with a choice
(20 to 140 tokens), and `long`, in windows of the model's length. transformers computes as lm-eval-harness's `hf` model
does: sorted by length, padded batches, log-softmax of all logits in float32; of several batch sizes the best one counts.
Both have `--threads` threads: Octet's are shared out over `--ranks` ranks (1), which deal the documents between them.
Loading is not counted on either side. The likelihoods of the two are compared. Prints medians and ratios.
"""
import argparse
import json
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WINDOW, BOS, VOCAB = 512, 1, 8192
SHAPE = dict(hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4, intermediate_size=1408, vocab_size=VOCAB)


def write_token_file(prefix, documents):
    """Megatron's pair (src/data/token_type.h), of uint16."""
    with open(f"{prefix}.bin", "wb") as file:
        for document in documents:
            file.write(struct.pack(f"<{len(document)}H", *document))
    offsets, at = [], 0
    for document in documents:
        offsets.append(at)
        at += 2 * len(document)
    n = len(documents)
    with open(f"{prefix}.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, n, n + 1))
        file.write(struct.pack(f"<{n}i", *map(len, documents)) + struct.pack(f"<{n}q", *offsets) + struct.pack(f"<{n + 1}q", *range(n + 1)))


def windows(documents):
    """(context, continuation), as lm-eval rolls them."""
    for document in documents:
        for first in range(0, len(document), WINDOW):
            end = min(len(document), first + WINDOW)
            yield ([BOS] if first == 0 else document[max(0, end - WINDOW - 1):first], document[first:end])


def by_transformers(model, requests, batch):
    """(sum of log-likelihoods, seconds)"""
    inputs = sorted((((c + k)[:-1], k) for c, k in requests), key=lambda pair: -len(pair[0]))
    total, start = 0.0, time.perf_counter()
    with torch.inference_mode():
        for at in range(0, len(inputs), batch):
            part = inputs[at:at + batch]
            longest = len(part[0][0])
            tokens = torch.zeros(len(part), longest, dtype=torch.long)
            for row, (tokens_in, _) in enumerate(part):
                tokens[row, :len(tokens_in)] = torch.tensor(tokens_in)
            logits = torch.log_softmax(model(tokens).logits.float(), dim=-1)
            for row, (tokens_in, continuation) in enumerate(part):
                places = torch.arange(len(tokens_in) - len(continuation), len(tokens_in))
                total += logits[row, places, torch.tensor(continuation)].sum().item()
    return total, time.perf_counter() - start


def by_octet(arguments, folder, prefix, precision):
    ranks = ["mpiexec", "-n", str(arguments.ranks)] if arguments.ranks > 1 else []
    out = pathlib.Path(f"{prefix}-{precision}")  # results of another precision would be refused
    command = [*ranks, arguments.octet, str(folder), "--data", prefix, "--window", str(WINDOW), "--precision", precision,
               "--threads", str(arguments.threads // arguments.ranks), "--output", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    r = results["results"]["data"]
    return -r["loss"] * r["tokens"], results["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--short", type=int, default=300, help="number of documents")
    parser.add_argument("--long", type=int, default=12, help="documents of four windows")
    arguments = parser.parse_args()
    if arguments.threads % arguments.ranks != 0:
        parser.error(f"--threads {arguments.threads} cannot be shared out evenly over --ranks {arguments.ranks}")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    random.seed(1)
    config = LlamaConfig(max_position_embeddings=WINDOW, bos_token_id=0, eos_token_id=0, tie_word_embeddings=False, **SHAPE)
    model = LlamaForCausalLM(config).eval()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model.save_pretrained(folder)
        models = {"fp32": model, "bf16": LlamaForCausalLM(config).bfloat16().eval()}
        models["bf16"].load_state_dict(model.state_dict())
        text = lambda length: [random.randrange(2, VOCAB) for _ in range(length)]
        sets = {"short": [text(random.randint(20, 140)) for _ in range(arguments.short)], "long": [text(4 * WINDOW) for _ in range(arguments.long)]}
        for kind, documents in sets.items():
            write_token_file(folder / kind, documents)
            requests = [([0] if len(c) == 1 and c[0] == BOS else c, k) for c, k in windows(documents)]
            tokens = sum(len(c) + len(k) - 1 for c, k in requests)
            speeds, sums = {}, {}
            for _ in range(arguments.rounds):
                for precision in ("fp32", "bf16", "float8"):
                    sums["octet", precision], speed = by_octet(arguments, folder, str(folder / kind), precision)
                    speeds.setdefault(("octet", precision), []).append(speed)
                for precision, of_torch in models.items():
                    for batch in (4, 16) if kind == "long" else (8, 32):
                        sums["transformers", precision], seconds = by_transformers(of_torch, requests, batch)
                        speeds.setdefault(("transformers", precision, batch), []).append(tokens / seconds)
            print(f"{kind}: {len(documents)} documents, {tokens} tokens")
            medians = {key: statistics.median(values) for key, values in speeds.items()}
            best = max(value for key, value in medians.items() if key[0] == "transformers")
            for key, value in medians.items():
                of = f"{value / best:.2f} of the best transformers" if key[0] == "octet" else ""
                print(f"  {' '.join(map(str, key)):26} {value:9.0f} tokens/s  {of}")
            for key, value in sums.items():
                print(f"  {' '.join(key):26} mean log-likelihood {value / tokens:.6f}")


if __name__ == "__main__":
    main()
