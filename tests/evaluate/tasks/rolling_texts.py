"""octet-evaluate --text against lm-eval-harness' loglikelihood_rolling, of the same documents by the same model.

lm-eval encodes a document as its tokenizer does and puts a prefix token before it. With add_bos_token=False that is what Octet
computes. By default a tokenizer that adds BOS adds it here too, so that BOS is scored behind BOS and the text stands behind both:
what Octet computes of a text that begins with BOS, spelt out, with --control-tokens.
"""
import json
import subprocess

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

WORDS = [1, 5, 20, 40, 60, 200, 500, 900]  # of documents: some of one window, some of several
BOS = "<|begin_of_text|>"


def ask_ours(program, model, texts, folder, *options):
    """Tokens and log-likelihood of each document."""
    folder.mkdir(parents=True)
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    subprocess.run([program, model, "--precision", "fp32", "--text", folder / "texts.jsonl", "--output", folder, *options],
                   check=True)
    return [json.loads(line) for line in open(folder / "documents.jsonl")]


def ask_lm_eval(model, window, texts, **options):
    hf = HFLM(pretrained=str(model), dtype="float32", device="cpu", batch_size=8, max_length=window, **options)
    requests = [Instance("loglikelihood_rolling", {}, (text,), i) for i, text in enumerate(texts)]
    return hf.loglikelihood_rolling(requests, disable_tqdm=True)


def near(a, b):
    """lm-eval adds the tokens of a window up in float32."""
    return abs(a - b) <= max(1e-4, 4e-7 * abs(b))


def compare(program, model, window, folder, maker):
    """A row a document, tokens and how far the two are apart in both ways, each with what is wrong."""
    texts = [maker.words(n, n) for n in WORDS]
    ours = ask_ours(program, model, texts, folder / "plain")
    ours_bos = ask_ours(program, model, [BOS + text for text in texts], folder / "bos", "--control-tokens")
    theirs, theirs_bos = ask_lm_eval(model, window, texts, add_bos_token=False), ask_lm_eval(model, window, texts)
    for a, b, plain, with_bos in zip(ours, ours_bos, theirs, theirs_bos, strict=True):
        found, found_bos = a["log_likelihood"], b["log_likelihood"]
        wrong = ["add_bos_token=False"] * (not near(found, plain)) + ["by default"] * (not near(found_bos, with_bos))
        wrong += ["tokens"] * (b["tokens"] != a["tokens"] + 1) + ["no difference"] * near(plain, with_bos)
        yield [str(a["tokens"]), f"{abs(found - plain):.1e}", f"{abs(found_bos - with_bos):.1e}"], wrong
