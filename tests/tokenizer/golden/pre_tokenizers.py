"""Sections "pre_tokenizer" as tokenizer.json files of several families have them, by name."""

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
GPT2 = {**BYTES, "use_regex": True}
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def digits(each):
    return {"type": "Digits", "individual_digits": each}


ALL = {
    "gpt2": GPT2,
    "digits": sequence(digits(True), GPT2),  # StarCoder
    "numbers": sequence(digits(False), GPT2),
    "qwen2": sequence(split(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
                            r"\s*[\r\n]+|\s+(?!\S)|\s+"), BYTES),
    "deepseek-llm": sequence(split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                             split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), digits(True), BYTES),
    "deepseek-v3": sequence(
        split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
        split(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
              r"\s*[\r\n]+|\s+(?!\S)|\s+"), BYTES),
    "o200k": sequence(split(O200K), BYTES),
    "bloom": sequence(split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), BYTES),
    # Possessive as Oniguruma has it: an interval with + is repeated.
    "possessive": sequence(split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
                                 r"\s++$|\s*[\r\n]|\s+(?!\S)|\s"), BYTES),
    "thousands": sequence(split(r"(?=(\d{3})+(?!\d))"), GPT2),  # an empty match cuts too
    "lines": sequence(split(r"^[^\S\n]*|\Z|(?<=[.!?])\s"), split(" ", kind="String"), BYTES),
    "classes": sequence(split(r"[\p{Ll}\p{Lm}]+|[\p{Lu}\p{Lt}]\p{Mc}?|\p{Lo}{2,5}?|[\p{Nl}\p{No}]|\p{Nd}|\p{Pd}|\p{P}+?|[\p{Sc}\p{Sk}]|"
                              r"\p{S}|\p{Z}|\p{Cf}+|\P{M}"), BYTES),
    "scripts": sequence(split(r"\p{Han}+|\p{Hiragana}+|\p{Katakana}+|\p{Hangul}+|\p{Cyrillic}+|\p{Latin}+|\p{Arabic}+|"
                              r"\p{Devanagari}+|[\p{Greek}\p{Hebrew}\p{Thai}]+|[^\p{Latin}\p{Han}]"), BYTES),
    "matches": sequence(split(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{,3}", "Removed", True), BYTES),
}
LOSSY = {"matches"}  # what stands between matches is lost
