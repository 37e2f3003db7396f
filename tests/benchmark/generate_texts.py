#!/usr/bin/env python3
"""Tokens/s of generation: octet generate beside transformers in fp32 and bf16, by turns, on the CPU.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/benchmark/generate_texts.py --octet build/cpu/bin/octet [--size 160m] [--rounds 3] [--threads 2]

A Llama with random weights writes on behind a prompt, greedily, a text at a time. transformers computes token by token with
its cache, in a loop without what generate() does beside; the faster precision counts. Loading, the prompt and the first token
are not counted on either side; how fast the prompt goes through is told apart. Prints medians and ratios.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

SIZES = {
    "160m": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, num_key_value_heads=4, intermediate_size=2048, vocab_size=32000),
    "500m": dict(hidden_size=1280, num_hidden_layers=20, num_attention_heads=20, num_key_value_heads=4, intermediate_size=3584, vocab_size=32000),
    "1b": dict(hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, intermediate_size=8192, vocab_size=32000),
}


def by_transformers(model, prompt, tokens):
    """(tokens/s of the prompt, of what is behind it)"""
    cache, start = DynamicCache(config=model.config), time.perf_counter()
    with torch.inference_mode():
        token = model(torch.tensor([prompt]), past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1].argmax(-1, keepdim=True)
        first = time.perf_counter()
        for _ in range(tokens):
            token = model(token, past_key_values=cache, use_cache=True).logits[:, -1].argmax(-1, keepdim=True)
    return len(prompt) / (first - start), tokens / (time.perf_counter() - first)


def by_octet(arguments, folder, prompt, precision):
    command = [arguments.octet, "generate", str(folder), "--tokenizer", "bytes", "--prompt", "".join(map(chr, prompt)), "--tokens", str(arguments.tokens + 1), "--precision", precision, "--threads", str(arguments.threads)]
    done = subprocess.run(command, check=True, capture_output=True, env={k: v for k, v in os.environ.items() if not k.startswith("OMP_")})
    text = done.stderr.decode()
    speed = lambda what: re.search(what + r": (\d+) tokens.* ([\d.]+) tokens/s", text)
    if int(speed("generated")[1]) != arguments.tokens + 1:  # the first comes with the prompt
        raise RuntimeError(f"{speed('generated')[1]} tokens were generated instead of {arguments.tokens}")
    return float(speed("prompt")[2]), float(speed("generated")[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", required=True)
    parser.add_argument("--size", choices=SIZES, default="160m")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=128, help="tokens")
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    config = LlamaConfig(max_position_embeddings=4096, bos_token_id=None, eos_token_id=None, tie_word_embeddings=False, **SIZES[arguments.size])
    model = LlamaForCausalLM(config).eval()
    prompt = [97 + i * i % 25 for i in range(arguments.prompt)]
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        models = {"fp32": model, "bf16": LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()}
        speeds = {}
        for _ in range(arguments.rounds):
            for precision in ("fp32", "bf16", "float8"):
                speeds.setdefault(("octet", precision), []).append(by_octet(arguments, folder, prompt, precision))
            for precision, of_torch in models.items():
                speeds.setdefault(("transformers", precision), []).append(by_transformers(of_torch, prompt, arguments.tokens))
    print(f"{arguments.size}, {sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters, {arguments.threads} threads: {arguments.prompt} tokens of prompt, {arguments.tokens} behind it")
    for place, what in enumerate(("prompt", "generated")):
        medians = {key: statistics.median(v[place] for v in all) for key, all in speeds.items()}
        best = max(value for key, value in medians.items() if key[0] == "transformers")
        for key, value in medians.items():
            of = f"{value / best:.2f} of the best transformers" if key[0] == "octet" else ""
            print(f"  {what:9} {' '.join(key):18} {value:9.1f} tokens/s  {of}")


if __name__ == "__main__":
    main()
