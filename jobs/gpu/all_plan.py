"""The parts of jobs/gpu/all.sh, most valuable first, and which of them is next in the time that is left."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    seconds: int  # about how long it takes on an H100
    answers: str
    script: str = "bench.sh"
    arguments: tuple = ()
    rows: str = ""  # of the bench: the regular expression of its rows, for --only

    def is_cut(self):
        """Whether it may be cut off at any time and go on later: rows of the bench are kept one by one."""
        return bool(self.rows)


# Seconds of rows are from the dates of docs/gpu-results/h100-2026-11-22.jsonl (one H100, 16 cores, a process's start
# included), those of the scripts are estimates. In 10 minutes: is it right, does it resume and evaluate, how fast is a step beside
# PyTorch's. In 25: all but what varies a theme (several micro-batches, the other recipes of the larger models).
PARTS = (
    Part("kernels", 90, "every kernel against the CPU's", "check.sh", ("--kernels",)),
    Part("training", 70, "losses of the GPU against the CPU's: fp32, bf16, float8", "check.sh", ("--training",)),
    Part("resume", 50, "killed and resumed to the bit: bf16, float8", "resume.sh"),
    Part("evaluate", 40, "octet-evaluate's losses and octet generate's text against the CPU's", "evaluate.sh"),
    Part("steps-8b", 110, "steps of 8B blocks, float8 and bf16, beside PyTorch", rows=r":step/8b/(bf16|float8)/\d+-blocks$"),
    Part("memory", 35, "copy rate, memory-bound kernels, attention", rows=r":(copy$|kernel/|attention/)"),
    Part("ranks", 300, "2 and 4 ranks over NCCL on one GPU", "ranks.sh"),
    Part("memcheck", 100, "kernels' addresses, by compute-sanitizer", "sanitize.sh", ("--tools", "memcheck")),
    Part("steps-1.8b", 110, "steps of the whole 1.8B model", rows=r":step/1\.8b/(bf16|float8)/\d+-blocks$"),
    Part("gemm", 130, "GEMMs of all shapes and recipes", rows=r":gemm/"),
    Part("steps-70b", 125, "steps of 70B blocks", rows=r":step/70b/(bf16|float8)/\d+-blocks$"),
    Part("steps-405b-tp4", 125, "steps of a rank's part of 405B blocks", rows=r":step/405b-tp4/(bf16|float8)/\d+-blocks$"),
    Part("racecheck", 120, "kernels' shared memory", "sanitize.sh", ("--tools", "racecheck")),
    Part("recipes-8b", 75, "steps of 8B blocks in the other recipes", rows=r":step/8b/float8-"),
    Part("synccheck", 60, "kernels' barriers", "sanitize.sh", ("--tools", "synccheck")),
    Part("graphs", 100, "steps of the 1.8B model with CUDA graphs and without", rows=r":step/1\.8b/.*/graphs-(true|false)$"),
    Part("micro-batches-8b", 200, "steps of 8B blocks, 4 micro-batches", rows=r":step/8b/.*-micro-batches$"),
    Part("recipes", 160, "steps of the larger blocks in the other recipes", rows=r":step/(70b|405b-tp4)/float8-"),
    Part("exchange", 90, "what gathers and reductions cost the kernels beside them", "exchange.sh"),
    Part("ctas", 150, "a step on fewer thread blocks of NCCL (needs two GPUs)", "ctas.sh"),
    Part("micro-batches", 700, "steps of the other models, 4 micro-batches", rows=r":step/(?!8b/).*-micro-batches$"),
)
LEAST = 30  # seconds without which not even rows are begun: a step's row needs that


def next_part(waiting, seconds, began):
    """The first of the waiting parts that the seconds are enough for; None where there is none. A script must be done
    at once, so it is begun where its whole time is left, or as the first of a call: with less time than that nothing
    else would ever end its waiting."""
    for part in waiting:
        if seconds >= (LEAST if part.is_cut() else part.seconds) or not began:
            return part
    return None


def calls(parts, seconds):
    """{part's name: number of the call in which it should be done}, of calls of so many seconds one after the other."""
    out, waiting, spent, call = {}, list(parts), {}, 0
    while waiting:
        call, left, began = call + 1, seconds, False
        while (part := next_part(waiting, left, began)) is not None and left > 0:
            began = True
            takes = part.seconds - spent.get(part.name, 0)
            if takes > left and part.is_cut():
                spent[part.name] = spent.get(part.name, 0) + left
                break
            left -= takes
            out[part.name] = call
            waiting.remove(part)
    return out

