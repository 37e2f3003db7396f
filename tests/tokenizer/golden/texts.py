"""Texts to compare tokenizers on: made up from a seed, in many scripts, and read from this machine."""
import glob
import os
import random

# (first code point, last, letters of a word, what stands between words)
SCRIPTS = [(0x61, 0x7A, (1, 9), " "), (0xE0, 0xFF, (1, 9), " "), (0x430, 0x44F, (1, 11), " "), (0x3B1, 0x3C9, (1, 9), " "),
           (0x5D0, 0x5EA, (2, 7), " "), (0x627, 0x64A, (2, 8), " "), (0x915, 0x939, (1, 6), " "), (0xE01, 0xE2E, (3, 14), ""),
           (0x4E00, 0x6FFF, (1, 12), ""), (0x3042, 0x3093, (1, 8), ""), (0xAC00, 0xD7A3, (1, 5), " "),
           (0x1F600, 0x1F64F, (1, 3), " "), (0x10D0, 0x10F0, (1, 9), " "), (0x13000, 0x1342F, (1, 3), " ")]
ENDS = [". ", ", ", "? ", "! ", "\n", "\r\n", "\n\n", "; ", " - ", ": "]
PARTS = list("abzSTsteRElLmMdDvV'''''  \t\n\r  012x.,!-_<|>\u00a0\u2003\u3000\u0085\x0b\x1c\x00\x7f\u180e\u200b\u017f\u212a"
             "\u00e9\u0301\u6f22\u5b57\u304b\u306a\ud55c\uad6d\u05d0\u05d1\u0639\u0440\u0431\u043a\u0438\u0640\u0663\u096a\u00bd\u00b2\u2460"
             "\U0001f600\U0001f468\u200d\U0001f469\U0001f1e9\U00010400\U00011700\u00ad\u0149\u00df\u0130\u0131\ufeff\ufffd")
WORDS = ["<|end_of_text|>", "<|begin_of_text|>", "<|pad|>", "<|end_of", "don't", "WE'LL", " the", "\n\n\n", "        ", "0x1234",
         "aaaaaaaaaaaaaaaa", "==========", "-->", "\r\n\r\n", "https://", "\\u00e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467"]


def fuzzed(seed, count, most=40):
    """Strings in which everything that the pattern tells apart meets everything else."""
    rng = random.Random(seed)

    def one():
        kind = rng.random()
        if kind < 0.85:
            return rng.choice(PARTS)
        if kind < 0.93:
            return rng.choice(WORDS)
        return chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)]))

    return ["".join(one() for _ in range(rng.randrange(most))) for _ in range(count)]


def languages(seed, size):
    """About `size` bytes of sentences of made-up words, of which few are frequent, in each of the scripts in turn."""
    rng = random.Random(seed)
    dictionaries = [["".join(chr(rng.randint(first, last)) for _ in range(rng.randint(*letters))) for _ in range(3000)]
                    for first, last, letters, _ in SCRIPTS]
    out, made = [], 0
    while made < size:
        script = rng.randrange(len(SCRIPTS))
        words = dictionaries[script]
        text = ""
        for _ in range(rng.randint(3, 200)):
            text += words[int(len(words) * rng.random() ** 4)] + SCRIPTS[script][3]
            if rng.random() < 0.1:
                text = text.rstrip(" ") + rng.choice(ENDS)
            if rng.random() < 0.03:
                text += str(rng.randrange(10 ** rng.randint(1, 12))) + " "
        out.append(text)
        made += len(text.encode())
    return out


def of_machine(size):
    """About `size` bytes of files that many machines have: licences, manuals, Python, Perl and C sources."""
    patterns = ["/usr/share/doc/**/*", "/usr/share/common-licenses/*", "/usr/lib/python3*/**/*.py", "/usr/share/perl/**/*.p[lm]",
                "/usr/include/**/*.h", "/usr/share/i18n/locales/*"]
    names = [name for pattern in patterns for name in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(name)]
    random.Random(5).shuffle(names)
    out, read = [], 0
    for name in names:
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read(400_000)
        except (UnicodeDecodeError, OSError):
            continue
        out.append(text)
        read += len(text.encode())
        if read >= size:
            break
    return out


def of_tree(root):
    """The pages and sources of this repository."""
    names = sorted(glob.glob(f"{root}/docs/**/*.md", recursive=True) + glob.glob(f"{root}/src/**/*.cpp", recursive=True) +
                   glob.glob(f"{root}/src/**/*.h", recursive=True))
    return [open(name, encoding="utf-8").read() for name in names]
