#!/usr/bin/env python3
"""Every path in backticks and every link in the pages below leads somewhere, links with a # to a heading; the first commands that a reader copies
name a run directory, scripts that commands start are executable, blocks of code begin and end, those in docs/one-step.md
stand in the source, messages that docs/problems.md quotes do too, and docs/rooms.svg is what docs/draw_rooms.py draws.

Usage: tests/checks/docs.py [ROOT]      A page that is not there is a violation too.
A path is a word with a slash whose first part stands at the top of the tree, or a file there by its name.
What a build, a run or the reader makes (build/, runs/, data/, text/) is left out.
"""
import os
import re
import subprocess
import sys

FIRST = ["README.md", "jobs/bundle-readme.md"]
QUOTING = ["docs/one-step.md"]
PAGES = ["README.md", "CONTRIBUTING.md", "NOTICE", "jobs/bundle-readme.md"]  # and all of docs/
MADE = ("build/", "runs/", "data/", "text/")
OF_A_RUN = ("bindings.txt", "config.yaml", "config.json", "owner.json", "status.json", "failure.txt", "profile.json",
            "profile-rankN.json", "job.sh", "octet-train.sh", "octet.sh", "manifest.json", "results.json", "tasks.json")
OF_A_MODEL = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
              "generation_config.json", "hugging_face_config.json")
