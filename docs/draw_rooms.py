#!/usr/bin/env python3
"""Draws docs/rooms.svg, the picture of the rooms, from the table of tests/checks/rooms.py.

Usage: docs/draw_rooms.py      writes the picture. tests/checks/docs.py fails where the file is not what this draws.

The table says which arrows there are: an arrow for each room that a room may include and that no room in between
brings along. Only where a box stands is said here. An arrow that went up or through a box would be refused.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "checks"))
import rooms  # noqa: E402

WIDTH, ROW, BOX, TOP = 1040, 66, 42, 20
LOW, MIDDLE, HIGH, ROOF, SIDE = "#e8eef7", "#e4f3e6", "#f6e6f1", "#eeeeee", "#f5f3dc"

# Room -> row from the bottom, left edge, right edge, colour, what it holds.
BOXES = {
    "base": (0, 5, 1020, LOW, "errors, log, dtypes, random numbers, options, JSON, files"),
    "device": (1, 20, 720, LOW, "devices, streams, events, buffers, the ledger of memory; what NVML says"),
    "cluster": (1, 740, 1020, SIDE, "profiles, Slurm, job scripts"),
    "profile": (2, 20, 380, LOW, "units and parts of a step; where its time goes"),
    "tensor": (2, 400, 720, LOW, "views of memory, shards, parameters"),
    "kernels": (3, 20, 240, MIDDLE, "one header an operation"),
    "comm": (3, 430, 720, LOW, "communicators (self, mpi, nccl), the mesh"),
    "ops": (4, 20, 425, MIDDLE, "linears and their float8 recipe, attention, shape checks"),
    "tuning": (4, 775, 890, SIDE, "what NCCL costs"),
    "topology": (4, 905, 1020, SIDE, "nodes' wires"),
    "parallel": (5, 260, 720, MIDDLE, "FSDP: weights in, gradients out; tensor parallelism"),
    "model": (6, 20, 480, MIDDLE, "Llama, forward and backward; its parameters"),
    "tokenizer": (7, 20, 150, HIGH, "text to token ids"),
    "data": (7, 175, 315, HIGH, "token files, sampler"),
    "optim": (7, 325, 440, HIGH, "AdamW, schedules"),
    "checkpoints": (7, 450, 595, HIGH, "save, restore, export"),
    "metrics": (7, 605, 742, HIGH, "MFU, metrics files"),
    "run_config": (8, 215, 580, HIGH, "every option of a run: help, checks, resuming"),
    "owner": (9, 590, 742, HIGH, "who has a run"),
    "corpus": (9, 20, 200, HIGH, "text in, token files out"),
    "train": (10, 215, 580, HIGH, "a run: step, plan, start, health, loop"),
    "report": (10, 595, 720, HIGH, "runs read back"),
    "evaluate": (11, 20, 580, HIGH, "how likely texts are to a model, and tasks"),
    "jobs": (12, 20, 1020, ROOF, "the programs octet, octet-train, octet-evaluate and octet-commbench; scripts"),
    "tests": (13, 20, 1020, ROOF, "a folder a room, and the checks of the source"),
}
# Where an arrow goes down, when it is not the middle of what the boxes have above each other. An arrow whose place is
# not below its box leaves the box at the side.
PLACES = {
    ("comm", "profile"): 330,
    ("ops", "tensor"): 412,
    ("owner", "cluster"): 765,
    ("run_config", "cluster"): 755,
    ("tokenizer", "base"): 10,
    ("model", "ops"): 130,
    ("parallel", "ops"): 340,
    ("parallel", "comm"): 640,
    ("tuning", "comm"): 700,
    ("corpus", "data"): 188,
    ("train", "owner"): 592,
    ("data", "parallel"): 600,  # of the frame that begins with data
}


def path_of(room):
    return room if room in rooms.OUTSIDE_SRC else f"src/{room}"


def arrows():
    """(from, to, whether it is for interface headers alone), for rooms that are drawn."""
    found = []
    for room in BOXES:
        below = [name for name in rooms.ROOMS[room].split() if name in BOXES]
        for name in below:
            if not any(name in rooms.reach(rooms.ROOMS[other]) for other in below if other != name):
                found.append((room, name, False))
        lent = {rooms.room_of(path) for path, to in rooms.INTERFACES.items() if room in to.split()}
        found += [(room, name, True) for name in sorted(lent - rooms.reach(rooms.ROOMS[room]))]
    return found


def frames():
    """Rooms side by side that may include the same: one frame, from which the arrows go."""
    groups = {}
    for room, (row, *_) in BOXES.items():
        groups.setdefault((row, rooms.ROOMS[room]), []).append(room)
    return [group for group in groups.values() if len(group) > 2]


def top_of(row):
    return TOP + (max(box[0] for box in BOXES.values()) - row) * ROW


def crossed(x, upper, lower):
    """The boxes of the rows between that a line at x would go through."""
    return [name for name, (row, left, right, *_) in BOXES.items() if lower < row < upper and left <= x <= right]


def arrow(room, target, dashed, frame):
    row, left, right, *_ = BOXES[room]
    lower, target_left, target_right, *_ = BOXES[target]
    start = top_of(row) + BOX
    if frame:
        left, right = min(BOXES[r][1] for r in frame) - 10, max(BOXES[r][2] for r in frame) + 10
        start += 6
    x = PLACES.get((room, target), (max(left, target_left) + min(right, target_right)) // 2)
    if lower >= row or crossed(x, row, lower) or not target_left <= x <= target_right:
        raise ValueError(f"the arrow from {room} to {target} does not go down freely at x = {x}")
    line = f"M{x} {start}"
    if not left <= x <= right:
        line = f"M{left if x < left else right} {top_of(row) + BOX // 2}H{x}"
    style = ' stroke-dasharray="5 4"' if dashed else ""
    return f'  <path d="{line}V{top_of(lower) - 2}"{style} class="arrow"/>'


def draw():
    """The picture's text."""
    height = TOP + (max(box[0] for box in BOXES.values()) + 1) * ROW + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="The rooms of Octet, lowest at the bottom">',
        "  <!-- Drawn by docs/draw_rooms.py from the table of tests/checks/rooms.py. -->",
        "  <style>",
        "    text { font-family: sans-serif; text-anchor: middle; fill: #222; }",
        "    .room { font-size: 15px; font-weight: bold; }",
        "    .what { font-size: 12px; }",
        "    .note { font-size: 12px; fill: #555; }",
        "    .arrow { fill: none; stroke: #555; stroke-width: 1.4; marker-end: url(#head); }",
        "  </style>",
        '  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
        '    <path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
        f'  <rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    framed = {room: group for group in frames() for room in group}
    for group in frames():
        left, right = min(BOXES[r][1] for r in group) - 10, max(BOXES[r][2] for r in group) + 10
        lines.append(f'  <rect x="{left}" y="{top_of(BOXES[group[0]][0]) - 6}" width="{right - left}" '
                     f'height="{BOX + 12}" rx="8" fill="#fff" stroke="#999" stroke-dasharray="2 3"/>')
    drawn = set()
    for room, target, dashed in arrows():
        group = framed.get(room, [])
        if not group or (group[0], target) not in drawn:
            lines.append(arrow(room, target, dashed, group))
        drawn.add((group[0] if group else room, target))
    for room, (row, left, right, colour, what) in BOXES.items():
        if max(len(what) * 6.4, len(path_of(room)) * 9) > right - left - 6:
            raise ValueError(f"the text of {room} does not fit its box")
        middle, top = (left + right) // 2, top_of(row)
        lines += [f'  <rect x="{left}" y="{top}" width="{right - left}" height="{BOX}" rx="6" fill="{colour}" stroke="#666"/>',
                  f'  <text x="{middle}" y="{top + 18}" class="room">{path_of(room)}</text>',
                  f'  <text x="{middle}" y="{top + 34}" class="what">{what}</text>']
    lines += [f'  <text x="{WIDTH // 2}" y="{height - 10}" class="note">A room may include every room that its arrows '
              "lead to, in one step or several. Dashed arrows stand for interface headers alone.</text>", "</svg>", ""]
    return "\n".join(lines)


def missing(root):
    """Rooms of the table that have a folder and no box."""
    return [room for room in rooms.ROOMS if room not in BOXES and os.path.isdir(os.path.join(root, path_of(room)))]


def main():
    lost = missing(os.path.join(HERE, ".."))
    if lost:
        sys.exit(f"draw_rooms: no box for {', '.join(lost)}")
    with open(os.path.join(HERE, "rooms.svg"), "w", encoding="utf-8") as file:
        file.write(draw())


if __name__ == "__main__":
    main()
