import torch

from blocklib import Text, show
from blocklib.nn.attention import attention_weights

names = Text("猫", "cat"), Text("追", "hunts"), Text("鼠", "mouse")
# entries: noun, verb, big, small; every row has length √2
x = torch.tensor([[1.0, 0, 1, 0], [0, 2**0.5, 0, 0], [1, 0, 0, 1]])

w_q = torch.zeros(4, 2)
w_q[1] = torch.tensor([4.0, 2.0])   # a verb asks for a noun, a big one
w_k = torch.zeros(4, 2)
w_k[0, 0] = w_k[2, 1] = 1           # found by: noun, big
w_v = torch.zeros(4, 2)
w_v[2, 0], w_v[3, 1] = 3, -3        # passed on: size, with its sign

weights = attention_weights(x @ w_q, x @ w_k)
verb = weights[1]
show.table((Text("「追」在读", "“hunts” reads"), *names),
           [(Text("权重", "weight"), *(f"{w:.2f}" for w in verb))])
received = verb @ (x @ w_v)
show(Text("它收到：", "it receives:"), *(f"{v:.2f}" for v in received))
