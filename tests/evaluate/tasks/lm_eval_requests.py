#!/usr/bin/env python3
"""What lm-eval-harness asks of a model for small datasets in the columns of its tasks, and what it makes of the answers.

Usage: tests/evaluate/tasks/lm_eval_requests.py FOLDER [ROWS [SUBJECT...]]      (needs PyPI's lm-eval and transformers)

Makes the datasets (make_datasets.py) in FOLDER/data, builds the requests of lm-eval's own tasks on those files, and writes
FOLDER/requests.jsonl: a line a question, with contexts, continuations and tokens by tests/tokenizer/golden/bpe-512.json;
and FOLDER/metrics.json, lm-eval's numbers where the log-likelihood of a request is minus the FNV-1a hash of its texts
modulo 997 / 64. tests/evaluate/tasks_test.cpp holds ours to both. tests/evaluate/tasks/golden is what this made, of lm-eval
0.4.13, with 8 rows and the subjects below.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import lm_eval.tasks
from lm_eval.api.group import Group
from lm_eval.api.metrics import mean, mean_stderr
from lm_eval.api.model import TemplateLM
from lm_eval.api.task import ConfigurableTask
from lm_eval.config.group import AggMetricConfig
from lm_eval.tasks._yaml_loader import load_yaml
from transformers import PreTrainedTokenizerFast

import make_datasets

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUBJECTS = ["abstract_algebra", "anatomy", "high_school_us_history"]
TASKS = {"arc_easy": "arc/arc_easy.yaml", "arc_challenge": "arc/arc_challenge.yaml", "openbookqa": "openbookqa/openbookqa.yaml",
         "hellaswag": "hellaswag/hellaswag.yaml", "piqa": "piqa/piqa.yaml", "sciq": "sciq/sciq.yaml",
         "winogrande": "winogrande/default.yaml"}


class TokensOnly(TemplateLM):
    """The tokenization of lm-eval's `hf` model, without a model."""
    backend = "causal"

    def __init__(self):
        super().__init__()
        file = ROOT / "tests/tokenizer/golden/bpe-512.json"
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file), bos_token="<|begin_of_text|>",
                                                 eos_token="<|end_of_text|>")

    eot_token_id = property(lambda self: self.tokenizer.eos_token_id)
    prefix_token_id = property(lambda self: self.tokenizer.bos_token_id)

    def tok_encode(self, string, add_special_tokens=None, **kwargs):
        if string.startswith(self.tokenizer.decode(self.prefix_token_id)):
            add_special_tokens = False
        return self.tokenizer.encode(string, add_special_tokens=add_special_tokens is not False)

    def _loglikelihood_tokens(self, requests, disable_tqdm=False):
        self.seen = requests
        return [(0.0, False)] * len(requests)

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError

    generate_until = loglikelihood_rolling


def task_of(name, folder, shots):
    """lm-eval's own task, its YAML pointed at our files."""
    tasks = pathlib.Path(lm_eval.tasks.__file__).parent
    subject = name.removeprefix("mmlu_")
    file = f"mmlu/default/{name}.yaml" if name.startswith("mmlu_") else TASKS[name]
    config = load_yaml(tasks / file, resolve_func=True)
    place = folder / "data" / (f"mmlu/{subject}" if name.startswith("mmlu_") else name)
    config |= {"dataset_path": "json", "dataset_name": None, "num_fewshot": shots,
               "dataset_kwargs": {"data_files": {f.stem: str(f) for f in sorted(place.glob("*.jsonl"))}}}
    if any(metric["metric"] == "acc_norm" for metric in config["metric_list"]):
        config["metric_list"] = config["metric_list"] + [{"metric": "acc_bytes", "aggregation": "mean",
                                                          "higher_is_better": True}]
    config.pop("tag", None)
    task = ConfigurableTask(config=config)
    task.set_fewshot_seed(seed=1234)
    return task


def likelihood(context, continuation):
    value = 0xCBF29CE484222325
    for byte in (context + "\0" + continuation).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return -(value % 997) / 64


def run(name, folder, shots, model, out):
    task = task_of(name, folder, shots)
    task.build_all_requests()
    model.loglikelihood(task.instances, disable_tqdm=True)
    by_doc = {}
    for instance, (_, context, continuation) in zip(task.instances, model.seen, strict=True):
        by_doc.setdefault(instance.doc_id, []).append((instance, context, continuation))
    sums = {}
    for doc_id, requests in by_doc.items():
        answers = [(likelihood(*instance.args), False) for instance, _, _ in requests]
        for metric, value in task.process_results(requests[0][0].doc, answers).items():
            sums.setdefault(metric, []).append(value)
        contexts = [i.args[0] for i, _, _ in requests]
        same = len(set(contexts)) == 1
        ids = [c for _, c, _ in requests]
        out.write(json.dumps({
            "task": name, "shots": shots, "doc_id": doc_id, "contexts": contexts[:1] if same else contexts,
            "continuations": [i.args[1] for i, _, _ in requests],
            "context_ids": ids[:1] if same else ids,
            "continuation_ids": [c for _, _, c in requests]}, ensure_ascii=False) + "\n")
    numbers = {"sample_len": len(by_doc)}
    for metric, values in sums.items():
        numbers[f"{metric},none"] = mean(values)
        numbers[f"{metric}_stderr,none"] = mean_stderr(values)
    return numbers


class Member:
    def __init__(self, name):
        self.task_name = name


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    subjects = sys.argv[3:] or SUBJECTS
    shutil.rmtree(folder / "data", ignore_errors=True)
    make_datasets.make(folder / "data", rows, subjects)
    model = TokensOnly()
    metrics = {}
    with open(folder / "requests.jsonl", "w") as out:
        for name in [*TASKS, *(f"mmlu_{s}" for s in subjects)]:
            for shots in (0, 2):
                metrics[f"{name} {shots}"] = run(name, folder, shots, model, out)
    group = Group("mmlu", aggregate_metric_list=[AggMetricConfig(metric="acc", weight_by_size=True)])
    group.get_all_tasks = lambda recursive=True: [Member(f"mmlu_{s}") for s in subjects]
    metrics["mmlu"] = group.aggregate({f"mmlu_{s}": metrics[f"mmlu_{s} 0"] for s in subjects})
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=1, default=float) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    main()
