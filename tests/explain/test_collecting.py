"""What the rounds of a loop give to a list is appended to a list in the printed program, too."""

from __future__ import annotations

import pytest
from test_source import run_lines

START = """
w = torch.tensor([[0.5, -0.3], [0.2, 0.9]], requires_grad=True)
xs = torch.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8], [0.9, 1.0]])
h, found = torch.zeros(2), []
with explain.recording() as story:
    for x in xs:
        {step}
    y = {end}
    y.sum().backward()
"""
APPENDED = {
    "the state": ("h = torch.tanh(x + h @ w); found.append(h)", "torch.stack(found)", "hs.append(h)"),
    "the state, which is read after it": (
        "h = torch.tanh(x + h @ w); found.append(h)",
        "torch.cat(found) * h.repeat(5)",
        "hs.append(h)",
    ),
    "another value": ("h = torch.tanh(x + h @ w); o = h.exp(); found.append(o)", "torch.stack(found)", "os.append(o)"),
    "two lists": (
        "h = torch.tanh(x + h @ w); o = h.exp(); found.append(h); seen.append(o)",
        "torch.stack(found) * torch.stack(seen)",
        "os.append(o)",
    ),
    "values without a name": ("found.append((x * w).sin().sum())", "torch.stack(found)", "append("),
}


@pytest.mark.parametrize("name", APPENDED)
def test_values_of_rounds_are_appended_to_a_list(name):
    step, end, appended = APPENDED[name]
    story = run_lines("seen = []" + START.format(step=step.replace("; ", "\n        "), end=end))["story"]
    story.check()
    lines = [line.partition("  #")[0].strip() for line in story.source.splitlines()]
    assert any(appended in line for line in lines)
    assert sum("jnp.tanh" in line or "jnp.sin" in line for line in lines) == 1


READ = {
    "when the next one is there": ("h = torch.tanh(x + h @ w); found.append(h)", "torch.stack(found) + found[1]"),
    "twice by a list": ("h = torch.tanh(x + h @ w); found.append(h)", "torch.stack(found + found[:1])"),
    "in another order": ("h = torch.tanh(x + h @ w); found.insert(0, h)", "torch.stack(found)"),
}


@pytest.mark.parametrize("name", READ)
def test_no_list_is_appended_to_where_values_are_read_otherwise(name):
    step, end = READ[name]
    story = run_lines(START.format(step=step.replace("; ", "\n        "), end=end))["story"]
    story.check()
    assert "append" not in story.source
