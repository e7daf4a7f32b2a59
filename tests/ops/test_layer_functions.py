"""Functions of layers where torch has something to say beside the values: strides, what has no derivative, and types
that meet."""

from __future__ import annotations

import gc
import itertools

from oracle import agreement_of, programs_of


def told(function):
    try:
        return function()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        return type(error).__name__, str(error).partition("\n")[0]


def lying(torch, shape, order):
    """0, 1, 2, ... with these sizes, lying in memory in this order of the dimensions."""
    place = [order.index(dim) for dim in range(len(order))]
    return torch.arange(float(torch.Size(shape).numel())).reshape([shape[dim] for dim in order]).permute(place)


def batch_norms_keep_channels_last(torch):
    functional, found = torch.nn.functional, []
    for shape in ((2, 3, 4, 5), (1, 2, 3, 1), (4, 9, 1, 1), (2, 1, 3, 3), (2, 3, 4), (2, 3, 2, 2, 2)):
        orders = list(itertools.permutations(range(len(shape))))[:: 11 if len(shape) == 5 else 1]
        for order in [*orders, (0, 2, 3, 4, 1)] if len(shape) == 5 else orders:
            x, (mean, variance) = lying(torch, shape, order), torch.ones(2, shape[1])
            fixed = functional.batch_norm(x, mean, variance)
            found.append((shape, order, fixed.stride(), functional.batch_norm(x, None, None, training=True).stride()))
    return found


def a_step_over_one_element_is_in_the_strides(torch):
    x = torch.zeros(1, 2, 3, 1)
    views = [x[::2], x[..., ::2], x[:, :, :, 0:1:5], x[:, ::3], torch.zeros(0, 3)[::2], x[:, :, ::5], x[:1], x[::1]]
    return [(tuple(each.shape), each.stride()) for each in views]


def running_statistics_have_no_derivative(torch):
    functional, found = torch.nn.functional, []
    x = torch.arange(24.0).reshape(3, 2, 4)
    for which, training in itertools.product(range(4), (False, True)):
        mean, variance = (torch.ones(2, requires_grad=bool(which & each)) for each in (1, 2))
        found.append(told(lambda: functional.batch_norm(x, mean, variance, training=training)))  # noqa: B023
        found.append(told(lambda: functional.instance_norm(x, mean, variance, use_input_stats=training)))  # noqa: B023
        found += [mean.detach(), variance.detach()]
    with torch.no_grad():
        found.append(functional.batch_norm(x, torch.ones(2, requires_grad=True), torch.ones(2)))

    def of_mean(mean):
        return functional.batch_norm(x, mean, torch.ones(2)).sum()

    return (
        found,
        told(lambda: torch.func.grad(of_mean)(torch.ones(2))),
        torch.func.jvp(of_mean, (torch.ones(2),), (torch.ones(2),)),
    )


def running_statistics_have_no_tangent(torch):
    forward, found = torch.autograd.forward_ad, []
    for training, which in itertools.product((False, True), range(8)):
        given = [torch.arange(24.0).reshape(3, 2, 4), torch.ones(2), torch.ones(2)]

        def run(given=given, which=which, training=training):
            with forward.dual_level():
                given = [
                    forward.make_dual(each, torch.ones_like(each) / 2) if which >> place & 1 else each
                    for place, each in enumerate(given)
                ]
                result = torch.nn.functional.batch_norm(*given, training=training)
                parts = [forward.unpack_dual(each) for each in (result, *given[1:])]
                return [(each.primal.clone(), each.tangent) for each in parts]

        found.append(told(run))
    return found


def convolutions_over_time(torch):
    x, w = torch.arange(180.0).reshape(9, 4, 5).sin(), torch.arange(90.0).reshape(3, 5, 6).cos()
    b, convolve, found = torch.arange(6.0), torch.conv_tbc, []
    for each in (
        *((x, w, b), (x, w, b, 2), (x, w, b, -1), (x, w, b.double()), (x.long(), w.long(), b.long())),
        *((x[:0], w, b, 1), (x[:, :0], w, b), (x[:, :, :0], w[:, :0], b), (x[0], w, b), (x, w[0], b), (x, w, b[:3])),
        *((x, w, b[None]), (x, w[:, :2], b), (x, w.double(), b), (x, w, b, -5), (x.bool(), w.bool(), b.bool())),
    ):
        result = told(lambda: convolve(*each))  # noqa: B023
        found.append(result if isinstance(result, tuple) else (result, result.stride()))
    leaves = [each.clone().requires_grad_() for each in (x, w, b)]
    result = torch.nn.functional.conv_tbc(*leaves, pad=2)
    return found, result.grad_fn.name(), torch.autograd.grad((result * result).sum(), leaves)


