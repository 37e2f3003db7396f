#!/usr/bin/env python3
"""octet-evaluate --tasks against the real lm-eval-harness with its `hf` model, on the same Hugging Face folders.

Usage: tests/evaluate/tasks/against_lm_eval.py OCTET_EVALUATE FOLDER [--rows N] [--shots N,...] [--shapes NAME,...]
           [--tasks REGEX] [--limit N] [--batch N] [--float64]       (needs PyPI's lm-eval, torch, transformers)

Makes in FOLDER datasets (make_datasets.py) and small Llamas with random weights in float32, one of each shape below, imports
each and exports it again with `octet checkpoint`. On that export it compares acc, acc_norm, acc_bytes, their standard errors,
the likeliest choice of every question and every log-likelihood, of lm-eval's eight tasks and an own one (without examples).
Random choices are near each other in likelihood, so that a wrong token would show.

Beside the tasks stand documents and their rolling log-likelihood (`rolling`, rolling_texts.py). --limit asks the first N questions
of each task alone, in both.

Prints a row of a table for each shape, count of examples and task: questions, choices, the largest difference of two
log-likelihoods; with --float64 also the largest distance of either from transformers in float64. Exit 1 where ours is more than
1e-4 from float64, or without --float64 from lm-eval's (or 4e-7 of itself: a float32 that is a sum of hundreds of nats has no
more digits), or another number differs by more than 1e-9, or a likeliest choice that no other is within 1e-4 of; exit 77 without
these packages.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import torch
    from lm_eval import simple_evaluate
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.huggingface import HFLM
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name} (pip install lm-eval torch transformers; OCTET_PYTHON names another)")
    sys.exit(77)

import float64_llama
import lm_eval_requests
import make_datasets
import rolling_texts

WINDOW = 256
SCALING = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 64}
SHAPES = {
    "grouped": dict(hidden_size=96, intermediate_size=200, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
                    vocab_size=512, tie_word_embeddings=False),
    # Odd sizes, a tied embedding, a vocabulary with more ids than the tokenizer, RoPE scaled as Llama 3.1 does.
    "odd": dict(hidden_size=90, intermediate_size=173, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                vocab_size=523, tie_word_embeddings=True, rope_parameters=SCALING),
}
OWN = "name: own\npath: own/test.jsonl\ncontext: question\nchoices: answers\ngold: right\n"


def make_own(folder, rows):
    maker = make_datasets.Maker(300)
    make_datasets.write(folder / "own/test.jsonl", [
        {"question": maker.edged(maker.words(3, 20)), "answers": [maker.edged(maker.words()) for _ in range(4)],
         "right": i % 4} for i in range(rows)])
    (folder / "own.yaml").write_text(OWN)


def own_task(folder):
    """lm-eval's form of it: a choice is appended to its context as it stands."""
    return ConfigurableTask(config={
        "task": "own", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(folder / "data/own/test.jsonl")}},
        "test_split": "test", "output_type": "multiple_choice", "doc_to_text": "question", "doc_to_choice": "answers",
        "doc_to_target": "right", "target_delimiter": "", "num_fewshot": 0,
        "metric_list": [{"metric": m, "aggregation": "mean", "higher_is_better": True} for m in ("acc", "acc_norm", "acc_bytes")]})


def make_model(folder, shape):
    torch.manual_seed(7)
    config = LlamaConfig(max_position_embeddings=WINDOW, initializer_range=0.15, bos_token_id=0, eos_token_id=1,
                         rms_norm_eps=1e-5, **SHAPES[shape])
    LlamaForCausalLM(config).float().save_pretrained(folder)
    file = lm_eval_requests.ROOT / "tests/tokenizer/golden/bpe-512.json"
    PreTrainedTokenizerFast(tokenizer_file=str(file), bos_token="<|begin_of_text|>",
                            eos_token="<|end_of_text|>").save_pretrained(folder)


def through_a_checkpoint(octet, folder):
    """FOLDER/model imported, and FOLDER/export that was made of it with all that lm-eval reads."""
    checkpoint = folder / "run/checkpoints/step-000000"
    checkpoint.parent.mkdir(parents=True)
    for arguments in (["import", folder / "model", checkpoint], ["export", checkpoint, folder / "export", "--max-positions", str(WINDOW)]):
        subprocess.run([octet, "checkpoint", *arguments], check=True)
    return folder / "export"


