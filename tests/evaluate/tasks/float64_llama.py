"""transformers' Llama in float64 from end to end, as the truth that float32 implementations are held to.

`dtype=torch.float64` alone leaves its norms, the angles of RoPE and their cosines in float32.
"""
import torch
from transformers.models.llama import modeling_llama


def norm(self, hidden_states):
    variance = hidden_states.pow(2).mean(-1, keepdim=True)
    return self.weight * (hidden_states * torch.rsqrt(variance + self.variance_epsilon))


def rotary(self, x, position_ids):
    freqs = position_ids[..., None].double() * self.inv_freq.double()
    emb = torch.cat((freqs, freqs), dim=-1)
    return emb.cos() * self.attention_scaling, emb.sin() * self.attention_scaling


class Float64:
    """While it is entered, models compute so that were loaded in float64."""

    def __enter__(self):
        self.before = modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward
        modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward = norm, rotary

    def __exit__(self, *error):
        modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward = self.before
