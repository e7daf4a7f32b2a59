"""How tensors lie in memory: strides of views, of results, and by memory formats, the same under torch and here."""

from __future__ import annotations

import copy
import pickle
import warnings

from oracle import agreement_of, programs_of, raises

TURNED = {
    "a function": lambda torch, t: t.sqrt(),
    "a number": lambda torch, t: 2 * t,
    "both ways": lambda torch, t: (t + t.contiguous(), t.contiguous() + t),
    "broadcast": lambda torch, t: (t * torch.ones(3), torch.ones(4, 1, 1) * t),
    "compared": lambda torch, t: t > 3,
    "where": lambda torch, t: torch.where(t > 3, t, 0.0),
    "another type": lambda torch, t: (t.double(), t.to(torch.int32)),
    "copies": lambda torch, t: (t.clone(), torch.empty_like(t), torch.zeros_like(t), copy.deepcopy(t)),
    "without gaps": lambda torch, t: (t[:, ::2] * 2, t[1:].clone(), torch.ones_like(t[..., 1])),
    "sorted": lambda torch, t: tuple(t.sort(0)),
    "reduced": lambda torch, t: (t.sum(0), t.max(1, keepdim=True)[0], t.argmax(2)),
    "others": lambda torch, t: (torch.cat([t, t]), t.softmax(0), t.cumsum(1), t @ torch.ones(3, 2), t.roll(1)),
    "reshaped": lambda torch, t: (t.reshape(4, 6), t.flatten(1), t.reshape(24)),
    "flipped": lambda torch, t: (t.flip(0), t.diff(), t.index_fill(0, torch.tensor([0]), 1.0)),
    "expanded": lambda torch, t: (t[:1].expand(3, 2, 3) + 1, t.unsqueeze(1).expand(4, 5, 2, 3) * 1),
    "written": lambda torch, t: (2 * t).add_(torch.ones(4, 2, 3)),
}


def results_keep_the_order_of_dimensions(torch):
    found = {}
    for name, function in TURNED.items():
        made = function(torch, torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1))
        found[name] = [(each, each.stride()) for each in (made if isinstance(made, tuple) else (made,))]
    return {name: each if name != "copies" else [stride for _, stride in each] for name, each in found.items()}


def views_have_torch_strides(torch):
    x, z = torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.complex64)
    views = [
        *(torch.zeros(0, 3), torch.zeros(3, 0), torch.zeros(2, 0, 3).permute(2, 0, 1), torch.zeros(0, 3).t()),
        *(torch.zeros(1, 3).expand(4, 3), torch.zeros(3).expand(1, 3), torch.zeros(()).expand(3)),
        *(torch.zeros(2, 1, 3).squeeze(), x.unsqueeze(1), x.unsqueeze(-1), x.t().unsqueeze(0)),
        *(x[:, 0:0], x[:, ::2], x[1], x[:, 1], x.diagonal(), torch.zeros(2, 3, 4).diagonal(1, 0, 2)),
        *(x.view(3, 2, 1), torch.zeros(()).view(1, 1), x.t().view(3, 1, 2), x.mT),
        *(x.unfold(1, 2, 1), torch.zeros(()).unfold(0, 1, 1)),
        *(z.real, z.imag, torch.view_as_real(z), torch.view_as_complex(torch.zeros(4, 3, 2))),
    ]
    return [(tuple(each.shape), each.stride(), each.storage_offset(), each.is_contiguous()) for each in views]


def the_layout_of_a_result_is_that_of_its_memory(torch):
    x = torch.arange(12.0).reshape(3, 4).t() * 1
    y = torch.arange(12.0).reshape(3, 4).t() * 1
    x.as_strided((2,), (1,)).fill_(-1)
    y.detach()[0, 0] = 5
    return x, x.as_strided((6,), (2,)), x.t().view(12), x.t().flatten().data_ptr() == x.data_ptr(), y, y[1:].stride()


@raises(RuntimeError)
def a_result_that_is_turned_has_no_flat_view(torch):
    return (torch.arange(12.0).reshape(3, 4).t() * 1).view(12)


def a_turned_tensor_is_pickled_and_has_a_gradient(torch):
    x = torch.arange(6.0).view(2, 3).t()
    w = x.clone().requires_grad_()
    (w**2).sum().backward()
    return pickle.loads(pickle.dumps(x)).stride(), x, w.grad, w.grad.stride()


def memory_formats(torch):
    x = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    functions, weight = torch.nn.functional, torch.ones(6, 3, 2, 2)
    made = [
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
        torch.empty_like(x),
        torch.zeros_like(x, memory_format=torch.contiguous_format),
        *(x + 1, x * torch.ones(1, 3, 1, 1), functions.relu(x), x.to(torch.float64), x[:1].clone()),
        *(
            functions.conv2d(x, weight),
            functions.max_pool2d(x, 2),
            functions.avg_pool2d(x, 2),
            functions.interpolate(x, scale_factor=2),
        ),
        torch.zeros(2, 3, 2, 2, 2).contiguous(memory_format=torch.channels_last_3d) * 2,
        torch.zeros(120).resize_(2, 3, 4, 5, memory_format=torch.channels_last),
    ]
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    return [(each.stride(), [each.is_contiguous(memory_format=form) for form in formats]) for each in made]


