#!/usr/bin/env python3
"""What transformers generates behind some prompts, greedily and with its cache, by the models of make_golden.py.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/evaluate/make_generated.py [FOLDER]      (tests/evaluate/golden)

Of each case FOLDER/CASE, a Hugging Face folder that is there, it writes generated.json: prompts, each with the tokens
behind it and the logits of the last of them, in float32. tests/evaluate/generator_test.cpp compares.
"""
import json
import pathlib
import random
import sys

import torch
from transformers import LlamaForCausalLM


def generate(model, prompt, window):
    with torch.no_grad():
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False, use_cache=True, max_new_tokens=window - len(prompt), eos_token_id=None, pad_token_id=0,
                             output_logits=True, return_dict_in_generate=True)
    return {"prompt": prompt, "tokens": out.sequences[0, len(prompt):].tolist(), "last_logits": out.logits[-1][0].tolist()}


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "golden")
    for case in sorted(p.parent for p in folder.glob("*/config.json")):
        random.seed(7)
        model = LlamaForCausalLM.from_pretrained(case, dtype=torch.float32).eval()
        vocab, window = model.config.vocab_size, model.config.max_position_embeddings
        prompts = [[random.randrange(vocab) for _ in range(length)] for length in (1, 2, 5, 9, 14, window - 1)]
        results = [generate(model, prompt, window) for prompt in prompts]
        (case / "generated.json").write_text(json.dumps(results, separators=(",", ":")).replace('{"prompt"', '\n{"prompt"') + "\n")


main()
