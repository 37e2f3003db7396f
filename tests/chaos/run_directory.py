"""What a run directory says, as docs/run-directories.md describes it, and the log of a start."""
import json
import os
import pathlib
import re


def read_json(path):
    """None where there is no such file or it is no JSON."""
    try:
        return json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return None


class RunDirectory:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def lines(self, name):
        """(those that are JSON, those that are not) of a file of lines."""
        good, bad = [], []
        try:
            text = (self.path / name).read_text(errors="replace")
        except OSError:
            return good, bad
        for line in text.splitlines():
            try:
                good.append(json.loads(line))
            except ValueError:
                bad.append(line)
        return good, bad

    def metrics(self):
        return self.lines("metrics.jsonl")[0]

    def last_step(self):
        return max((line["step"] for line in self.metrics()), default=0)

    def checkpoints(self):
        """Folder by step of those that are committed."""
        folders = (self.path / "checkpoints").glob("step-*") if self.path.exists() else []
        found = {folder: re.fullmatch(r"step-(\d{6,})", folder.name) for folder in folders}
        return {int(match[1]): folder for folder, match in found.items() if match}

    def set_aside(self):
        """Steps that have a folder step-N.damaged."""
        return {int(folder.name.split(".")[0].split("-")[1])
                for folder in (self.path / "checkpoints").glob("step-*.damaged*")}

    def status(self, since=0):
        """None where none was written since that time (in ns since the epoch)."""
        path = self.path / "status.json"
        try:
            return read_json(path) if path.stat().st_mtime_ns >= since else None
        except OSError:
            return None

    def owner(self):
        return read_json(self.path / "owner.json")

    def failures(self):
        """Lines of failure.txt."""
        try:
            return (self.path / "failure.txt").read_text().splitlines()
        except OSError:
            return []

    def files(self):
        """Relative paths of all files, and of empty folders with a slash."""
        found = []
        for folder, folders, files in os.walk(self.path):
            relative = pathlib.Path(folder).relative_to(self.path)
            found += [str(relative / name) for name in files]
            if not folders and not files:
                found.append(f"{relative}/")
        return sorted(found)


class Log:
    """What a start said."""

    def __init__(self, text):
        self.text = text

    @property
    def resumed(self):
        """The step of the checkpoint that the start went on from; None where the log does not say it."""
        match = re.search(r"resumed from \S+: step (\d+)", self.text)
        return int(match[1]) if match else None

    @property
    def committed(self):
        """Steps whose checkpoints were announced."""
        pattern = r"checkpoint of step (\d+)(?:: | was )committed"
        return {int(step) for step in re.findall(pattern, self.text)}

    @property
    def trained(self):
        """Steps of which there is a line."""
        return [int(step) for step in re.findall(r"^step: +(\d+) ", self.text, re.M)]

    @property
    def errors(self):
        return re.findall(r"^\S+ \S+ E .*", self.text, re.M)

    def says(self, words):
        return words in self.text
