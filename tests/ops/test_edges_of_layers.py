"""Layers at their edges: types that normalization does not take, windows of no size, the memory format of what is
padded; and how tensors are made of odd arguments."""

from __future__ import annotations

import warnings

import pytest
from oracle import agree

INTEGERS = [[1, 2], [3, 5]]
NORMS = {
    "layer_norm": lambda torch, x, *p: torch.nn.functional.layer_norm(x, (2,), *p),
    "rms_norm": lambda torch, x, *p: torch.nn.functional.rms_norm(x, (2,), *p),
    "group_norm": lambda torch, x, *p: torch.nn.functional.group_norm(x, 1, *p),
    "batch_norm": lambda torch, x, *p: torch.nn.functional.batch_norm(x, None, None, *p, training=True),
    "instance_norm": lambda torch, x, *p: torch.nn.functional.instance_norm(x[None], None, None, *p),
}


@pytest.mark.parametrize("norm", NORMS)
def test_normalized_integers(norm):
    agree(lambda torch: NORMS[norm](torch, torch.tensor(INTEGERS)), raises=NotImplementedError)


@pytest.mark.parametrize("types", [("float32", "float64"), ("float64", "float32"), ("bfloat16", "float32")])
@pytest.mark.parametrize("norm", ["layer_norm", "group_norm", "batch_norm"])
def test_parameters_of_another_type(norm, types):
    def program(torch):
        own, other = (getattr(torch, each) for each in types)
        return NORMS[norm](torch, torch.tensor(INTEGERS, dtype=own), torch.ones(2, dtype=other))

    agree(program, 2e-2, 2e-2)


def test_statistics_and_modules_of_another_type():
    def program(torch):
        x = torch.tensor(INTEGERS, dtype=torch.float32)
        return torch.nn.functional.batch_norm(x, torch.zeros(2).double(), torch.ones(2).double())

    agree(program, raises=RuntimeError)
    agree(lambda torch: torch.nn.BatchNorm1d(2)(torch.tensor(INTEGERS).double()), raises=RuntimeError)
    agree(lambda torch: torch.nn.functional.prelu(torch.ones(1).double(), torch.tensor([0.5])), raises=RuntimeError)
    for mean, std in (([1], [1]), ([1], 1.0), (1.0, [1])):
        agree(
            lambda torch, a=mean, b=std: torch.normal(
                *[torch.tensor(each) if each != 1.0 else each for each in (a, b)]
            ),
            raises=NotImplementedError,
        )


@pytest.mark.parametrize("setting", ["padding=-1", "stride=0", "dilation=0", "kernel_size=0", ""])
def test_windows_of_no_size(setting):
    given = {"kernel_size": 2, **({setting.split("=")[0]: int(setting.split("=")[1])} if setting else {})}
    for dtype in ("float32", "int64", "bool"):
        agree(
            lambda torch, d=dtype: torch.nn.functional.unfold(
                torch.arange(16).reshape(1, 1, 4, 4).to(getattr(torch, d)), **given
            )
        )
    agree(lambda torch: torch.nn.functional.fold(torch.ones(1, 4, 9), (4, 4), **given))


PADS = {
    "one side": ((1, 1), "constant"),
    "both": ((1, 1, 2, 0), "constant"),
    "channels": ((0, 0, 0, 0, 1, 1), "constant"),
    "cropped": ((-1, 0, 1, 0), "constant"),
    "reflected": ((1, 1, 1, 1), "reflect"),
    "repeated": ((1, 1, 1, 1), "replicate"),
}


@pytest.mark.parametrize("pad", PADS)
def test_the_memory_format_of_what_is_padded(pad):
    amounts, mode = PADS[pad]

    def program(torch):
        image = torch.arange(120.0).reshape(2, 3, 4, 5)
        last = image.to(memory_format=torch.channels_last)
        found = [torch.nn.functional.pad(each, amounts, mode) for each in (image, last, image.transpose(2, 3))]
        return [each.stride() for each in found], found[1]

    agree(program)


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", ["float32", "bool", "uint8"])
def test_truth_over_no_dimension(name, dtype):
    def program(torch):
        x = torch.tensor([[1, 0], [2, 3]]).to(getattr(torch, dtype))
        kept = [getattr(torch, name)(x, dim=each, keepdim=True) for each in ((), [], (0, 1))]
        return getattr(torch, name)(x), getattr(torch, name)(x, dim=None), getattr(torch, name)(x, dim=()), kept

    agree(program)


