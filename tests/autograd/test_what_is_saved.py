"""What a backward step has saved, told by writing it: torch's error comes for that, and for nothing else.

Also what random programs found beside it: hooks, names of steps in place, `data` of another type.
"""

from __future__ import annotations

import pytest
from functions import doubled
from oracle import agree, agreement_of, programs_of, raises


def written(torch, call, *shapes):
    """For each operand and each result of `call`: whether the backward fails after it was written."""
    told = []
    for which in range(9):
        operands = [torch.arange(24.0)[: torch.Size(each).numel()].reshape(each) / 7 + 0.3 for each in shapes]
        operands = [each.requires_grad_().clone() for each in operands]
        results = call(*operands)
        results = list(results) if isinstance(results, tuple) else [results]
        given = [each for each in (*operands, *results) if each.requires_grad]
        if which == len(given):
            break
        given[which].detach().zero_()
        try:
            sum(each.sum() for each in results if each.requires_grad).backward()
        except RuntimeError as error:
            told.append("modified by an inplace operation" in str(error))
        else:
            told.append(None)
    return told


def an_operand_of_another_type_is_saved_as_it_is(torch):
    told = []
    for call in (
        lambda x, y: x * y,
        lambda x, y: y / x,
        lambda x, y: x.detach() * y,
        lambda x, y: x * y.double(),
        lambda x, y: x.pow(y),
        lambda x, y: torch.atan2(x, y[1:]),
        lambda x, y: x + y,
        lambda x, y: torch.where(x > 0, x, y),
    ):
        x = torch.ones(1, dtype=torch.float64, requires_grad=True) * 2
        y = torch.full((3,), 2.0, requires_grad=True) * 1
        result = call(x, y)
        y.detach().zero_()
        try:
            result.sum().backward()
        except RuntimeError as error:
            told.append("modified by an inplace operation" in str(error))
        else:
            told.append(None)
    return told


def a_function_that_writes_drops_what_was_retained(torch):
    y = torch.ones(3, requires_grad=True).sum()
    y.retain_grad()
    y.backward()
    before = y.grad
    doubled(torch)(y)
    return before, y.grad, y.retains_grad, y.requires_grad


