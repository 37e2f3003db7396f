#!/usr/bin/env python3
"""Prints what TensorBoard itself reads in a folder of event files, as JSON: {tag: [[step, value], ...]}.

Usage: tests/metrics/read_events.py FOLDER      exit 3 when the package tensorboard is not there.
"""
import json
import sys

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
