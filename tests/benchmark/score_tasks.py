#!/usr/bin/env python3
"""Questions/s of lm-eval's tasks: octet-evaluate beside lm-eval-harness with its `hf` model in fp32 and bf16, by turns, on the CPU.

    python3 -m venv venv && venv/bin/pip install torch transformers lm-eval
    venv/bin/python tests/benchmark/score_tasks.py --octet build/cpu/bin/octet-evaluate [--rounds 3] [--threads 1]

A Llama with random weights answers made-up questions with the lengths of the real ones: HellaSwag (a context, four
endings), ARC (a question, four short choices), SciQ (a paragraph), and MMLU with five examples, the same for all questions of
a subject. Loading of models and data is not counted on either side; making the requests is, and so is lm-eval's sharing of
one-token choices. Of
lm-eval's batch sizes 8 and 32 the faster counts. Accuracies of fp32 are compared. Prints medians and ratios.
"""
import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/evaluate/tasks"))
import lm_eval_requests  # noqa: E402
import make_datasets  # noqa: E402

WINDOW, SUBJECT = 2048, "abstract_algebra"
SHAPE = dict(vocab_size=512, hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4, intermediate_size=1408)
SHOTS = {"hellaswag": 0, "arc_easy": 0, "sciq": 0, f"mmlu_{SUBJECT}": 5}
WORDS = """about above after again animal answer because before below better between body bread called cell change city cold
color country could course current earth energy every figure first force found glass great ground group heat house hundred
island large learn letter light little living machine map matter measure metal might money morning mother mountain move
music nature never night north notice number often order other paper people picture place plant point power problem produce
question quick reach river rock round school second should simple sleep small south space stand start state still story
street study surface system table temperature thing think thought travel under water weight which while white without
wonder world write year young""".split()


class Length:
    """About so many tokens of a vocabulary of 512, with which a word has two and a half."""
    def __init__(self, seed):
        self.draw = random.Random(seed)

    def text(self, tokens):
        words = max(1, round(self.draw.uniform(0.7, 1.3) * tokens / 2.5))
        return " ".join(self.draw.choice(WORDS) for _ in range(words))


def make_data(folder, questions):
    made = Length(1)
    text, draw = made.text, made.draw
    choices = lambda tokens: {"text": [text(tokens) for _ in range(4)], "label": list("ABCD")}
    rows = {
        "hellaswag/validation": lambda i: {"ind": i, "activity_label": text(4), "ctx_a": text(60) + ".", "ctx_b": text(8), "endings": [text(28) for _ in range(4)], "split": "val", "label": str(draw.randrange(4))},
        "arc_easy/test": lambda i: {"id": str(i), "question": text(26) + "?", "choices": choices(6), "answerKey": draw.choice("ABCD")},
        "sciq/test": lambda i: {"question": text(18) + "?", "distractor1": text(3), "distractor2": text(3), "distractor3": text(3), "correct_answer": text(3), "support": text(100) + "."},
        f"mmlu/{SUBJECT}/test": lambda i: {"question": text(50), "subject": SUBJECT, "choices": [text(10) for _ in range(4)], "answer": draw.randrange(4)},
    }
    for name, row in rows.items():
        make_datasets.write(folder / "data" / f"{name}.jsonl", [row(i) for i in range(questions)])
        other = "dev" if name.startswith("mmlu") else "train"
        make_datasets.write(folder / "data" / f"{name.rsplit('/', 1)[0]}/{other}.jsonl", [row(i) for i in range(8)])


def make_models(folder):
    torch.manual_seed(1)
    config = LlamaConfig(max_position_embeddings=WINDOW, bos_token_id=0, eos_token_id=1, tie_word_embeddings=False, initializer_range=0.05, **SHAPE)
    model = LlamaForCausalLM(config).eval()
    model.save_pretrained(folder / "model")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(ROOT / "tests/tokenizer/golden/bpe-512.json"), bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>")
    tokenizer.save_pretrained(folder / "model")
    return {"fp32": "float32", "bf16": "bfloat16"}


def by_octet(arguments, folder, task, precision):
    command = [arguments.octet, folder / "model", "--tasks", task, "--task-data", folder / "data", "--shots", str(SHOTS[task]), "--precision", precision, "--threads", str(arguments.threads), "--output", folder / "out"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    subprocess.run(["rm", "-r", folder / "out"], check=True)
    questions, seconds = re.search(rf"{task}: (\d+) questions in ([0-9.]+) s", done.stdout + done.stderr).groups()
    accuracy = float(re.search(rf"^{task} .*?-shot +\d+ +([0-9.]+)", done.stdout, re.M).group(1))
    return int(questions) / float(seconds), accuracy


def by_lm_eval(folder, task, model, questions):
    asked = lm_eval_requests.task_of(task, folder, SHOTS[task])
    start = time.perf_counter()
    results = simple_evaluate(model, tasks=[asked], bootstrap_iters=0)
    return questions / (time.perf_counter() - start), results["results"][task]["acc,none"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--questions", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_data(folder, arguments.questions)
        models = {(precision, batch): HFLM(pretrained=str(folder / "model"), dtype=dtype, device="cpu", batch_size=batch, max_length=WINDOW)
                  for precision, dtype in make_models(folder).items() for batch in (8, 32)}
        print("| task | program | precision | questions/s | of the faster lm-eval |\n|---|---|---|---|---|")
        for task in SHOTS:
            speeds, accuracies = {}, {}
            for _ in range(arguments.rounds):
                for precision in ("fp32", "bf16"):
                    speed, accuracies["Octet", precision] = by_octet(arguments, folder, task, precision)
                    speeds.setdefault(("Octet", precision, 0), []).append(speed)
                for (precision, batch), model in models.items():
                    speed, accuracies["lm-eval", precision] = by_lm_eval(folder, task, model, arguments.questions)
                    speeds.setdefault(("lm-eval", precision, batch), []).append(speed)
            assert abs(accuracies["Octet", "fp32"] - accuracies["lm-eval", "fp32"]) < 1e-4, accuracies
            medians = {}
            for (program, precision, _), values in speeds.items():
                medians[program, precision] = max(medians.get((program, precision), 0), statistics.median(values))
            best = max(medians["lm-eval", p] for p in ("fp32", "bf16"))
            for (program, precision), value in medians.items():
                print(f"| {task}, {SHOTS[task]}-shot | {program} | {precision} | {value:.2f} | {value / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
