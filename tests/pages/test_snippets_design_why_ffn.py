"""What the blocks of the essay's chapter on why there is an FFN print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_agreement(run_snippet, lang):
    rows = [line.split()[-3:] for line in run_snippet("design/why_ffn/agreement.py", lang)[2:]]
    assert rows == [[c, "0.00", f"{c}.00"] for c in ("-1", "+1", "+1", "-1")]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_head_as_neuron(run_snippet, lang):
    rows = [line.split() for line in run_snippet("design/why_ffn/head_as_neuron.py", lang)[2:]]
    assert len(rows) == 3 and all(head == neuron for _, head, neuron in rows)
    assert len({reading for reading, _, _ in rows}) == 3


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_mixer(run_snippet, lang):
    attention, mixer = run_snippet("design/why_ffn/mixer.py", lang)[2:]
    assert "(1, 7, 8)" in attention and attention.split()[-1] == "0.00"
    assert ("拒绝" if lang == "zh" else "refused") in mixer and float(mixer.split()[-1]) > 0.5
