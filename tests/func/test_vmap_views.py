"""What `vmap` gives shares memory with what it was given, under torch and under jaxvjp, as a view outside does."""

from __future__ import annotations

from oracle import agreement_of, programs_of


def _refusal(call):
    """The class and first line of the error that a call ends in; what it gives if in none."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].rstrip(". ")


def numbers(torch, *shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def views_of_each_row_are_a_view_of_the_batch(torch):
    def told(f, *shape, in_dims=0, out_dims=0):
        x = numbers(torch, *shape)
        y = torch.vmap(f, in_dims, out_dims)(x)
        y.mul_(10)
        return y._base is x, y.stride(), y.storage_offset(), y, x

    return (
        told(lambda row: row[1:], 3, 4),
        told(lambda row: row[1:], 3, 4, in_dims=1, out_dims=1),
        told(lambda m: m.t(), 2, 3, 4, in_dims=2),
        told(lambda m: m[0].view(2, 2), 2, 3, 4, in_dims=1, out_dims=-1),
        told(lambda m: m.diagonal().unsqueeze(0), 2, 3, 3),
        told(lambda m: m.unfold(0, 2, 2), 2, 4),
        told(torch.vmap(lambda row: row[:2]), 2, 3, 4),
        told(torch.vmap(lambda row: row[1], in_dims=1), 2, 3, 4),
        told(lambda row: row.unflatten(0, (2, 2)).movedim(0, 1), 3, 4),
    )


def what_is_the_argument_is_the_argument(torch):
    x, z = numbers(torch, 2, 3), numbers(torch, 2, 3)
    y = torch.vmap(lambda row: row.mul_(2))(x)
    turned = torch.vmap(lambda row: row, out_dims=1)(x)
    x.add_(1)
    part = torch.vmap(lambda row: row[:1], chunk_size=1)(z)
    return y is x, turned._base is x, y, turned, part._base is z, torch.vmap(lambda row: row, chunk_size=2)(z) is z


def what_is_the_same_for_all_is_repeated_without_a_copy(torch):
    c = numbers(torch, 2)
    y = torch.vmap(lambda row: c)(numbers(torch, 3, 4))
    c.add_(1)
    return y._base is c, y.stride(), y, _refusal(lambda: y.add_(1))


def parts_of_another_type(torch):
    x = torch.complex(numbers(torch, 2, 3), numbers(torch, 2, 3) + 1)
    y = numbers(torch, 2, 3, 2)
    real = torch.vmap(lambda row: row.real)(x)
    pairs = torch.vmap(torch.view_as_real, in_dims=1)(x)
    whole = torch.vmap(torch.view_as_complex)(y)
    whole.mul_(1j)
    return real._base is x, real.stride(), pairs.stride(), pairs, whole.stride(), whole, y


def gradients_flow_through_them(torch):
    x = numbers(torch, 2, 3).requires_grad_()
    z = x * 2
    y = torch.vmap(lambda row: row[1:])(z)
    y.mul_(5)
    z.sum().backward()
    inner = torch.func.grad(lambda t: (torch.vmap(lambda row: row[1:])(t) ** 2).sum())(numbers(torch, 2, 3))
    return x.grad, y, y._base is z, inner


def views_taken_without_recording(torch):
    x = numbers(torch, 2, 3).requires_grad_()
    with torch.no_grad():
        y = torch.vmap(lambda row: row[1:])(x)
    return y.requires_grad, y._base is x


def strides_within_each_example(torch):
    x = numbers(torch, 2, 3, 4).movedim(-1, 0)

    def told(f, *arguments, **named):
        y = torch.vmap(f, **named)(*arguments)
        return y, y.stride()

    first, second = x.stride()[1:]
    return (
        told(lambda m: m.as_strided((3, 2), (second, first)), x),
        told(lambda m: m.as_strided((2,), (first,), second), x),
        told(lambda m: (m * 2).as_strided((2,), (3,), 1), numbers(torch, 2, 2, 3)),
        told(lambda m: torch.as_strided_copy(m, (2,), (first,), second), x),
        told(lambda m, c: m + c.as_strided((2,), (2,)), numbers(torch, 4, 2), numbers(torch, 3), in_dims=(0, None)),
        told(torch.vmap(lambda m: m.as_strided((2, 2), (0, 1))), numbers(torch, 2, 3, 2)),
        told(lambda m: m.new_empty_strided([2, 3], [0, 1]) * 0, numbers(torch, 2)),
        torch.vmap(lambda m: m.new_empty_strided([2, 3], [0, 1]))(numbers(torch, 2)).stride(),
        _refusal(lambda: torch.vmap(lambda m: m.as_strided((1, 1), (1,)))(x)),
        _refusal(lambda: torch.vmap(lambda m: m.as_strided((3,), (1,), 1))(numbers(torch, 5, 3))),
        _refusal(lambda: torch.vmap(lambda m: m.as_strided((3,), (1,)))(numbers(torch, 5, 0, 3))),
    )


def what_a_batch_has_not(torch):
    x, c = numbers(torch, 2, 3, 4, 5), numbers(torch, 2)
    last = torch.channels_last

    def replaced(row):
        row.data = c
        return row

    return [
        *[
            _refusal(lambda f=f: torch.vmap(f)(x))
            for f in (
                lambda row: row.data,
                replaced,
                lambda row: row.clone(memory_format=last),
                lambda row: row.contiguous(memory_format=last),
                lambda row: row * row.is_contiguous(memory_format=last),
                torch.where,
                torch.nonzero,
                torch.unique,
                torch.unique_consecutive,
                lambda row: torch.masked_select(row, row > 0),
                lambda row: row[row > 0],
            )
        ],
        torch.vmap(lambda row: row + c.data.sum())(x[0, 0]),
        torch.vmap(torch.func.grad(lambda row: (row.data * row).sum()))(x[0, 0]),
    ]


def anomalies_are_looked_for_in_all_examples(torch):
    with torch.autograd.set_detect_anomaly(True):
        right = torch.vmap(torch.func.grad(lambda x: (x * x).sum()))(torch.tensor([1.0, 2.0]))
        wrong = _refusal(lambda: torch.vmap(torch.func.grad(lambda x: x.sqrt().sum()))(torch.tensor([1.0, -1.0])))
    return right, wrong


test_agrees_with_torch = agreement_of(programs_of(globals()))
