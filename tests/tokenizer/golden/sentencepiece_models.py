"""SentencePiece models as those of Llama 2 (BPE with byte_fallback) and of T5 (unigram), trained on given texts."""
import io
import tempfile

import sentencepiece

RULES = "FF21\t41\nFB01\t66 69\nA0\t20\n3000\t20\n65 301\tE9\n"  # code points; a map of all of NFKC has 240 kB


def train(texts, kind, size, rules="own"):
    """The bytes of a model."""
    model = io.BytesIO()
    options = dict(sentence_iterator=iter([line for text in texts for line in text.splitlines() if line]), model_writer=model,
                   vocab_size=size, max_sentence_length=20000, num_threads=1, minloglevel=2)
    if kind == "bpe":
        options.update(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                       split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.98)
    else:
        options.update(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols=["<sep>"],
                       control_symbols=["<ctl>"], character_coverage=0.98)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        if kind != "bpe" and rules == "own":
            file.write(RULES)
            file.flush()
            options["normalization_rule_tsv"] = file.name
        elif kind != "bpe":
            options["normalization_rule_name"] = rules
        sentencepiece.SentencePieceTrainer.train(**options)
    return model.getvalue()
