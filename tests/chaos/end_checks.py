"""What holds once a run has finished, after however many starts: it is the run that was never interrupted."""
import re
import subprocess

# docs/run-directories.md has the names. The last two lines are what a start leaves that is killed between making a file
# and removing it, or whose disk refuses to remove it.
KNOWN_FILES = re.compile(r"|".join([
    r"(config|model)\.yaml", r"metrics(\.discarded)?\.jsonl", r"bindings\.txt", r"owner\.json", r"status\.json",
    r"tokenizer/.*(?<!\.tmp)", r"token-ranges/(\w+(\.json)?)?", r"tensorboard/(events\.out\.tfevents\..*)?",
    r"trace-rank\d+\.jsonl", r"checkpoints/step-\d{6,}(\.damaged\d*)?/(manifest\.json|writer-\d{5}\.h5|view\.h5)",
    r"checkpoints/step-\d{6,}(\.damaged\d*)?/view\.h5\.tmp",
    r"owner\.json\..*\.(tmp|now)", r"owner\.json\..*claim-\d+", r"tokenizer/identity\.json\..*\.tmp",
]))
NUMBERS = ("loss", "grad_norm", "lr", "tokens", "passes", "validation_loss")
WHATEVER_LAYOUT = ("lr", "tokens", "passes")  # the same to the bit in every layout


def check_steps(directory, settings):
    """Every step stands once in metrics.jsonl, in order."""
    lines, broken = directory.lines("metrics.jsonl")
    steps = [line["step"] for line in lines]
    if broken:
        yield f"metrics.jsonl has lines that are no JSON: {broken[:2]}"
    if steps != list(range(1, settings.steps + 1)):
        yield f"metrics.jsonl has the steps {steps}, expected 1 to {settings.steps} once each"
    restarts = [line["restarts"] for line in lines]
    if restarts != sorted(restarts):
        yield f"restarts fall in metrics.jsonl: {restarts}"


def _difference(key, found, wanted, exact, tolerance):
    """None where it may be."""
    if found == wanted:
        return None
    if exact or key in WHATEVER_LAYOUT or None in (found, wanted):
        return f"{key} is {found!r}, and {wanted!r} in the reference"
    if key != "grad_norm" and abs(found - wanted) > tolerance * abs(wanted):
        return f"{key} is {found!r}, {abs(found / wanted - 1):.1e} from the reference's {wanted!r}"
    return None


def check_numbers(directory, reference, settings, exact_until):
    """Bit for bit those of the reference up to step `exact_until`, and within rounding from there, where the layout has
    changed. Of each number the first that differs is told."""
    expected = {line["step"]: line for line in reference.metrics()}
    for key in NUMBERS:
        pairs = [(line["step"], line.get(key), expected.get(line["step"], {}).get(key)) for line in directory.metrics()]
        differ = [(step, _difference(key, found, wanted, step <= exact_until, settings.tolerance))
                  for step, found, wanted in pairs]
        differ = [f"step {step}: {text}" for step, text in differ if text]
        if differ:
            yield differ[0] + (f"; {len(differ) - 1} later ones differ too" if len(differ) > 1 else "")


def check_last_checkpoint(directory, reference, settings, exact_until, octet):
    """Weights, moments and scales are those of the reference, and all checkpoints are whole."""
    last, right = (of.checkpoints().get(settings.steps) for of in (directory, reference))
    if not last:
        yield f"there is no checkpoint of step {settings.steps}: {sorted(directory.checkpoints())}"
    elif exact_until >= settings.steps:
        done = subprocess.run([octet, "checkpoint", "diff", "--brief", last, right], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            yield f"the last checkpoint differs from the reference's: {(done.stdout + done.stderr).strip()[-300:]}"
    verified = subprocess.run([octet, "checkpoint", "verify", *directory.checkpoints().values()], capture_output=True,
                              text=True, check=False)
    if verified.returncode:
        yield f"octet checkpoint verify: {(verified.stdout + verified.stderr)[-300:].strip()}"


def check_files(directory):
    unknown = [name for name in directory.files() if not KNOWN_FILES.fullmatch(name)]
    if unknown:
        yield f"files that are not documented: {unknown[:5]}"


def check_started_again(before, after):
    """A start of a finished run changes no byte of metrics.jsonl."""
    if before != after:
        yield "a start of the finished run changed metrics.jsonl"


def check_finished(directory, reference, settings, exact_until, octet):
    return [*check_steps(directory, settings), *check_numbers(directory, reference, settings, exact_until),
            *check_last_checkpoint(directory, reference, settings, exact_until, octet), *check_files(directory)]
