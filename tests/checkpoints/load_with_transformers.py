#!/usr/bin/env python3
"""Loads what `octet checkpoint export` wrote with Hugging Face's transformers and compares its loss with Octet's.

Usage: tests/checkpoints/load_with_transformers.py FOLDER TOKENS LOSS [TOLERANCE]
  FOLDER     the exported folder
  TOKENS     JSON: a list of windows, each a list of token ids; every token but the first of a window is predicted
  LOSS       Octet's mean loss on them, in nats a token
  TOLERANCE  largest |difference| / LOSS that is accepted, 1e-5

Exit 0 when they agree, 1 when not, 77 with a reason when transformers is not installed.
tests/jobs/transformers_test.cpp trains a small model, exports it and calls this. By hand, any run's folder will do.
"""
import json
import sys

try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BATCH = 32  # windows at a time


def load(folder):
    model, info = transformers.LlamaForCausalLM.from_pretrained(
        folder, torch_dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info.get(what):
            sys.exit(f"{what}: {sorted(map(str, info[what]))}")
    if any(p.dtype != torch.float32 for p in model.parameters()):
        sys.exit("the weights were not loaded in fp32")
    return model.eval()


def mean_loss(model, windows):
    total = count = 0
    with torch.no_grad():
        for begin in range(0, len(windows), BATCH):
            tokens = torch.tensor(windows[begin:begin + BATCH])
            logits = model(tokens[:, :-1]).logits.double()
            losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")
            total += losses.item()
            count += tokens[:, 1:].numel()
    return total / count


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        windows = json.load(file)
    expected, tolerance = float(sys.argv[3]), float(sys.argv[4]) if len(sys.argv) == 5 else 1e-5
    found = mean_loss(load(sys.argv[1]), windows)
    difference = abs(found - expected) / abs(expected)
    print(f"transformers {transformers.__version__}: loss {found:.9f}, Octet {expected:.9f}, relative difference "
          f"{difference:.2e} on {len(windows)} windows")
    sys.exit(0 if difference <= tolerance else 1)  # NaN is no agreement


if __name__ == "__main__":
    main()