CODE = re.compile(r"^```.*?^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
ANCHOR = re.compile(r"\]\(([\w./-]*)#([^)\s]*)\)")  # of a page within the repository, or of the page itself
LINK = re.compile(r"\]\(([\w./-]+)(?:#[^)\s]*)?\)")  # within the repository, from the page's own folder
TOP = ("src/", "kernels/", "jobs/", "slurm/", "configs/", "checkpoints/", "tests/", "docs/", "cmake/", ".ci/")
# A command that starts a script of the tree, in a block of code or in backticks.
STARTED = re.compile(r"(?:^ {0,4}|`)(?:[A-Z_]+=\S+ )*(?:\./)?((?:jobs|tests|docs|slurm)/[\w./-]+\.(?:py|sh))(?= )")
NAMED = re.compile(r"^[\w.-]+\.(md|txt|json|cmake|sh|py)$|^(LICENSE|NOTICE)$")


def alternatives(word):
    """a/{b,c}.h -> a/b.h, a/c.h"""
    match = re.match(r"^(.*)\{([^{}]+)\}(.*)$", word)
    return [match[1] + part + match[3] for part in match[2].split(",")] if match else [word]


def paths(text):
    """(line, path) of every path in backticks; blocks of code count word by word."""
    for match in CODE.finditer(text):
        for word in re.finditer(r"[^\s`]+", match[0]):
            line = text.count("\n", 0, match.start() + word.start()) + 1
            for path in alternatives(word[0].strip(",;:()\"'").removeprefix("./")):
                if path.startswith(MADE) or re.search(r"[*<>$…]|NAME|ROOM|PREFIX", path):
                    continue
                if path.startswith(TOP):
                    yield line, re.sub(r"(:\d+|#.*)$", "", path)
                elif match[1] is not None and NAMED.match(path) and path not in OF_A_RUN + OF_A_MODEL:
                    yield line, path


def pages_of(root):
    """The pages by name, and every page below docs/."""
    found = []
    for folder, _, files in os.walk(os.path.join(root, "docs")):
        found += [os.path.relpath(os.path.join(folder, file), root) for file in files if file.endswith(".md")]
    return PAGES + sorted(found)


def check(root, pages):
    count, problems = 0, []
    for page in pages:
        name = os.path.join(root, page)
        if not os.path.exists(name):
            problems.append(f"{page}: is missing")
            continue
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for line, path in paths(text):
            count += 1
            if not os.path.exists(os.path.join(root, path)):
                problems.append(f"{page}:{line}: {path} does not exist")
        for link in LINK.finditer(text):
            count += 1
            if not os.path.exists(os.path.join(root, os.path.dirname(page), link[1])):
                problems.append(f"{page}:{text.count(chr(10), 0, link.start()) + 1}: the link {link[1]} leads nowhere")
    return count, problems


def anchors_of(text):
    """What GitHub names the headings of a page: lower case, without punctuation, hyphens for spaces; one that comes again is
    numbered."""
    seen, found = {}, set()
    for heading in re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # of a link its text
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        found.add(slug + (f"-{seen[slug]}" if seen[slug] else ""))
    return found


def lost_anchors(root, pages):
    """Links to a heading that a page does not have. A page that is not there is told by check()."""
    problems, anchors = [], {}
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        for link in ANCHOR.finditer(text):
            name = os.path.normpath(os.path.join(root, os.path.dirname(page), link[1])) if link[1] else os.path.join(root, page)
            if not name.endswith(".md") or not os.path.exists(name):
                continue
            if name not in anchors:
                with open(name, encoding="utf-8") as file:
                    anchors[name] = anchors_of(file.read())
            if link[2] not in anchors[name]:
                number = text.count("\n", 0, link.start()) + 1
                problems.append(f"{page}:{number}: {link[1] or 'this page'} has no heading #{link[2]}")
    return problems


def torn_blocks(root, pages):
    """Blocks of code whose first or last line of ``` is gone: what follows is shown as code, and code as text."""
    problems = []
    for page in pages:
        opened = None  # the line of the block that is open
        with open(os.path.join(root, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.startswith("```"):
                    continue
                if opened is not None and line.strip() != "```":
                    problems.append(f"{page}:{number}: a block of code begins within that of line {opened}")
                opened = number if opened is None or line.strip() != "```" else None
        if opened is not None:
            problems.append(f"{page}:{opened}: a block of code without an end")
    return problems


def unnamed_runs(root, pages):
    """Commands that train into a directory whose name only the clock knows: they cannot be gone on with by being copied again."""
    problems = []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                trains = re.match(r"(\S*mpiexec .*)?\S*octet-train ", line) and not re.search(r"--help|--print", line)
                if trains and "--run.dir" not in line:
                    problems.append(f"{page}:{number}: a command that trains, without --run.dir")
    return problems


def not_startable(root, pages):
    """Scripts that a page starts by their path, and that nobody may execute."""
    problems = []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for match in STARTED.finditer(line):
                    script = os.path.join(root, match[1])
                    if os.path.exists(script) and not os.access(script, os.X_OK):
                        problems.append(f"{page}:{number}: {match[1]} is started, and is not executable")
    return problems


def sources(root):
    """The .h and .cpp files outside tests/ that are under version control; where there is none, those of the tree."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", "*.h", "*.cpp"], capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name] if listed.returncode == 0 else []
    names = names or [os.path.relpath(os.path.join(folder, name), root) for folder, _, files in os.walk(root)
                      for name in files if name.endswith((".h", ".cpp"))]
    return [name for name in names if not name.startswith("tests/") and os.path.exists(os.path.join(root, name))]


def end_of(run, lines, start):
    """Where the lines of `run` end that stand in `lines` from `start` on, one after another but for blank lines and
    comments; None where they do not."""
    for at in range(start, len(lines)):
        for line in run:
            while at < len(lines) and lines[at] != line and (lines[at] == "" or lines[at].startswith("//")):
                at += 1
            if at == len(lines) or lines[at] != line:
                break
            at += 1
        else:
            return at
    return None


def stand_in(runs, lines):
    at = 0
    for run in runs:
        at = end_of(run, lines, at)
        if at is None:
            return False
    return True


def runs_of(block):
    """The lines of a block, parted by lines of dots, which stand for what was left out."""
    runs = [[]]
    for line in (line.strip() for line in block.splitlines()):
        if line == "...":
            runs.append([])
        elif line:
            runs[-1].append(line)
    return [run for run in runs if run]


def quotes(root, pages):
    """```cpp blocks whose lines do not stand, in their order, in one source file; and pages without such a block."""
    files = []
    for name in sources(root):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        files.append((lines, set(lines)))
    count, problems = 0, []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        quoted = 0
        for block in re.finditer(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            runs = runs_of(block[1])
            wanted = {line for run in runs for line in run}
            quoted += sum(map(len, runs))
            if not any(wanted <= have and stand_in(runs, lines) for lines, have in files):
                number = text.count("\n", 0, block.start()) + 1
                missing = [line for run in runs for line in run if not any(line in have for _, have in files)]
                what = missing[0] if missing else "the block, in this order,"
                problems.append(f"{page}:{number}: {what} stands in no .h or .cpp file")
        if quoted == 0:
            problems.append(f"{page}: quotes no code")
        count += quoted
    return count, problems


PROBLEMS = "docs/problems.md"
OF_THE_SYSTEM = ("No space left on device", "CPU ISA level is lower than required")
BODY = "slurm/train-body"  # the parts of jobs' scripts, which speak to users too


def what_speaks(root):
    """(name, text) of what has messages for users, each of them in one piece."""
    parts = sorted(os.listdir(os.path.join(root, BODY))) if os.path.isdir(os.path.join(root, BODY)) else []
    for name in [*sources(root), *(f"{BODY}/{part}" for part in parts)]:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            yield name, re.sub(r'"\n\s*"', "", file.read())


def problems_named(root):
    """Messages name headings of docs/problems.md: those that are none, and headings that no message names. The system's
    messages name none."""
    with open(os.path.join(root, PROBLEMS), encoding="utf-8") as file:
        page = file.read()
    headings = set(re.findall(r"^### (.+)$", page, re.MULTILINE))
    of_system = {heading for heading, message in re.findall(r"^### (.+)\n\n`([^`]+)`", page, re.MULTILINE)
                 if message in OF_THE_SYSTEM}
    named, problems = set(), []
    for name, text in what_speaks(root):
        for heading in re.findall(r'docs/problems\.md, \\"([^"\\]+)\\"', text):
            named.add(heading)
            if heading not in headings:
                problems.append(f"{name}: names \"{heading}\", which is no heading of {PROBLEMS}")
    return problems + [f"{PROBLEMS}: no message names \"{heading}\"" for heading in sorted(headings - named - of_system)]


BETWEEN = 200  # characters of a source from one piece of a message to the next, at most
STANDS_FOR = re.compile(r"\.\.\.|\b(?:N|M|KEY|OLD|NEW|PATH)\b(?:\.idx)?|cuda:0|\(s\)")


def messages_quoted(root):
    """Messages in backticks at the beginning of a problem that no source has: who searches for one must find it. The pieces
    around what stands for something else must follow one another in one source."""
    texts = [text for _, text in what_speaks(root)]
    with open(os.path.join(root, PROBLEMS), encoding="utf-8") as file:
        page = file.read()
    problems = []
    for quoted in re.findall(r"^### .+\n\n((?:`[^`]+`(?:, (?:or )?)?)+)", page, re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", quoted):
            pieces = [piece for piece in (part.strip(" ,") for part in STANDS_FOR.split(message)) if piece]
            said = re.compile(f".{{0,{BETWEEN}}}?".join(map(re.escape, pieces)), re.DOTALL)
            with_all = (text for text in texts if all(piece in text for piece in pieces))  # for speed
            if message not in OF_THE_SYSTEM and not any(said.search(text) for text in with_all):
                problems.append(f"{PROBLEMS}: no source says \"{message}\"")
    return problems


def picture(root):
    """docs/rooms.svg against the table from which it is drawn."""
    sys.path.insert(0, os.path.join(root, "docs"))
    import draw_rooms
    problems = [f"docs/draw_rooms.py: has no box for {room}" for room in draw_rooms.missing(root)]
    try:
        drawn = draw_rooms.draw()
    except ValueError as error:
        return problems + [f"docs/draw_rooms.py: {error}"]
    with open(os.path.join(root, "docs/rooms.svg"), encoding="utf-8") as file:
        if file.read() != drawn:
            problems.append("docs/rooms.svg: is not what docs/draw_rooms.py draws; run it")
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    pages = pages_of(root)
    count, problems = check(root, pages)
    there = [page for page in pages if os.path.exists(os.path.join(root, page))]
    problems += lost_anchors(root, there) + torn_blocks(root, there) + not_startable(root, there)
    problems += unnamed_runs(root, [page for page in FIRST if os.path.exists(os.path.join(root, page))])
    lines, misquoted = quotes(root, [page for page in QUOTING if os.path.exists(os.path.join(root, page))])
    problems += misquoted + picture(root) + problems_named(root) + messages_quoted(root)
    print("\n".join(problems) if problems else f"docs: {count} paths and links exist, {lines} lines of code stand in the source")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