@raises(RuntimeError)
def a_format_is_of_so_many_dimensions(torch):
    return torch.zeros(2, 3).contiguous(memory_format=torch.channels_last)


def strides_that_are_asked_for(torch):
    made = [
        torch.empty_strided((2, 3), (1, 5)),
        torch.empty_strided((2, 3), (1, 2)),
        torch.empty_strided((2, 0), (7, 1)),
    ]
    made += [torch.empty_permuted((2, 3, 4), (2, 0, 1)), torch.zeros(2).new_empty_strided((2, 3), (3, 1))]
    made[0].fill_(3)
    return [(each.stride(), each.is_contiguous()) for each in made], made[0], made[0].untyped_storage().nbytes()


def bytes_as_other_numbers(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    bytes_ = x.view(torch.uint8)
    bytes_[0, 3] = 64
    pairs = torch.arange(4.0)
    pairs.view(torch.complex64)[0] = 5
    halves = x[1].view(torch.int16)
    none = [torch.zeros(0, 4).view(torch.uint8), torch.zeros(0, dtype=torch.bool).view(torch.int16)]
    return none, x, bytes_.stride(), pairs, halves, halves.storage_offset(), bytes_.view(torch.float64).shape


@raises(RuntimeError)
def bytes_that_are_no_other_numbers(torch):
    return torch.zeros(3, dtype=torch.uint8).view(torch.float32)


@raises(RuntimeError)
def bytes_that_lie_apart(torch):
    return torch.zeros(2, 4).t().view(torch.int16)


def one_window_is_written(torch):
    x = torch.zeros(6)
    x.unfold(0, 3, 1)[0].fill_(2)
    x.unfold(0, 3, 1)[1][2] = 5
    return x


def results_are_written_into_views(torch):
    x = torch.zeros(3, 4)
    torch.add(torch.ones(3, 2), 1, out=x[:, 1:3])
    torch.mm(torch.ones(3, 2), torch.ones(2, 3), out=(turned := torch.zeros(3, 3).t()))
    flat = torch.zeros(4)
    part = flat[:3]
    torch.add(torch.ones(2), 1, out=part)
    fresh = torch.add(torch.ones(2, 3).t(), 1, out=torch.empty(0))
    counted = torch.zeros(5)
    torch.exp(torch.zeros(2), out=counted)
    return x, turned, turned.stride(), flat, part, fresh, fresh.stride(), counted, counted._version


def factories_take_the_type_of_out(torch):
    made = [torch.zeros(2, dtype=torch.int64), torch.zeros(5), torch.zeros(3, dtype=torch.float64)]
    return torch.arange(2.5, out=made[0]), torch.linspace(0, 1, 4, out=made[1]), torch.full((2,), 3, out=made[2])


def sums_are_counted_in_the_type_of_out(torch):
    x = torch.tensor([[1.5, 2.5]])
    return torch.sum(x, 1, out=torch.zeros(1, dtype=torch.int64)), torch.cumsum(x, 1, out=torch.zeros(1, 2).double())


OUT = {
    "overlapping": lambda torch, x: torch.add(x[:3], 1.0, out=x[1:]),
    "joined": lambda torch, x: torch.cat([x[:1], x[:3]], out=x),
    "expanded": lambda torch, x: torch.mul(x, 2.0, out=torch.ones(1).expand(4)),
    "another type": lambda torch, x: torch.mm(x.view(2, 2), x.view(2, 2), out=torch.zeros(2, 2).double()),
    "of one tensor": lambda torch, x: torch.neg(x, out=torch.zeros(4).double()),
    "of indices": lambda torch, x: torch.max(x.view(2, 2), 1, out=(torch.zeros(2), torch.zeros(2))),
    "of a factory": lambda torch, x: torch.ones(4, dtype=torch.int64, out=x),
    "less": lambda torch, x: torch.exp(x, out=torch.zeros(4, dtype=torch.int64)),
}


def outs_that_are_refused(torch):
    said = {}
    for name, call in OUT.items():
        try:
            call(torch, torch.ones(4))
        except RuntimeError as error:
            said[name] = str(error).partition("\n")[0]
    return said


def some_elements_of_what_repeats_are_written(torch):
    made = [torch.zeros(3).expand(2, 3), torch.zeros(1).expand(3), torch.zeros(1).expand(3)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made[0].index_fill_(0, torch.tensor([0]), 1.0)
        made[1].masked_fill_(torch.tensor([True, False, False]), 2.0)
        made[2][torch.tensor([1])] = 3.0
    return made, [str(each.message).partition(".")[0] for each in caught]


def plus_is_the_tensor_itself(torch):
    x = torch.ones(2, requires_grad=True)
    return +x is x, torch.positive(x) is x


def copies_begin_at_one(torch):
    x = torch.ones(2).add_(1)
    other = copy.copy(x)
    other.add_(1)
    return x, x._version, other._version, pickle.loads(pickle.dumps(x))._version, copy.deepcopy(x)._version


test_agrees_with_torch = agreement_of(programs_of(globals()))
