"""What modules and losses say to shapes, lengths and types that do not fit; and empty inputs, which most take."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict
from importlib import import_module

from modules_of import first_sentences
from oracle import agreement_of, programs_of


def bags(torch):
    def bag(numbers, offsets, mode="sum", **more):
        return torch.nn.functional.embedding_bag(
            torch.tensor(numbers), weight, torch.tensor(offsets), mode=mode, **more
        )

    weight = torch.arange(12.0).reshape(4, 3).requires_grad_()
    last = [bag([3, 1, 1, 1, 0], [0, 1, 3], mode, include_last_offset=True) for mode in ("sum", "max")]
    last += [bag([3, 1, 1, 2, 0], [0, 2, 3], mode, include_last_offset=True, padding_idx=0) for mode in ("sum", "max")]
    for mode in ("sum", "mean", "max"):
        bag([3, 1, 1, 1, 0], [0, 1, 5], mode, include_last_offset=True).sum().backward()
    return (
        last,
        weight.grad,
        first_sentences(
            lambda: bag([3, 1], [1]),
            lambda: bag([3, 1], [0, 3]),
            lambda: bag([3, 1], [0], padding_idx=4),
            lambda: bag([3, 1], [0], padding_idx=-5),
            lambda: bag([3, 4], [0], "max"),
            lambda: bag([3, 4], [0], "mean"),
            lambda: bag([3, 4], [0], "mean", padding_idx=0),
            lambda: bag([3, 1], [0], per_sample_weights=torch.ones(2, dtype=torch.float64)),
        ),
    )


def masks_of_attention(torch):
    attention = torch.nn.MultiheadAttention(4, 4)

    def of(dims, **masks):
        x = torch.ones(dims)
        return lambda: attention(x, x, x, **{name: torch.ones(size) > 0 for name, size in masks.items()})

    return first_sentences(
        of((4, 3, 4), key_padding_mask=(4, 3)),
        of((4, 3, 4), key_padding_mask=(3, 5)),
        of((4, 3, 4), key_padding_mask=(3,)),
        of((4, 3, 4), attn_mask=(4,)),
        of((4, 3, 4), attn_mask=(4, 3)),
        of((4, 4), key_padding_mask=(4, 3)),
        of((4, 4), key_padding_mask=(3,)),
        of((4, 4), attn_mask=(5, 4, 4)),
        of((4, 4), attn_mask=(4,)),
    )


def cells(torch):
    told = []
    for name in ("RNNCell", "GRUCell", "LSTMCell"):
        cell = getattr(torch.nn, name)(4, 5)

        def step(x, *states, cell=cell, name=name):
            h = tuple(torch.ones(each) for each in states)
            return lambda: cell(torch.ones(x), h if name == "LSTMCell" else h[0])

        sizes = [((3, 4), (1, 5)), ((3, 4), (3, 1)), ((3, 2), (3, 5)), ((3, 4), (5,)), ((4,), (4,))]
        told += first_sentences(*[step(x, h, h) for x, h in sizes])
        told += first_sentences(step((3, 4), (3, 5), (1, 5))) if name == "LSTMCell" else []
        told += first_sentences(lambda name=name: getattr(torch.nn, name[:-4])(4, 5)(torch.ones(0, 3, 4)))
    return told


def pools(torch):
    functional, nn = torch.nn.functional, torch.nn
    several: list = [lambda: nn.AdaptiveMaxPool1d(0x3FFFFFFFFFFFFFFF)(torch.ones(2, 2, 2))]
    several += [lambda: functional.max_unpool3d(*[torch.zeros(1, 3, 1, 1, 1).long()] * 2, [1, 1])]

    def call(name, x, *arguments):
        several.append(lambda: getattr(functional, name)(x, *arguments))

    for dims in (1, 2, 3):
        for size in ((1, 0, *[5] * dims), (0, 5, *[5] * dims), (0, *[5] * dims), (1, 5, *[0] * dims)):
            for name in ("max", "avg", "adaptive_max", "adaptive_avg"):
                call(f"{name}_pool{dims}d", torch.ones(size), 2)
        for name in ("adaptive_max", "adaptive_avg"):
            call(f"{name}_pool{dims}d", torch.ones(1, 2, *[4] * dims), 0)
            call(f"{name}_pool{dims}d", torch.ones([9] * dims), 2)
            call(f"{name}_pool{dims}d", torch.ones([9] * dims), [2] * dims)
        for dtype in (torch.int64, torch.bool, torch.int32):
            for name in ("max", "avg", "adaptive_max", "adaptive_avg"):
                call(f"{name}_pool{dims}d", torch.ones([1, 4, *[4] * dims], dtype=dtype), 2)
        for empty in range(3):
            x = torch.ones([0 if dim == empty else 2 for dim in range(dims + 2)])
            call(f"max_unpool{dims}d", x, x.long(), 2)
    return first_sentences(*several)


def fractional_pools(torch):
    functional = torch.nn.functional
    several: list = []

    def call(x, kernel, *more, **named):
        name = f"fractional_max_pool{len(kernel)}d" if len(kernel) in (2, 3) else "fractional_max_pool2d"
        several.append(lambda: getattr(functional, name)(x, kernel, *more, **named))

    call(torch.ones(2, 7, 7), (), (3, 3))
    call(torch.ones(2, 7, 7), (1,), (3, 3))
    call(torch.ones(2, 7, 7), (2, 2), None, (0.3, 0.3, 0.3))
    for dims in (2, 3):
        kernel, sizes = (2,) * dims, (1,) * dims
        for size in ((0, 16), (1, 0), (0,), (1, 1, 1)):
            call(torch.ones(*size, *[8] * dims), kernel, sizes)
        call(torch.ones([8] * dims), kernel, sizes)
        for counts in ((0, 1, 1)[:dims], (1, 1, 0)[-dims:], (-1,) * dims, (3,), (9, 3, 3)[:dims], (3, 3, 9)[-dims:]):
            call(torch.ones(3, 5, *[8] * dims), kernel, counts)
        for size in ((0, 16, dims), (1, 15, dims), (2, 16, dims), (1, 16, dims + 1), (16, dims), (1, 1, 16, dims)):
            call(torch.ones(1, 16, *[8] * dims), kernel, sizes, _random_samples=torch.rand(size))
        samples = torch.rand(1, 16, dims, dtype=torch.float64)
        call(torch.ones(1, 16, *[8] * dims), kernel, sizes, _random_samples=samples)
    return first_sentences(*several)


def lengths_of_ctc(torch):
    def loss(targets=(75,), frames=(50, 50, 50), lengths=(30, 25, 20), dtype=torch.int64, **more):
        given = [torch.tensor(each, dtype=dtype) for each in (frames, lengths)]
        scores = torch.zeros(50, 3, 15)
        return lambda: torch.nn.functional.ctc_loss(scores, torch.ones(targets, dtype=torch.int64), *given, **more)

    return first_sentences(
        loss(dtype=torch.float32),
        loss(lengths=(30, 25, 21)),
        loss(targets=(3, 29)),
        loss(frames=(51, 50, 50)),
        loss(lengths=(30, -25, 20)),
        loss(blank=15),
        loss(targets=(3, 25, 1)),
    )


def cosines(torch):
    def loss(*sizes):
        return lambda: torch.nn.functional.cosine_embedding_loss(*[torch.ones(each) for each in sizes])

    return first_sentences(loss((0, 0), 0, 0), loss((1, 5), (1, 6), 1), loss((2, 5), (2, 5), 3), loss(5, (2, 5), ()))


def nothing_at_all(torch):
    nn, grid = torch.nn, torch.nn.functional.grid_sample
    norm = nn.BatchNorm2d(3)
    found = [norm(torch.ones(0, 3, 2, 2)), norm.running_mean, norm.running_var]
    found.append(nn.functional.cross_entropy(torch.ones(5, 0), torch.ones(5, 0)))
    found += [
        grid(torch.ones(shape), torch.zeros(points), align_corners=False)
        for shape, points in (((0, 2, 4, 4), (0, 3, 3, 2)), ((1, 0, 4, 4), (1, 3, 3, 2)))
    ]
    return found


def empty_batches(torch):
    layer = torch.nn.TransformerEncoderLayer(4, 2)
    sizes = [layer(torch.ones(shape)).shape for shape in ((0, 2, 4), (2, 0, 4))]
    pad, unfold, ones = torch.nn.functional.pad, torch.nn.functional.unfold, torch.ones
    sizes += [pad(ones(0, 1, 4, 4), (1, 1, 1, 1), mode="reflect").shape, unfold(ones(0, 2, 3, 3), 2).shape]
    return sizes, first_sentences(
        *[lambda mode=mode: pad(ones(1, 0, 4), (1, 1), mode=mode) for mode in ("reflect", "replicate")],
        lambda: unfold(ones(1, 0, 3, 3), 2),
        lambda: unfold(ones(1, 1, 2, 2), 5, stride=2),
        lambda: pad(ones(1, 1, 5), (-7, 4)),
    )


def a_layer_without_numbers(torch):
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 2, 3, bias=False)
    return (
        layer.weight.shape,
        str(layer.weight.device),
        layer.weight.requires_grad,
        first_sentences(lambda: torch.nn.utils.skip_init(torch.nn.ReLU), lambda: torch.nn.utils.skip_init(int)),
    )


def a_count_of_batches_that_a_checkpoint_lacks(torch):
    norm = torch.nn.BatchNorm1d(2)
    norm.num_batches_tracked = torch.tensor(10)
    norm.load_state_dict(OrderedDict(), strict=False)
    return norm.num_batches_tracked


def a_grid_of_one_point(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.functional.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 1), align_corners=True)
    return {str(each.message) for each in caught} == set(), first_sentences(
        lambda: torch.nn.Linear(2, 2).to("cpu", copy=True)
    )


def a_prefix_of_keys(torch):
    kept = OrderedDict((f"module.{key}", each) for key, each in torch.nn.Linear(2, 2).state_dict().items())
    kept._metadata = OrderedDict({"": {"version": 1}, "module": {"version": 2}, "module.a": 3})
    utils = import_module(f"{torch.__name__}.nn.modules.utils")
    utils.consume_prefix_in_state_dict_if_present(kept, "module.")
    return sorted(kept), list(kept._metadata.items())


def pickled_functions(torch):
    functional = torch.nn.functional
    several = [functional.relu, functional.relu_, functional.softsign, functional.gelu, functional.max_unpool2d]
    several += [torch.add, torch.where, torch.clone, torch.moveaxis, torch.linalg.norm, torch.fft.fft]
    layer = torch.nn.TransformerEncoderLayer(4, 2, activation=functional.gelu)
    return [pickle.loads(pickle.dumps(each)) is each for each in several] + [
        pickle.loads(pickle.dumps(layer)).activation is functional.gelu
    ]


def a_row_written_with_its_own_number(torch):
    x = torch.arange(6).reshape(2, 3)
    x[1] = x[1][2]
    y = torch.arange(4.0).reshape(2, 2)
    y[:] = y[1]
    z = torch.arange(4.0)

    def onto_itself():
        z[1:] = z[:-1]

    return x, y, first_sentences(onto_itself)


def differentiable_steps(torch):
    found = []
    for name in ("Adam", "AdamW"):
        start = torch.ones(2, dtype=torch.float64, requires_grad=True)
        rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        x = start.clone()
        optimizer = getattr(torch.optim, name)([x], lr=0.1, amsgrad=True, differentiable=True)
        x.grad = (x * start).detach() * rate
        optimizer.step()
        found += torch.autograd.grad(x.sum(), [start, rate])
    return found


def layouts_of_pooled_volumes(torch):
    volume = torch.ones(1, 4, 6, 6, 6).contiguous(memory_format=torch.channels_last_3d)[0]
    values, places = torch.nn.functional.max_pool3d(volume, 3, return_indices=True)
    mean = torch.nn.functional.avg_pool3d(volume, 3)
    return [each.stride() for each in (values, places, mean)]


def gradients_of_convolutions(torch):
    functional, found = torch.nn.functional, []
    for dims, options in ((1, (1, 0, 2)), (2, (2, 1, 1)), (3, (1, 1, 1))):
        x = torch.arange(2.0 * 2 * 6**dims).reshape(2, 2, *[6] * dims) % 5
        weight = torch.arange(4.0 * 3**dims).reshape(4, 1, *[3] * dims) % 3
        cotangent = getattr(functional, f"conv{dims}d")(x, weight, None, *options, 2)
        of_input, of_weight = (getattr(torch.nn.grad, f"conv{dims}d_{each}") for each in ("input", "weight"))
        found += [of_input(x.shape, weight, cotangent, *options, groups=2)]
        found += [of_weight(x, weight.shape, cotangent, *options, groups=2)]
    return found, functional.grad is torch.nn.grad


def a_convolution_of_no_channels(torch):
    x, weight, bias = torch.ones(2, 0, 5), torch.ones(3, 0, 2), torch.ones(3)
    operands = [each.requires_grad_() for each in (x, weight, bias)]
    result = torch.nn.functional.conv1d(*operands, stride=2)
    return result, torch.autograd.grad(result.sum(), operands)


def sizes_and_types_of_interpolate(torch):
    def of(dims, mode="nearest", dtype=torch.float32, antialias=False, **more):
        x = torch.ones([1, 3, *[4] * dims], dtype=dtype)
        more = more or {"size": 2}
        return lambda: torch.nn.functional.interpolate(x, mode=mode, antialias=antialias, **more)

    modes = (("nearest", 1), ("linear", 1), ("nearest-exact", 2), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3))
    types = (torch.int16, torch.int64, torch.uint8, torch.bool, torch.complex64)
    several = [of(dims, mode, dtype) for mode, dims in modes for dtype in types]
    several += [of(2, mode, dtype, True) for mode in ("bilinear", "bicubic") for dtype in types]
    several += [of(2, size=(2.5, 2.0)), of(2, scale_factor=1e20)]
    return first_sentences(*several, of(2, "bilinear", scale_factor=-1e20))


def negative_paddings(torch):
    def of(mode, dims, *padding):
        return lambda: torch.nn.functional.pad(torch.ones([1, 1, *[2] * dims]), padding, mode=mode)

    several = [of(mode, 1, *each) for mode in ("constant", "reflect", "replicate", "circular") for each in CUTS]
    several += [of(mode, 2, *each, 0, 0) for mode in ("constant", "replicate", "circular") for each in CUTS]
    lengths = [torch.tensor([2]), torch.tensor([1])]
    numbers = torch.ones(1, 1, dtype=torch.int64)
    return first_sentences(
        *several, lambda: torch.nn.functional.ctc_loss(torch.ones(2, 1, 3), numbers, *lengths, reduction="total")
    )


CUTS = ((-3, 0), (-1, -2), (-1, -1), (-3, 5), (-1, 1), (0, -3))


def results_written_to_out(torch):
    x, found = torch.arange(-3.0, 3.0).reshape(2, 3), []
    for name in ("softplus", "softshrink", "logsigmoid"):
        out = torch.zeros(3, 2).t()
        function = getattr(torch.nn.functional, name)
        found += [function(x, out=out) is out, out, out.stride()]
        found += first_sentences(lambda: function(x, out=torch.zeros(1).expand(2, 3)))  # noqa: B023
    return found


def layouts_by_to(torch):
    last, found = torch.channels_last, []
    for size in ((8, 1, 3, 3), (8, 3, 1, 1), (2, 3, 4, 5)):
        x = torch.ones(size)
        for each in (x, x.contiguous(memory_format=last), torch.ones(size[::-1]).permute(3, 2, 1, 0)):
            for form in (last, torch.contiguous_format):
                kept, other = each.to(memory_format=form), each.to(torch.float64, memory_format=form)
                found += [kept.stride(), kept is each, other.stride()]
    found += [
        torch.nn.functional.conv2d(torch.ones(2, 1, 5, 5), torch.ones(8, 1, 3, 3).to(memory_format=last)).stride()
    ]
    return found


test_agrees_with_torch = agreement_of(programs_of(globals()))