@pytest.mark.parametrize("decimals", [10, 2, 0, -2, -3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rounding_to_decimals(dtype, decimals):
    def program(torch):
        x = torch.tensor([0.5, 2.0, 1.2345, 123.4, -7.5], dtype=getattr(torch, dtype))
        return torch.round(x, decimals=decimals)

    agree(program)


BOUNDS = [(0.5, 3.5, 0.5), (0.5, 2.5), (3, 0, -1), (0, 3, 0.5), (-0.5, 0.5), (2**62, 2**62 + 3), (2**53, 2**53 + 3)]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64", "bool", "complex64"])
def test_ranges(dtype):
    for bounds in BOUNDS:
        agree(lambda torch, b=bounds: torch.arange(*b, dtype=getattr(torch, dtype)))
    agree(lambda torch: torch.arange(0, 3, 0, dtype=getattr(torch, dtype)))
    agree(lambda torch: torch.linspace(0, 1, 3, dtype=getattr(torch, dtype)))


CALLS = {
    "another keyword": lambda torch: torch.zeros(2, foo=1),
    "another keyword of ones": lambda torch: torch.ones(2, foo=1),
    "another keyword of empty": lambda torch: torch.empty(2, foo=1),
    "a size twice": lambda torch: torch.zeros(size=(2,)).shape,
    "no rows": lambda torch: torch.tril_indices(-1, 2),
    "no columns": lambda torch: torch.triu_indices(2, -1),
    "a matrix times a number": lambda torch: torch.ones(2, 2) @ 3,
    "a number times a matrix": lambda torch: 3 @ torch.ones(2, 2),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    agree(CALLS[call])


@pytest.mark.parametrize("seed", ["tensor", 1.5, -2.5, True, -1, 2**64, "a", None, "two"])
def test_seeds(seed):
    def program(torch):
        given = {"tensor": torch.tensor(3), "two": torch.tensor([1, 2])}.get(seed, seed)
        torch.manual_seed(given)
        return torch.initial_seed(), torch.rand(2)

    agree(program)


BIASES = [(4,), (1,), (3,), (), (2, 4), (1, 4), (3, 2, 4)]


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("input", [(3,), (2, 3), (5, 2, 3)])
def test_biases_that_broadcast(input, bias):
    def program(torch):
        x, b = torch.arange(30.0)[: torch.Size(input).numel()].reshape(input), torch.ones(bias, requires_grad=True)
        y = torch.nn.functional.linear(x, torch.ones(4, 3), b)
        y.sum().backward()
        return y, b.grad

    agree(program)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("pool", ["max_pool", "avg_pool"])
def test_pools_of_no_step(pool, dims):
    for setting in ({"stride": 0}, {"kernel_size": 0}, {"kernel_size": (2,) * 4}, {"stride": (1,) * 4}):
        agree(
            lambda torch, s=setting: getattr(torch.nn.functional, f"{pool}{dims}d")(
                torch.ones((1, 1) + (4,) * dims), **{"kernel_size": 2, **s}
            ),
            raises=RuntimeError,
        )
    agree(
        lambda torch: getattr(torch.nn.functional, f"lp_pool{dims}d")(torch.ones((1, 1) + (4,) * dims), 2, 2, stride=0),
        raises=RuntimeError,
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_transposed_convolution_of_nothing(dims):
    def program(torch, padding=4):
        x, w = torch.ones((1, 1) + (4,) * dims), torch.ones((1, 1) + (3,) * dims)
        return getattr(torch.nn.functional, f"conv_transpose{dims}d")(x, w, padding=padding)

    agree(program, raises=RuntimeError)
    agree(lambda torch: program(torch, 1))


WRONG = {
    "an equation that is a number": lambda torch: torch.einsum(3, torch.ones(2, 3)),
    "no equation": lambda torch: torch.einsum(None, torch.ones(2, 3)),
    "an operand that is a number": lambda torch: torch.einsum("ij", 3),
    "a second one": lambda torch: torch.einsum("ij,jk", torch.ones(2, 3), 3),
    "no operand": lambda torch: torch.einsum("ij", None),
    "a view of none": lambda torch: torch.ones(2, 3).view(None),
    "a format that is a number": lambda torch: torch.ones(2, 3).contiguous(memory_format=3),
    "a stride too far": lambda torch: torch.ones(2, 3).stride(4),
    "a stride before all": lambda torch: torch.ones(2, 3).stride(-3),
    "the last stride": lambda torch: torch.ones(2, 3).stride(-1),
    "a complex range": lambda torch: torch.arange(0, 1j),
    "a negative size": lambda torch: torch.arange(4).resize_(2, -3),
    "slices along two": lambda torch: torch.unique(torch.ones(2, 3), dim=(0, 1)),
    "a value to reflect": lambda torch: torch.nn.functional.pad(torch.ones(1, 1, 3), (1, 1), "reflect", 3.0),
    "a vector around": lambda torch: torch.nn.functional.pad(torch.ones(4), (1, 1), "circular"),
    "half of an image": lambda torch: torch.nn.functional.pad(torch.ones(1, 1, 4, 4), (1, 1), "reflect"),
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls(call):
    agree(WRONG[call])


@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_nothing_is_of_any_type(shape, dtype):
    def program(torch):
        x = torch.zeros(shape, dtype=getattr(torch, dtype))
        return [getattr(x, each)(dim) for each in ("softmax", "log_softmax") for dim in (0, -1)]

    agree(program)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_nothing(name, dtype):
    agree(lambda torch: getattr(torch.zeros(0, dtype=getattr(torch, dtype)), name)())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(6,), (3, 2), (2, 3, 2), (2, 3, 2, 2), (2, 3, 2, 2, 2), (2, 2, 2, 2, 2, 2)])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_which_channels_are_dropped(dims, shape):
    def program(torch):
        torch.manual_seed(0)
        return getattr(torch.nn.functional, f"dropout{dims}d")(torch.ones(shape), 0.5, True)

    agree(program)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_a_dilation_of_nothing(name, dims):
    def program(torch):
        x, w = torch.ones((1, 1) + (4,) * dims), torch.ones((1, 1) + (3,) * dims)
        return getattr(torch.nn.functional, f"{name}{dims}d")(x, w, dilation=0)

    agree(program, raises=RuntimeError)


@pytest.mark.parametrize("numbers", [[15], [1j], [True]])
def test_what_is_not_rounded_to_decimals(numbers):
    agree(lambda torch: torch.round(torch.tensor(numbers), decimals=-1), raises=NotImplementedError)


def test_a_grid_by_columns_is_not_warned_of():
    def program(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.set_warn_always(True)
            try:
                return torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")
            finally:
                torch.set_warn_always(False)

    agree(program)
