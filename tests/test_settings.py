"""What a script asks of the machine and of the build, and the settings that it makes: `cuda`, `backends`, `mps`."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp


def cuda_without_a_gpu(torch):
    cuda = torch.cuda
    sizes = [cuda.memory_allocated(), cuda.max_memory_allocated(), cuda.memory_reserved(), cuda.max_memory_reserved(0)]
    cuda.set_device(-1)
    cuda.seed()
    cuda.manual_seed_all(3)
    return [*sizes, cuda.is_available(), cuda.is_bf16_supported(), cuda.is_initialized(), cuda.FloatTensor.__name__]


@raises(TypeError)
def a_type_of_cuda(torch):
    return torch.cuda.FloatTensor(2, 3)


@raises(AssertionError)
def properties_of_a_gpu(torch):
    return torch.cuda.get_device_properties(0)


@raises(AssertionError)
def capability_of_a_gpu(torch):
    return torch.cuda.get_device_capability()


@raises(AssertionError)
def free_memory_of_a_gpu(torch):
    return torch.cuda.mem_get_info()


@raises(RuntimeError)
def an_event(torch):
    return torch.cuda.Event(enable_timing=True)


def types_are_told_apart(torch):
    x = torch.ones(2)
    return isinstance(x, torch.FloatTensor), isinstance(x, torch.cuda.FloatTensor), x.type(), x.type("torch.LongTensor")


def accelerator_without_one(torch):
    accelerator = torch.accelerator
    accelerator.device_index(0)  # it is asked for in a block only
    return accelerator.is_available(), accelerator.current_accelerator(True), accelerator.device_count()


@raises(RuntimeError)
def index_of_an_accelerator(torch):
    return torch.accelerator.current_device_index()


@raises(RuntimeError)
def memory_of_an_accelerator(torch):
    return torch.accelerator.memory_allocated()


def the_cpu(torch):
    cpu = torch.cpu
    cpu.synchronize()
    cpu.set_device(0)
    return cpu.is_available(), cpu.is_initialized(), cpu.device_count(), cpu.current_device()


def mps_without_one(torch):
    torch.mps.manual_seed(0)
    mps = torch.backends.mps
    return mps.is_available(), mps.is_built(), torch.mps.is_available(), torch.mps.device_count()


@raises(RuntimeError)
def waiting_for_mps(torch):
    torch.mps.synchronize()


def settings_of_cudnn(torch):
    cudnn = torch.backends.cudnn
    before = (
        cudnn.enabled,
        cudnn.benchmark,
        cudnn.deterministic,
        cudnn.allow_tf32,
    )
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True):  # torch's tests, once imported, allow only this
        outer = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
        with cudnn.flags(enabled=False, benchmark=False):
            within = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    return before, outer, within, (cudnn.enabled, cudnn.benchmark, cudnn.deterministic)


def settings_of_products(torch):
    matmul, before = torch.backends.cuda.matmul, torch.get_float32_matmul_precision()
    found = [matmul.allow_tf32, matmul.allow_fp16_reduced_precision_reduction]
    try:
        matmul.allow_tf32 = True
        found += [matmul.allow_tf32, torch.get_float32_matmul_precision()]
        torch.set_float32_matmul_precision("highest")
        return [*found, matmul.allow_tf32]
    finally:
        torch.set_float32_matmul_precision(before)


def settings_of_attention(torch):
    cuda = torch.backends.cuda
    cuda.enable_flash_sdp(False)
    found = [cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()]
    cuda.enable_flash_sdp(True)
    return [*found, cuda.flash_sdp_enabled()]


def kernels_of_attention(torch):
    room, cuda, found = torch.nn.attention, torch.backends.cuda, []
    for chosen in (room.SDPBackend.MATH, [room.SDPBackend.FLASH_ATTENTION, room.SDPBackend.EFFICIENT_ATTENTION]):
        with room.sdpa_kernel(chosen):
            found.append((cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled()))
            q = torch.ones(1, 1, 2, 2)
            found.append(torch.nn.functional.scaled_dot_product_attention(q, q, q))
    return found, cuda.flash_sdp_enabled(), str(room.SDPBackend.MATH), list(room.SDPBackend.__members__)


@raises(AssertionError)
def a_kernel_by_its_name(torch):
    with torch.nn.attention.sdpa_kernel("math"):
        pass


def one_sample_with_replacement(torch):
    torch.manual_seed(3)
    p = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    return [torch.multinomial(p, 1, replacement=True) for _ in range(20)], torch.rand(2)


@raises(RuntimeError)
def one_sample_of_a_negative_weight(torch):
    return torch.multinomial(torch.tensor([0.5, -0.1]), 1, replacement=True)


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_answers_of_a_torch_that_was_built_for_the_cpu():
    """No record: a torch that was built for CUDA answers otherwise, also where there is no GPU."""
    if jaxvjp.cuda.is_available():
        pytest.skip("JAX has a GPU here")
    cudnn, version = jaxvjp.backends.cudnn, jaxvjp.version
    assert (cudnn.version(), cudnn.is_available(), jaxvjp.backends.cuda.is_built()) == (None, False, False)
    assert (version.cuda, version.hip, version.debug) == (None, None, False)
    assert jaxvjp.accelerator.current_accelerator() is None


def test_a_setting_is_kept_where_jaxvjp_is_torch():
    with jaxvjp.as_torch():
        import torch
        import torch.backends.cudnn as cudnn

        cudnn.benchmark = True
        assert torch.backends.cudnn.benchmark
        assert torch.version.cuda is None or torch.cuda.is_available()
        assert not torch.backends.mps.is_available()
    assert not jaxvjp.backends.cudnn.is_available()


@pytest.mark.parametrize("name", ["backends", "accelerator", "mps", "version"])
def test_the_rooms_are_found(name):
    assert name in dir(jaxvjp)
    assert all(hasattr(getattr(jaxvjp, name), each) for each in dir(getattr(jaxvjp, name)) if not each.startswith("_"))
