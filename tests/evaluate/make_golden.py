#!/usr/bin/env python3
"""Small Llama models with random weights, and what transformers says of the likelihood of tokens, in float32.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tests/evaluate/make_golden.py [FOLDER [SAMPLES]]      (tests/evaluate/golden and 40)

Of each case FOLDER/CASE gets a Hugging Face folder and scores.json: requests (context, continuation) with the
log-likelihood of the continuation and whether each of its tokens is the most likely one, as lm-eval's `hf` model
computes them; and documents with the sum over their rolling windows. tests/evaluate/golden_test.cpp compares.
"""
import json
import pathlib
import random
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WINDOW, BOS = 24, 1
SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
CASES = {
    # Nothing divides by 2; one key head for three query heads.
    "odd": dict(hidden_size=30, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, intermediate_size=41, vocab_size=101, tie_word_embeddings=False),
    "tied": dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, vocab_size=96, tie_word_embeddings=True),
    "scaled": dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48, vocab_size=64, tie_word_embeddings=False),
}


def score(model, context, continuation):
    """lm_eval/models/huggingface.py, _loglikelihood_tokens, of one request."""
    tokens = (context + continuation)[-(WINDOW + 1):]
    with torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]])).logits[0].float()
    log_probabilities = torch.log_softmax(logits, dim=-1)[-len(continuation):]
    targets = torch.tensor(continuation)
    return log_probabilities.gather(1, targets[:, None]).double().sum().item(), bool((log_probabilities.argmax(-1) == targets).all())


def rolling(model, document):
    """lm_eval/utils.py, get_rolling_token_windows with context_len 1 and make_disjoint_window."""
    total, first = 0.0, 0
    while first < len(document):
        end = min(len(document), first + WINDOW)
        context = [BOS] if first == 0 else document[end - WINDOW - 1:first]
        total += score(model, context, document[first:end])[0]
        first = end
    return total


def greedy_continuation(model, context, length):
    out = list(context)
    for _ in range(length):
        with torch.no_grad():
            out.append(int(model(torch.tensor([out[-WINDOW:]])).logits[0, -1].argmax()))
    return out[len(context):]


def make(folder, name, settings, samples):
    torch.manual_seed(3)
    random.seed(5)
    rope = {"rope_type": "default", "rope_theta": 10000.0} if name != "scaled" else {**SCALING, "rope_theta": 10000.0}
    config = LlamaConfig(max_position_embeddings=WINDOW, rms_norm_eps=1e-5, bos_token_id=BOS, eos_token_id=2, rope_parameters=rope, **settings)
    model = LlamaForCausalLM(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # larger than initial weights: what stands before a token shall matter
            parameter.add_(torch.randn_like(parameter) * (0.1 if parameter.dim() > 1 else 0.05))
            parameter.copy_(parameter.bfloat16())
    vocab = config.vocab_size
    text = lambda length: [random.randrange(vocab) for _ in range(length)]
    requests = []
    for number in range(samples):
        context = text(random.randint(1, 40))  # some lose tokens at the left
        choices = [text(random.randint(1, 6)) for _ in range(2)] + [text(1)]
        if number % 4 == 0:
            choices.append(greedy_continuation(model, context, 3))
        for continuation in choices:
            log_likelihood, greedy = score(model, context, continuation)
            requests.append({"context": context, "continuation": continuation, "log_likelihood": log_likelihood, "greedy": greedy})
    documents = [text(length) for length in (1, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW, 101)]
    scores = {"window": WINDOW, "bos": BOS, "requests": requests,
              "documents": [{"tokens": d, "log_likelihood": rolling(model, d)} for d in documents]}
    (folder / "scores.json").write_text(json.dumps(scores, separators=(",", ":")) + "\n", encoding="utf-8")
    model.bfloat16().save_pretrained(folder)  # exact; the frequencies of RoPE are not what they were after it
    (folder / "generation_config.json").unlink(missing_ok=True)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "golden"
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    for name, settings in CASES.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        make(folder / name, name, settings, samples)


if __name__ == "__main__":
    main()
