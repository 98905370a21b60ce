"""One thread and a fixed seed, so that a discrepancy is the same on every machine and in every order."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def reproducible():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