CALLS = {
    "gather": (lambda torch, x: x.gather(0, torch.zeros((2, 2), dtype=torch.long)), (3, 2)),
    "take": (lambda torch, x: x.take(torch.tensor([1, 2])), (3, 2)),
    "take_along_dim": (lambda torch, x: x.take_along_dim(torch.zeros((1, 2), dtype=torch.long), 0), (3, 2)),
    "masked_select": (lambda torch, x: x.masked_select(x > 0.5), (3, 2)),
    "index_copy": (lambda torch, x, y: x.index_copy(0, torch.tensor([1]), y), (3, 2), (1, 2)),
    "index_add": (lambda torch, x, y: x.index_add(0, torch.tensor([1]), y), (3, 2), (1, 2)),
    "put": (lambda torch, x, y: x.put(torch.tensor([1, 2]), y), (3, 2), (2,)),
    "fmod": (lambda torch, x, y: x.fmod(y), (3, 2), (2,)),
    "fmod of a number": (lambda torch, x: x.fmod(0.4), (3, 2)),
    "fmod of a constant": (lambda torch, x, y: x.fmod(y.detach()), (3, 2), (2,)),
    "remainder": (lambda torch, x, y: x.remainder(y), (3, 2), (2,)),
    "copysign": (lambda torch, x, y: x.copysign(y), (3, 2), (2,)),
    "complex": (lambda torch, x, y: torch.complex(x, y).abs(), (3,), (3,)),
    "float_power": (lambda torch, x, y: x.float_power(y), (3,), (3,)),
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (2,), w, b), (3, 2), (2,), (2,)),
    "tanhshrink": (lambda torch, x: torch.nn.functional.tanhshrink(x), (3,)),
    "sort": (lambda torch, x: tuple(x.sort()), (3,)),
    "max": (lambda torch, x: tuple(x.max(0)), (3, 2)),
    "cummax": (lambda torch, x: tuple(x.cummax(0)), (3, 2)),
    "qr": (lambda torch, x: tuple(torch.linalg.qr(x)), (3, 2)),
    "svd": (lambda torch, x: (torch.linalg.svd(x, full_matrices=False)[1],), (3, 2)),
    "eigh": (lambda torch, x: (torch.linalg.eigh(x @ x.T + torch.eye(2))[0],), (2, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_is_saved(name):
    call, *shapes = CALLS[name]
    agree(lambda torch: written(torch, lambda *operands: call(torch, *operands), *shapes))


def a_result_that_a_view_in_place_has_saved(torch):
    """`relu_` of a view saves its result, which a later write to the view changes."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, 2).t()
    b[0].mul_(0.5 * a)
    assert b.grad_fn is not None  # until then torch takes it for a leaf
    b.relu_()
    b[0].mul_(0.5 * a)
    try:
        (b * b).sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)


def the_steps_of_shapes_changed_in_place_have_their_own_numbers(torch):
    calls = ["unsqueeze_(0)", "squeeze_()", "squeeze_(0)", "squeeze_((0,))", "transpose_(0, 1)", "t_()"]
    calls += ["swapdims_(0, 1)", "swapaxes_(0, 1)", "as_strided_((2,), (1,))"]
    names = []
    for call in calls:
        x = torch.ones(1, 2, requires_grad=True) * 2
        names.append(eval(f"x.{call}", {"x": x}).grad_fn.name())
    return names


def a_gradient_through_a_reentrant_checkpoint_has_no_graph(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    a = torch.arange(6.0).reshape(3, 2).requires_grad_()
    b = checkpoint(lambda x, y: x * y, a * 2, a, use_reentrant=True)
    (b * b).sum().backward(create_graph=True)
    return a.grad, a.grad.requires_grad


def aliases_of_a_tensor_of_inference_mode_may_be_written(torch):
    with torch.inference_mode():
        x = torch.ones(3) * 2
    x.data += 1
    y = x.detach()
    y.mul_(2)
    told = [x.tolist(), y.tolist(), y._version, y.is_inference()]
    try:
        with torch.no_grad():
            x.add_(1)
    except RuntimeError as error:
        told.append(str(error)[:40])
    return told


def a_function_writes_what_was_reshaped_in_place(torch):
    b = torch.arange(3.0).requires_grad_()
    d = b * 2
    alias = d.detach()
    d.unsqueeze_(0)
    doubled(torch)(d)
    told = [d.shape, d.stride(), alias, d.detach()]
    d.sum().backward()
    return [*told, b.grad]


def a_view_that_a_function_wrote_may_be_written_again(torch):
    b, c = torch.ones(3, 2).t(), torch.tensor(2.0, requires_grad=True)
    doubled(torch)(b)
    b[0] = c
    b.sum().backward()
    return b.detach(), c.grad


def data_of_another_layout_and_of_another_type(torch):
    b = torch.arange(6.0).view(2, 3).t().requires_grad_()
    c = b - b.mean(0)
    with torch.no_grad():
        c.set_(torch.ones(3, 2))
    told = [c.stride(), c.tanh_().stride()]
    c = b.double() * b
    c.data = torch.ones(3, 2)
    c.backward(torch.ones(3, 2))
    told += [str(c.dtype), b.grad.clone()]
    c = b * b
    c.data = torch.ones(3, 2).double()
    c.backward(torch.ones(3, 2).double())
    return [*told, str(c.dtype), b.grad]


def hooks_are_called_leaf_by_leaf(torch):
    calls = []
    b, c = torch.arange(3.0).requires_grad_(), torch.tensor(2.0, requires_grad=True)
    b.register_hook(lambda gradient: calls.append("b"))
    c.register_hook(lambda gradient: calls.append("c"))
    for each, name in ((b, "b after"), (c, "c after")):
        each.register_post_accumulate_grad_hook(lambda leaf, name=name: calls.append((name, leaf.grad.sum().item())))
    for _ in range(3):
        (c * b.sum()).sum().backward()
    return calls


@raises(RuntimeError)
def a_bound_of_another_type(torch):
    torch.ones(3, dtype=torch.long).clamp_(0.5, 1.5)


@raises(NotImplementedError)
def a_running_sum_of_a_mask_in_place(torch):
    torch.ones(3, dtype=torch.bool).cumsum_(0)


def what_a_function_wrote_without_a_gradient_is_saved_as_it_is(torch):
    w, told = torch.tensor([1.0, 2.0], requires_grad=True), []
    for alias in (w.detach(), w.detach()[:1], torch.ones(2)):
        given = doubled(torch)(alias)
        y = w[: len(given)] * given
        torch.ones(2).mul_(2)  # a backward pass looks only for writes if there was one since
        y.sum().backward()
        told += [w.grad.clone(), w._version, alias._version]
    return told


def a_leaf_that_a_function_wrote_in_vain_is_saved_as_it_is(torch):
    w, said = torch.tensor([1.0, 2.0], requires_grad=True), []
    try:
        doubled(torch)(w)
    except RuntimeError as error:
        said.append(str(error).partition("\n")[0])
    y = w * w
    torch.ones(2).mul_(2)
    y.sum().backward()
    return said, w.grad, w._version


def what_is_saved_after_a_write_through_a_view_of_former_data(torch):
    w = torch.tensor([2.0], requires_grad=True)
    former = w[:]
    w.data = w.data * 2
    with torch.no_grad():
        former[0] = 7.0
    y = w * w
    torch.ones(2).mul_(2)
    y.sum().backward()
    return w, w.grad, former, w._version, former._version


def gradients_of_another_shape_than_the_grad_they_are_added_to(torch):
    w = torch.ones(3, requires_grad=True)
    w.sum().backward()
    w.data = torch.ones(1, 3)
    (w * w).sum().backward(create_graph=True)
    x = w.detach().squeeze(0).requires_grad_() * 0.5
    x.retain_grad()
    x.sum().backward(retain_graph=True)
    x.unsqueeze_(0)
    (x * x).sum().backward()
    return w.grad, x.grad.sum()


@raises(RuntimeError)
def a_gradient_of_another_shape_is_not_added_in_place(torch):
    w = torch.ones(3, requires_grad=True)
    w.sum().backward()
    w.data = torch.ones(1, 3)
    (w * w).sum().backward()


def what_is_saved_before_and_after_an_alias_gets_another_shape(torch):
    w, told = torch.ones(2, requires_grad=True), []
    for take in (lambda x: x[:0], lambda x: x[1:], lambda x: x.detach(), lambda x: x.data):
        for early in (True, False):
            x = torch.tensor([1.0, 2.0])
            alias = take(x)
            y = w * x if early else None
            alias.unsqueeze_(0)
            y = y if early else w * x
            torch.ones(2).mul_(2)
            try:
                y.sum().backward()
            except RuntimeError as error:
                told.append(str(error).partition(" Hint")[0])
            told.append((x._version, w.grad is None or w.grad.clone()))
    return told


def what_is_saved_after_a_write_through_a_view_of_data_without_a_gradient(torch):
    w, x = torch.ones(2, requires_grad=True), torch.tensor([1.0, 2.0])
    former = x[:]
    x.data = x.data * 2
    former.add_(1)
    y = w * x
    torch.ones(2).mul_(2)
    y.sum().backward()
    return w.grad, x._version, former


def a_converted_tensor_that_was_written_and_is_gone(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w.double()
    y = torch.nn.functional.softplus(x)
    x.add_(1)
    del x
    try:
        y.sum().backward()
    except RuntimeError as error:
        return str(error).partition(":")[0]


def a_write_to_what_hooks_have_packed_spoils_what_was_saved_before(torch):
    def leaf(kind):
        x = torch.arange(4.0)
        if kind == "chunk under no_grad":
            with torch.no_grad():
                return x.chunk(2)[1].requires_grad_()
        return {"whole": x[2:].clone(), "slice": x[2:], "chunk": x.chunk(2)[1]}[kind].requires_grad_()

    told = []
    for kind in ("whole", "slice", "chunk", "chunk under no_grad"):
        for write in (
            "a.detach().sub_(1)",
            "a.detach()[:1].sub_(1)",
            "(a if a._base is None else a._base).detach().sub_(1)",
        ):
            a, b, c = leaf(kind), torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            before = a * b
            with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x):
                after = a * c
            exec(write, {"a": a})
            for each in (before, after):
                try:
                    each.sum().backward()
                except RuntimeError as error:
                    told.append(str(error).partition(" Hint")[0])
            told.append((a._version, b.grad, c.grad, a.grad))
    return told


def what_a_hook_packs_has_the_count_of_writes(torch):
    told = []
    x, w = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, requires_grad=True)
    x.add_(1)
    x.mul_(2)
    with torch.no_grad():
        w.add_(1)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: told.append(saved._version) or saved, lambda x: x):
        y = w * x + w.t().reshape(2, 3) * x.t().reshape(2, 3) + w.double() * x
        (y * x).exp()
        (w[0] * w[1]).tanh()
    return told


test_agrees_with_torch = agreement_of(programs_of(globals()))
