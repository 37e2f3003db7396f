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


# A lent GPU may be gone after 15 minutes, so what says most comes first, each part for a reason:
# - kernels, training: what a wrong step takes says nothing.
# - steps: the aims against PyTorch, with what should reach them (gradients in bf16, the update beside the next forward
#   pass, both) and without, in the same call, each warmed for as long. beside: how many multiprocessors, and GEMMs chosen
#   for which.
# - gains: float8 against bf16 with a quarter of the optimizer, as on a cluster; Octet's rows are enough for a gain, so
#   that three models take little more than one beside PyTorch. evaluate: what a trained model says.
# - steps-1.8b: a whole model, with these options and without, beside PyTorch's. gemm-ways: what bf16 and fewer
#   multiprocessors do to GEMMs alone. gemm-adding: without these a block cannot be taken apart into its ops.
# - memory, gemm, resume, memcheck, choices, recipes, ranks: worked or were measured before, some at 66a4f65. Variations
#   last.
# Seconds are from the dates and logs of docs/gpu-results/h100-2026-11-26.jsonl and of the files of the 27th (one H100,
# 16 cores, a process's start included), and for steps 3.5 s more a row, which have been counted since. GEMMs and attention
# begin with 8 s that heat the GPU, in each program. A step's row of Octet's takes 9 to 14 s, one of PyTorch's 20, most of it
# compiling.
PARTS = (
    Part("kernels", 70, "every kernel against the CPU's", "check.sh", ("--kernels",)),
    Part("training", 25, "losses of the GPU against the CPU's: fp32, bf16, float8", "check.sh", ("--training",)),
    Part("steps-8b", 270, "steps of 8B blocks: plain, with gradients in bf16, with the update beside, with both, and PyTorch's",
         rows=r":step/8b/(bf16|float8)/\d+-blocks(/bf16-gradients)?(/beside-true)?$"),
    Part("steps-70b", 260, "steps of 70B blocks, likewise",
         rows=r":step/70b/(bf16|float8)/\d+-blocks(/bf16-gradients)?(/beside-true)?$"),
    Part("steps-405b-tp4", 250, "steps of a rank's part of 405B blocks, likewise",
         rows=r":step/405b-tp4/(bf16|float8)/\d+-blocks(/bf16-gradients)?(/beside-true)?$"),
    Part("beside", 160, "the update beside on other numbers of multiprocessors, with GEMMs chosen for all, and in steps of 4 micro-batches",
         rows=r":step/.*/(multiprocessors-\d+|gemms-all|4-micro-batches/beside-true)$"),
    Part("gains", 145, "float8 against bf16 in steps of 4 micro-batches, blocks of all sizes",
         rows=r"^octet:step/(8b|70b|405b-tp4)/(bf16|float8)/\d+-blocks/4-micro-batches$"),
    Part("evaluate", 20, "octet-evaluate's losses and octet generate's text against the CPU's", "evaluate.sh"),
    Part("steps-1.8b", 155, "steps of the whole 1.8B model, likewise",
         rows=r":step/1\.8b/(bf16|float8)/\d+-blocks(/bf16-gradients)?(/beside-true)?$"),
    Part("gemm-ways", 60, "why GEMMs are slower, one thing changed at a time; gradients with fast accumulation, and in bf16; those "
         "that leave room for an update", rows=r":gemm/.*/(ways|fast|bf16-gradients|\d+-multiprocessors)$"),
    Part("gemm-adding", 25, "GEMMs that add to their output, for where the time of a block goes", rows=r":gemm/.*/add$"),
    Part("memory", 65, "copy rate, memory-bound kernels, attention, the start", rows=r":(copy$|kernel/|attention/|start/)"),
    Part("gemm", 100, "GEMMs of all shapes in bf16 and fp8, beside PyTorch's", rows=r":gemm/[^/]+/\w+/(bf16|fp8)$"),
    Part("recipes-8b", 85, "steps of 8B blocks in the other recipes", rows=r":step/8b/float8-"),
    Part("resume", 20, "killed and resumed to the bit: bf16, float8", "resume.sh"),
    Part("memcheck", 100, "kernels' addresses, by compute-sanitizer", "sanitize.sh", ("--tools", "memcheck")),
    Part("choices", 70, "steps of 8B and 70B blocks with algorithms of the heuristic, and with fast accumulation everywhere",
         rows=r":step/(8b|70b)/.*/(heuristic|fast-all)$"),
    Part("ranks", 210, "2 and 4 ranks over NCCL on one GPU", "ranks.sh"),
    Part("racecheck", 300, "kernels' shared memory", "sanitize.sh", ("--tools", "racecheck")),
    Part("gemm-casts", 120, "GEMMs behind the casts of their operands, and those of the other recipes",
         rows=r":gemm/[^/]+/\w+/(\w+_casts|rowwise|gw_hp|blockwise)$"),
    Part("graphs", 85, "steps of the 1.8B model and of 8B blocks with CUDA graphs and without", rows=r":step/.*/graphs-(true|false)$"),
    Part("recipes", 155, "steps of the larger blocks in the other recipes", rows=r":step/(70b|405b-tp4)/float8-"),
    Part("exchange", 60, "what gathers and reductions cost the kernels beside them", "exchange.sh"),
    Part("synccheck", 200, "kernels' barriers", "sanitize.sh", ("--tools", "synccheck")),
    Part("ctas", 150, "a step on fewer thread blocks of NCCL (needs two GPUs)", "ctas.sh"),
    Part("micro-batches", 430, "PyTorch's steps of 4 micro-batches, and those of the 1.8B model",
         rows=r"^(torch:step/.*|octet:step/1\.8b/.*)-micro-batches$"),
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

