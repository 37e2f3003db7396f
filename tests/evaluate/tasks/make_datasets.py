"""Rows in the columns of the eight datasets of lm-eval's tasks, made up of words, with what texts can do to prompts: blanks
at both ends, characters of several bytes, brackets, capitals, double blanks, digits."""
import json
import random

WORDS = ("the of and water light force energy plant animal cell moves because which heat ice metal sun moon river rock "
         "bread sugar salt glass wheel paper hand door key long short cold warm quickly slowly never often before after "
         "Élan naïve Ünder ÇA œuvre Straße ПРИВЕТ мир 東京 数学 😀 e\u0301 x² 3.5 1984 don't CO2 A.").split()
EDGES = ["", "", "", "", "", " ", "  ", "\u00a0", "\n", "\t"]


class Maker:
    def __init__(self, seed):
        self.draw = random.Random(seed)

    def words(self, least=1, most=9):
        return " ".join(self.draw.choice(WORDS) for _ in range(self.draw.randint(least, most)))

    def edged(self, text):
        return self.draw.choice(EDGES) + text + self.draw.choice(EDGES)

    def labelled(self):
        count = self.draw.choice([3, 4, 4, 4, 5])
        labels = [str(i + 1) for i in range(count)] if self.draw.random() < 0.3 else list("ABCDE"[:count])
        return {"text": [self.words() for _ in range(count)], "label": labels}, self.draw.choice(labels)

    def arc(self, i):
        choices, answer = self.labelled()
        return {"id": f"row-{i}", "question": self.edged(self.words(3, 20) + "?"), "choices": choices, "answerKey": answer}

    def openbookqa(self, i):
        choices, answer = self.labelled()
        return {"id": f"{i}", "question_stem": self.words(2, 12) + self.draw.choice(["", " ", "?"]), "choices": choices,
                "answerKey": self.draw.choice(["", "", " "]) + answer}

    def hellaswag(self, i):
        marks = ["", "", " [title] How", " [step] Take", "[substeps] ", " [", "  ", "   ", " ]", " [a\nb]"]

        def text():
            return self.edged(self.words() + self.draw.choice(marks) + self.words())
        return {"ind": i, "activity_label": self.words(1, 3), "ctx_a": text(),
                "ctx_b": self.draw.choice(["", "a", "ÉCLAIR and ", "straße", "ßa", "ﬁne ", "The "]) + self.words(1, 4),
                "endings": [text() for _ in range(4)], "split": "val", "label": str(self.draw.randrange(4))}

    def mmlu(self, i):
        return {"question": self.edged(self.words(3, 20)), "subject": "s", "choices": [self.words() for _ in range(4)],
                "answer": self.draw.randrange(4)}

    def piqa(self, i):
        return {"goal": self.edged(self.words(2, 12)), "sol1": self.words(), "sol2": self.words(),
                "label": self.draw.randrange(2)}

    def sciq(self, i):
        return {"question": self.words(3, 12) + "?", "distractor3": self.words(1, 2), "distractor1": self.words(1, 2),
                "distractor2": self.words(1, 2), "correct_answer": self.words(1, 2),
                "support": self.draw.choice(["", "", self.edged(self.words(5, 30))])}

    def winogrande(self, i):
        behind = self.draw.choice(["", ".", " " + self.words(2, 8) + ".", "'s " + self.words(2, 5) + " "])
        return {"sentence": self.words(2, 10) + " _" + behind + ("" if behind else " end"), "option1": self.words(1, 2),
                "option2": self.words(1, 2), "answer": self.draw.choice("12")}


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def make(folder, rows, subjects):
    """FOLDER/NAME/SPLIT.jsonl, `rows` to be evaluated in each; examples are a few dozen, so that both ways of Python's
    sample are taken. Some rows to be evaluated are examples too."""
    kinds = {"arc_easy": ("arc", "test"), "arc_challenge": ("arc", "test"), "openbookqa": ("openbookqa", "test"),
             "hellaswag": ("hellaswag", "validation"), "piqa": ("piqa", "validation"), "sciq": ("sciq", "test"),
             "winogrande": ("winogrande", "validation")}
    for seed, (name, (kind, split)) in enumerate(kinds.items()):
        maker = Maker(seed)
        asked = [getattr(maker, kind)(i) for i in range(rows)]
        pool = [getattr(maker, kind)(rows + i) for i in range(12 if seed % 2 else 30)]
        pool[3] = asked[1]
        pool[5] = pool[6] = asked[2]
        write(folder / name / f"{split}.jsonl", asked)
        write(folder / name / "train.jsonl", pool)
    for seed, subject in enumerate(subjects):
        maker = Maker(100 + seed)
        write(folder / "mmlu" / subject / "test.jsonl", [maker.mmlu(i) for i in range(max(2, rows // 10) + seed % 3)])
        write(folder / "mmlu" / subject / "dev.jsonl", [maker.mmlu(i) for i in range(5)])
