import torch

from blocklib import nn, show
from blocklib.lab import corpus, reference
from blocklib.nn.generate import generate

model = nn.load(reference.FOLDER)
tokenizer = corpus.tokenizer(2048)
ids = tokenizer.encode("The state of the Union is").ids
written = generate(model, torch.tensor([ids]), 7)
show(tokenizer.decode(written[0].tolist()))
