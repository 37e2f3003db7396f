"""Run directories for the check of the report's page, made up: curves of a plausible shape, with all that a page shows."""
import json
import math
import os

KINDS = ["gemm", "attention", "memory_bound", "exposed_communication", "overlapped_communication", "host", "idle"]


def line(step, restarts, scale, gap=False):
    loss = None if gap else scale * (1.6 + 4.5 * math.exp(-step / 60) + 0.03 * math.sin(1.7 * step))
    speed = 20000 / scale * (0.4 if step in (1, 121) else 1 + 0.02 * math.sin(step))
    out = {"step": step, "loss": loss}
    if step % 50 == 0:
        out["validation_loss"] = scale * (1.65 + 4.5 * math.exp(-step / 60))
    out.update(grad_norm=scale * 0.3 + 2 * math.exp(-step / 40) + 0.05 * math.sin(3 * step), lr=scale * 2e-3 * min(1, step / 40, (301 - step) / 100),
               tokens=step * 4096, tokens_per_second=speed, tokens_per_second_per_rank=speed / 2, tflops=speed / 100,
               mfu=speed / 500, mfu_mixed=speed / 700, memory_bytes=int(scale * 8 * 2**30), interval_steps=1,
               step_seconds=4096 / speed, data_seconds=scale * 0.001 + 0.0005 * math.sin(step) ** 2,
               validation_seconds=0.3 if step % 50 == 0 else 0.0, checkpoint_stall_seconds=0.1 if step % 50 == 1 else 0.0,
               wait_seconds=0.002, non_finite=3 if gap else 0, restarts=restarts)
    return json.dumps(out)


def profile():
    def seconds(rank):
        own = [0.40, 0.08, 0.12, 0.05 + 0.02 * rank, 0.21, 0.03, 0.06]
        return dict(zip(KINDS, own))

    def wall(times):
        return sum(value for kind, value in times.items() if kind != "overlapped_communication")
    ranks = [{"rank": r, "node": f"node{r // 2}", "wall": wall(seconds(r)), "seconds": seconds(r)} for r in range(4)]
    names = ["gemm_e4m3_e4m3<256, 128>", "flash_attention", "all_gather", "rmsnorm", "swiglu"]
    kernels = [{"name": names[i % 5] + ("" if i < 5 else f"_{i}"), "kind": ["gemm", "attention", "exposed_communication", "memory_bound", "memory_bound"][i % 5],
                "phase": ["forward", "backward"][i % 2], "calls": 24 * (i + 1), "seconds": 0.2 / (i + 1) ** 2, "bytes": 1e9 / (i + 1)}
               for i in range(50)]
    return {"steps": [11, 13], "ranks": ranks, "kernels": kernels}


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def make_run(folder, steps, scale=1.0, state="finished", restarts=0, precision="bf16", gap=None, reason="all steps done",
             exit_code=0, unfinished="", with_profile=False):
    """A run of that many steps; with restarts, the first one goes on from step 120 and does 7 steps again."""
    count = [0 if restarts == 0 or step <= 120 else 1 for step in range(1, steps + 1)]
    lines = [line(step, count[step - 1], scale, step == gap) for step in range(1, steps + 1)]
    write(folder, "metrics.jsonl", "\n".join(lines) + "\n" + unfinished)
    if restarts:
        write(folder, "metrics.discarded.jsonl", "\n".join(line(step, 0, scale) for step in range(121, 128)) + "\n")
    write(folder, "status.json", json.dumps({"state": state, "reason": reason, "exit_code": exit_code, "step": steps, "steps": 300,
                                             "restarts": restarts, "time": "2026-01-02T03:04:05Z"}))
    write(folder, "config.yaml", f"model: 8b\nprecision: {precision}\ndevice: cuda\nrun:\n  dir: {folder}\ntrain:\n  seq_len: 512\n"
          "  global_batch: 8\n  log_every: 1\nparallel:\n  dp_replicate: 1\n  dp_shard: 2\n  tp: 1\nfloat8:\n  recipe: tensorwise\n"
          f"data:\n  train: [{{path: \"data/</script><b>\", weight: 1}}]\noptimizer:\n  lr: {2e-3 * scale}\n")
    if with_profile:
        write(folder, "profile.json", json.dumps(profile()))
    return folder


def make_runs(folder):
    """Four runs: restarted, plain with a profile, one whose loss was not finite once, one that is going on."""
    def place(name):
        return os.path.join(folder, name)
    return [make_run(place("bf16"), 300, restarts=1, with_profile=True),
            make_run(place("float8"), 300, 1.08, precision="float8", with_profile=True),
            make_run(place("float8-high-lr"), 200, 1.25, precision="float8", state="failed", exit_code=77, gap=180,
                     reason="loss is not finite </script><img src=x onerror=alert(1)>"),
            make_run(place("float8-live"), 150, 1.4, precision="float8", state="running", reason="", unfinished='{"step":151,"lo')]


def make_twins(folder):
    """Two runs whose curves are the same."""
    return [make_run(os.path.join(folder, name), 300) for name in ("one", "same")]