def ask_ours(program, model, data, names, shots, limit, out):
    """results.json, and the samples of each task."""
    known, own = [n for n in names if n != "own"], [str(data / "own.yaml")] * ("own" in names)
    subprocess.run([program, model, "--precision", "fp32", "--tasks", ",".join(known + own), "--task-data", data, "--shots",
                    str(shots), "--limit", str(limit), "--output", out], check=True)
    lines = {n: [json.loads(line) for line in open(out / f"samples_{n}.jsonl")] for n in names}
    return json.loads((out / "results.json").read_text()), lines


def ask_lm_eval(model, dtype, batch, limit, tasks):
    """Its results, and the log-likelihoods of each task."""
    hf = HFLM(pretrained=str(model), dtype=dtype, device="cpu", batch_size=batch, max_length=WINDOW)
    answers = simple_evaluate(hf, tasks=tasks, log_samples=True, bootstrap_iters=100, limit=limit or None)
    ordered = {n: sorted(s, key=lambda sample: sample["doc_id"]) for n, s in answers["samples"].items()}
    return answers, {n: [[float(r[0]) for r in s["filtered_resps"]] for s in ss] for n, ss in ordered.items()}


def furthest(a, b):
    return max(abs(x - y) for row, other in zip(a, b, strict=True) for x, y in zip(row, other, strict=True))


def same_choice(a, b):
    """Both find the same choice the likeliest, or two that are as good as equal."""
    i, j = a.index(max(a)), b.index(max(b))
    return i == j or abs(a[i] - a[j]) < 1e-4


def compare(name, ours, lines, theirs, samples, exact):
    """A row's numbers, and what is wrong with them."""
    found = [line["loglikelihoods"] for line in lines]
    wrong = ["n-samples"] * (ours["n-samples"][name] != theirs["n-samples"][name])
    ours, theirs = ours["results"][name], theirs["results"][name]
    wrong += [k for k, v in theirs.items() if k.startswith("acc") and abs(ours[k] - v) > 1e-9]
    wrong += [f"question {i}" for i, (a, b) in enumerate(zip(found, samples, strict=True)) if not same_choice(a, b)]
    distance = furthest(found, samples)
    row = [name, str(len(found)), str(sum(map(len, found))), f"{distance:.1e}"]
    if exact is not None:
        from_exact = furthest(found, exact)
        row += [f"{from_exact:.1e}", f"{furthest(samples, exact):.1e}"]
        wrong += ["log-likelihoods"] * (from_exact > 1e-4)
    else:
        wrong += ["log-likelihoods"] * any(abs(a - b) > max(1e-4, 4e-7 * abs(b)) for r, s in zip(found, samples) for a, b in zip(r, s))
    return row, wrong


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--shots", type=lambda s: [int(n) for n in s.split(",")], default=[0])
    parser.add_argument("--shapes", type=lambda s: s.split(","), default=list(SHAPES))
    parser.add_argument("--tasks", type=re.compile, default=re.compile(""))
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--float64", action="store_true")
    return parser.parse_args()


def main():
    o = arguments()
    folder, subjects = o.folder.resolve(), lm_eval_requests.SUBJECTS
    shutil.rmtree(folder, ignore_errors=True)
    make_datasets.make(folder / "data", o.rows, subjects)
    make_own(folder / "data", o.rows)
    failed = False

    def tell(labels, row, wrong):
        nonlocal failed
        failed |= bool(wrong)
        print("|", " | ".join([*labels, *row]), "|" + f" different: {', '.join(wrong)}" * bool(wrong), flush=True)

    for shape in o.shapes:
        make_model(folder / shape / "model", shape)
        model = through_a_checkpoint(o.program.with_name("octet"), folder / shape)
        for shots in o.shots:
            names = [*lm_eval_requests.TASKS, *(f"mmlu_{s}" for s in subjects), *["own"] * (shots == 0)]
            names = [name for name in names if o.tasks.search(name)]
            if not names:
                continue
            tasks = lambda: [own_task(folder) if n == "own" else lm_eval_requests.task_of(n, folder, shots) for n in names]
            ours, lines = ask_ours(o.program, model, folder / "data", names, shots, o.limit, folder / shape / f"octet-{shots}")
            theirs, samples = ask_lm_eval(model, "float32", o.batch, o.limit, tasks())
            exact = {}
            if o.float64:
                with float64_llama.Float64():
                    exact = ask_lm_eval(model, "float64", o.batch, o.limit, tasks())[1]
            for name in names:
                tell([shape, str(shots)], *compare(name, ours, lines[name], theirs, samples[name], exact.get(name)))
        if o.tasks.search("rolling"):
            for row, wrong in rolling_texts.compare(o.program, model, WINDOW, folder / shape / "rolling", make_datasets.Maker(400)):
                tell([shape, "rolling"], row, wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
