"""`for each in x` over long tensors, whose views are made when the loop gets there."""

from __future__ import annotations

import time

from oracle import agreement_of, programs_of

import jaxvjp

LONG = 1 << 14


def writes_on_the_way(torch):
    x, seen, kept = torch.arange(float(LONG)), [], None
    for place, each in enumerate(x):
        if place == 3:
            each.add_(10)
            seen += [x[3].item(), each._base is x, each.storage_offset(), each._version, x._version]
        if place == 4:
            x.mul_(2)
        if place == 5:
            kept = each
        if place == 6:
            x.resize_(3)
        if place < 8:
            seen.append(each.item())
    return seen, place, kept, kept.requires_grad, kept.is_leaf, x


def rows_of_a_permuted_tensor(torch):
    rows = iter(torch.arange(2.0 * LONG).view(2, LONG).t())
    next(rows)
    row = next(rows)
    row.fill_(7)
    return row, row.stride(), row.storage_offset(), row._base, next(rows)


def of_a_leaf(torch):
    x = torch.ones(LONG, requires_grad=True)
    first, second, *_ = x
    (first * second * 3).backward()
    return first.requires_grad, x.grad


def what_numpy_writes_on_the_way(torch):
    x = torch.zeros(LONG)
    array, elements = x.numpy(), iter(x)
    next(elements)
    array[1] = 5
    return next(elements)


def under_no_grad_and_in_inference_mode(torch):
    found = []
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            x = torch.ones(LONG)
            each = next(iter(x))
            each.add_(1)
            found += [x[0], each.is_inference()]
    return found


def inside_vmap(torch):
    return torch.func.vmap(lambda x: sum(list(x)[:3]))(torch.ones(2, LONG))


def of_other_kinds(torch):
    meta = next(iter(torch.ones(LONG, 2, device="meta")))
    return (
        next(iter(torch.ones(LONG, dtype=torch.bfloat16))),
        next(iter(torch.ones(LONG, 0))),
        meta.shape,
        str(meta.device),
    )


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_asking_each_element_runs_no_program():
    x = jaxvjp.arange(4.0 * LONG) >= 0
    start = time.process_time()
    assert all(x)
    assert time.process_time() - start < 4  # 0.5 s; with a program for each 5 s
