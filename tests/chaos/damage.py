"""Damage of the newest checkpoint between two starts, as a disk or a person may do it."""
import os


def _flip(path, rng):
    at, bit = rng.random(), 1 << rng.randrange(8)
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(int(at * size))
        byte = file.read(1)[0]
        file.seek(int(at * size))
        file.write(bytes([byte ^ bit]))


def _truncate(path, rng):
    os.truncate(path, int(rng.random() * path.stat().st_size))


def _remove(path, rng):
    del rng
    path.unlink()


WAYS = {"flipped byte": _flip, "truncated file": _truncate, "removed file": _remove}


def damage_newest(checkpoints, damaged, rng):
    """Damages the newest whole checkpoint. `checkpoints`: folder by step; `damaged`: steps that are damaged already.
    Returns its step, what was done and the file, or None where no whole one would be left, since a run without any is
    refused."""
    way, which = rng.choice(list(WAYS)), rng.random()
    whole = sorted(set(checkpoints) - damaged)
    if len(whole) < 2:
        return None
    folder = checkpoints[whole[-1]]
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("view.h5"))  # no part of it
    path = files[int(which * len(files))]
    WAYS[way](path, rng)
    return whole[-1], way, path
