#!/usr/bin/env python3
"""What tests/chaos draws: the same for a seed every time, and everything that there is; and its damage does damage."""
import pathlib
import random
import signal
import tempfile
import unittest

from damage import WAYS, damage_newest
from interruptions import WEIGHTS, Plan, draw_plan
from settings import LAYOUTS, draw_settings


class Drawing(unittest.TestCase):
    def test_a_seed_draws_the_same_again(self):
        for seed in range(50):
            one, two = (random.Random(seed) for _ in range(2))
            self.assertEqual(str(draw_settings(one)), str(draw_settings(two)))
            self.assertEqual(draw_plan(one, 4), draw_plan(two, 4))

    def test_all_kinds_and_layouts_are_drawn(self):
        rng = random.Random(1)
        self.assertEqual({draw_plan(rng, 2).kind for _ in range(500)}, set(WEIGHTS))
        layouts = {draw_settings(rng).layout for _ in range(500)}
        self.assertEqual(len(layouts), sum(map(len, LAYOUTS.values())))

    def test_a_lone_rank_is_not_frozen(self):
        rng = random.Random(1)
        self.assertNotIn("freeze", {draw_plan(rng, 1).kind for _ in range(500)})

    def test_a_plan_says_its_signal(self):
        self.assertIn("SIGUSR1", str(Plan("signal one", number=signal.SIGUSR1)))


class Damage(unittest.TestCase):
    CONTENT = {"manifest.json": b"{}", "writer-00000.h5": b"many bytes", "view.h5": b"no part of it"}

    def checkpoints(self, folder):
        for step in (4, 6):
            (folder / str(step)).mkdir()
            for name, content in self.CONTENT.items():
                (folder / str(step) / name).write_bytes(content)
        return {step: folder / str(step) for step in (4, 6)}

    def test_the_newest_whole_one_is_damaged(self):
        done = set()
        for seed in range(40):
            with tempfile.TemporaryDirectory() as folder:
                checkpoints = self.checkpoints(pathlib.Path(folder))
                step, way, path = damage_newest(checkpoints, set(), random.Random(seed))
                left = {path.name: path.read_bytes() for path in checkpoints[6].iterdir()}
                self.assertEqual(step, 6)
                self.assertEqual([name for name, content in self.CONTENT.items() if left.get(name) != content],
                                 [path.name])
                self.assertEqual({path.name: path.read_bytes() for path in checkpoints[4].iterdir()}, self.CONTENT)
                done.add(way)
        self.assertEqual(done, set(WAYS))

    def test_a_last_whole_one_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            checkpoints = self.checkpoints(pathlib.Path(folder))
            self.assertIsNone(damage_newest(checkpoints, {6}, random.Random(1)))


if __name__ == "__main__":
    unittest.main()
