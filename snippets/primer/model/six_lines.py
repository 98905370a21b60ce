import torch

from blocklib import Text, show
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.ffn import FeedForward
from blocklib.nn.model import DecoderLM

torch.manual_seed(0)
V, d, N, T = 50, 16, 3, 8
blocks = [PreNormBlock(d, MultiHeadAttention(d, n_heads=4, causal=True), FeedForward(d))
          for _ in range(N)]
model = DecoderLM(V, d, blocks, positions=T)

ids = torch.randint(V, (1, T))
with torch.no_grad():
    logits = model(ids)
    other = model(torch.cat([ids[:, :5], torch.randint(V, (1, 3))], dim=1))
show(Text("编号", "ids"), tuple(ids.shape), "→", Text("打分", "scores"), tuple(logits.shape))
show(Text("换掉后三个 token，前五个位置的打分不变：",
          "replace the last three tokens, and the first five scores stay:"),
     torch.allclose(logits[:, :5], other[:, :5], atol=1e-6))
