"""What lies in checkpoints (docs/checkpoint-format.md) and in Hugging Face folders."""
import json
import pathlib

import h5py
import safetensors.torch
import torch

HUGGING_FACE_NAMES = {
    "embed_tokens": "tok_embeddings", "input_layernorm": "attention_norm", "lm_head": "output",
    "post_attention_layernorm": "ffn_norm", "self_attn": "attention", "mlp": "feed_forward", "q_proj": "wq",
    "k_proj": "wk", "v_proj": "wv", "o_proj": "wo", "gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}


class Checkpoint:
    """Its `state`, and its tensors by the part of the name before the slash: master, first_moment, second_moment, float8."""

    def __init__(self, folder):
        manifest = json.loads((folder / "manifest.json").read_text())
        self.state, self.tensors = manifest["state"], {}
        whole = [torch.empty(t["shape"]) for t in manifest["tensors"]]
        for t, f, offset, extent in manifest["pieces"]:
            name, box = manifest["tensors"][t]["name"], tuple(slice(o, o + e) for o, e in zip(offset, extent))
            with h5py.File(folder / manifest["files"][f]["name"]) as file:
                whole[t][box] = torch.from_numpy(file[f"{name}/@{','.join(map(str, offset))}"][...])
        for t, tensor in zip(manifest["tensors"], whole):
            part, name = t["name"].split("/", 1)
            self.tensors.setdefault(part, {})[name] = tensor

    def part(self, name):
        return self.tensors.get(name, {})


def newest_checkpoint(run):
    return Checkpoint(max((run / "checkpoints").glob("step-??????")))


def hugging_face_weights(folder):
    weights = {}
    for file in pathlib.Path(folder).glob("*.safetensors"):
        for name, x in safetensors.torch.load_file(file).items():
            parts = name.removeprefix("model.").split(".")
            weights[".".join(HUGGING_FACE_NAMES.get(p, p) for p in parts)] = x.float()
    return weights
