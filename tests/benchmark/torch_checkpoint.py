#!/usr/bin/env python3
"""PyTorch's side of compare_checkpoints.sh: torch.distributed.checkpoint on the tensors that are listed on standard
input before an empty line; then a command a line, answered by a line of JSON each: save (fsync on, as is its default), load,
and async (async_save: seconds until it returns, and until it has written)."""

import json
import os
import shutil
import sys
import time
import warnings

import torch
import torch.distributed
import torch.distributed.checkpoint as dcp

warnings.filterwarnings("ignore")


def read_tensors():
    tensors = {}
    for line in sys.stdin:
        if not line.strip():
            break
        name, rows, columns = line.split()
        shape = (int(rows), int(columns)) if int(columns) else (int(rows),)
        tensors[name] = torch.randn(shape)
    return tensors


def replace(folder, new):
    """The checkpoint before goes when the new one is whole, as a run keeps it."""
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(new, folder)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    folder = sys.argv[1]
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}.rendezvous", rank=0, world_size=1)
    tensors = read_tensors()
    size = sum(t.numel() * t.element_size() for t in tensors.values())

    new = folder + ".new"

    def writer():
        return dcp.FileSystemWriter(new, sync_files=True)

    def save():
        seconds = timed(lambda: dcp.save(tensors, storage_writer=writer()))
        replace(folder, new)
        return {"seconds": seconds}

    def load():
        return {"seconds": timed(lambda: dcp.load(tensors, storage_reader=dcp.FileSystemReader(folder)))}

    def save_in_background():
        start = time.perf_counter()
        future = dcp.async_save(tensors, storage_writer=writer())
        stall = time.perf_counter() - start
        getattr(future, "upload_completion", future).result()
        seconds = time.perf_counter() - start
        replace(folder, new)
        return {"stall": stall, "seconds": seconds}

    commands = {"save": save, "load": load, "async": save_in_background}
    print(json.dumps({"torch": torch.__version__, "bytes": size}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"bytes": size, **commands[line.strip()]()}), flush=True)
    torch.distributed.destroy_process_group()
    os.unlink(folder + ".rendezvous") if os.path.exists(folder + ".rendezvous") else None


if __name__ == "__main__":
    main()
