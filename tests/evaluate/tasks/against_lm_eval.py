#!/usr/bin/env python3
"""octet-evaluate --tasks against the real lm-eval-harness with its `hf` model, on one Hugging Face folder.

Usage: tests/evaluate/tasks/against_lm_eval.py OCTET_EVALUATE FOLDER [ROWS [SHOTS]]      (needs PyPI's lm-eval, torch, transformers)

Makes in FOLDER datasets (make_datasets.py, 500 rows a task if not told otherwise) and a small Llama with random weights in
float32, imports it and exports it again with `octet checkpoint`, and compares on that export acc, acc_norm, their standard
errors and every log-likelihood of the eight tasks. Prints a line a task; exit 1 where a log-likelihood differs by more than
1e-4, or 4e-7 of itself, or another number by more than 1e-9; exit 77 without these packages. Random choices are near each
other in likelihood, so that a wrong token would show.
"""
import json
import pathlib
import shutil
import subprocess
import sys

try:
    import torch
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name} (pip install lm-eval torch transformers; OCTET_PYTHON names another)")
    sys.exit(77)

import lm_eval_requests
import make_datasets

WINDOW = 256


def make_model(folder):
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=512, hidden_size=96, intermediate_size=200, num_hidden_layers=3, num_attention_heads=6,
                         num_key_value_heads=2, max_position_embeddings=WINDOW, initializer_range=0.15, bos_token_id=0,
                         eos_token_id=1, tie_word_embeddings=False, rms_norm_eps=1e-5)
    LlamaForCausalLM(config).float().save_pretrained(folder)
    file = lm_eval_requests.ROOT / "tests/tokenizer/golden/bpe-512.json"
    PreTrainedTokenizerFast(tokenizer_file=str(file), bos_token="<|begin_of_text|>",
                            eos_token="<|end_of_text|>").save_pretrained(folder)


def export(octet, folder):
    """FOLDER/model through a checkpoint to FOLDER/export, with the tokenizer's files."""
    checkpoint = folder / "run/checkpoints/step-000000"
    checkpoint.parent.mkdir(parents=True)
    for arguments in (["import", folder / "model", checkpoint], ["export", checkpoint, folder / "export", "--max-positions", str(WINDOW)]):
        subprocess.run([octet, "checkpoint", *arguments], check=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / "model" / name, folder / "export")
    return folder / "export"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    rows = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    shots = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    subjects = lm_eval_requests.SUBJECTS
    shutil.rmtree(folder, ignore_errors=True)
    make_datasets.make(folder / "data", rows, subjects)
    make_model(folder / "model")
    model_folder = export(pathlib.Path(program).with_name("octet"), folder)
    names = [*lm_eval_requests.TASKS, *(f"mmlu_{s}" for s in subjects)]
    out = folder / f"octet-{shots}"
    subprocess.run([program, model_folder, "--precision", "fp32", "--tasks", ",".join(names), "--task-data",
                    folder / "data", "--shots", str(shots), "--output", out], check=True)
    ours = json.loads((out / "results.json").read_text())["results"]
    model = HFLM(pretrained=str(model_folder), dtype="float32", device="cpu", batch_size=16, max_length=WINDOW)
    tasks = [lm_eval_requests.task_of(name, folder, shots) for name in names]
    theirs = simple_evaluate(model, tasks=tasks, log_samples=True, bootstrap_iters=100)
    wrong = 0
    for name in names:
        lines = [json.loads(line) for line in open(out / f"samples_{name}.jsonl")]
        samples = sorted(theirs["samples"][name], key=lambda s: s["doc_id"])
        assert len(lines) == len(samples)
        pairs = [(float(a[0]), b) for s, line in zip(samples, lines)
                 for a, b in zip(s["filtered_resps"], line["loglikelihoods"], strict=True)]
        furthest = max(abs(a - b) for a, b in pairs)
        numbers = {k: v for k, v in theirs["results"][name].items() if k.startswith("acc")}
        others = [k for k, v in numbers.items() if abs(ours[name][k] - v) > 1e-9]
        wrong += bool(others) or any(abs(a - b) > max(1e-4, 4e-7 * abs(a)) for a, b in pairs)
        print(f"{name:30} {len(lines):5} questions, acc {numbers['acc,none']:.4f}: log-likelihoods within {furthest:.1e}, "
              + (f"different: {', '.join(others)}" if others else f"{len(numbers)} numbers equal"))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