def pools_with_indices(torch):
    found = []
    for dims, kind in itertools.product((1, 2, 3), ("max", "adaptive_max", "fractional_max")):
        if kind == "fractional_max" and dims == 1:
            continue
        x = torch.arange(2.0 * 6**dims).reshape(1, 2, *[6] * dims).sin().requires_grad_()
        function = getattr(torch.nn.functional, f"{kind}_pool{dims}d_with_indices")
        more = {"_random_samples": torch.full((1, 2, dims), 0.3)} if kind == "fractional_max" else {}
        results = [
            function(x, *((2, 3) if more else (3,)), **more, **asked) for asked in ({}, {"return_indices": False})
        ]
        for values, indices in results:
            found.append((values, indices, values.grad_fn.name(), torch.autograd.grad(values.sum(), x)))
    return found, torch.max_pool1d_with_indices(torch.arange(6.0)[None], 2, 1, 0, 1, True)


def activations_written_over_shared_memory(torch):
    functional, found = torch.nn.functional, []
    row = torch.tensor([-1.0, 0.2, 0.7])
    functional.threshold_(row.expand(2, 3), 0.5, 0.25)
    functional.threshold(row.expand(2, 3), 0.5, 0.125, inplace=True)
    for name in ("relu_", "hardtanh_", "elu_", "leaky_relu_", "selu_", "celu_", "rrelu_"):
        found.append(told(lambda: getattr(functional, name)(torch.ones(3).expand(2, 3))))  # noqa: B023
    torch.manual_seed(1)
    x = torch.tensor([-1.0, 2.0, -3.0])
    return row, found, functional.rrelu_(x, 0.25, 0.5), functional.rrelu_(x.neg(), 0.1, 0.3, True), torch.rrelu_(x)


def types_that_meet_in_a_linear_layer(torch):
    types, found = (torch.float32, torch.float64, torch.int64, torch.complex64), []
    for shape in ((3,), (4, 3), (2, 4, 3)):
        for own, of_weight, of_bias in itertools.product(types, types, types):
            given = torch.ones(shape, dtype=own), torch.ones(2, 3, dtype=of_weight), torch.ones(2, dtype=of_bias)
            found.append(told(lambda: torch.nn.functional.linear(*given)))  # noqa: B023
    return found


def attention_with_a_bias_of_another_type(torch):
    x, found = torch.arange(24.0).reshape(2, 3, 4).cos(), []
    for batch_first, own in itertools.product((True, False), (torch.float64, torch.float16, torch.float32)):
        layer = torch.nn.MultiheadAttention(4, 2, batch_first=batch_first)
        with torch.no_grad():
            for each in layer.parameters():
                each.copy_(torch.arange(float(each.numel())).reshape(each.shape).sin())
        layer.in_proj_bias = torch.nn.Parameter(layer.in_proj_bias.to(own))
        found.append(told(lambda: [each.detach() for each in layer(x, x, x)]))  # noqa: B023
    return found


def attention_to_given_keys(torch):
    x, w, found = torch.ones(3, 2, 4), torch.ones(12, 4), []
    keys, one = torch.ones(4, 3, 2), torch.ones(1, 1, 4)
    for biases, given in itertools.product(
        ((None, None), (one, one), (one, None), (None, one)),
        ((None, None), (keys, keys), (keys, None), (None, keys), (keys[:3], keys), (keys, keys[..., :1])),
    ):
        more = {"static_k": given[0], "static_v": given[1]}
        arguments = x, x, x, 4, 2, w, None, *biases, False, 0.0, torch.ones(4, 4), None
        found.append(told(lambda: torch.nn.functional.multi_head_attention_forward(*arguments, **more)))  # noqa: B023
    return found


def an_image_of_more_than_two_billion_entries(torch):
    sample, found = torch.nn.functional.grid_sample, []
    for sizes in ((32769, 65536), (2, 32769, 32768)):
        image, grid = (
            torch.empty(*each, device="meta") for each in ((1, 1, *sizes), (1, *[2] * len(sizes), len(sizes)))
        )
        found.append(sample(image, grid, align_corners=False).shape)
    return found


def a_loaded_state_is_in_no_cycle(torch):
    layer = torch.nn.LSTM(3, 3, bidirectional=True)
    state = torch.nn.LSTM(3, 3, bidirectional=True).state_dict()
    gc.collect()
    layer.load_state_dict(state)
    return gc.collect()


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=1e-5, atol=1e-5)
