"""The rows of the namespaces, by torch's names of them. `tensor.answers` says what a row is."""

from __future__ import annotations

from typing import NamedTuple

from jaxvjp.library.constructors import CUDA_TYPES
from jaxvjp.tensor.answers import Row, rows_of


class Space(NamedTuple):
    """A namespace.

    Attributes:
        doc: the docstring of the module.
        text: its rows.
        code: the module whose names the rows use.
    """

    doc: str
    text: str = ""
    code: str = ""

    @property
    def rows(self) -> dict[str, Row]:
        """Its rows by name."""
        return {each.name: each for each in rows_of(self.text)}


ACCELERATORS = "jaxvjp.namespaces.accelerators"
SPACES: dict[str, Space] = {}

SPACES["accelerator"] = Space(
    "torch's `accelerator`: the device that JAX has beside the CPU, if any.",
    """
    from jaxvjp.namespaces.accelerators import current_accelerator, device_index
    current_device_index() -> int = devices.current(accelerator())  # The number of the one that is used.
    current_device_idx = current_device_index
    device_count() -> int = devices.count_of(accelerator()) if is_available() else 0  # How many there are.
    empty_cache() -> None = accelerator() and None  # Accepted, without effect: JAX manages its memory itself.
    is_available() -> bool = current_accelerator() is not None  # Whether there is one.
    memory_stats(device_index: Any = None) -> dict[str, int] = memory_of(accelerator, device_index)
        What JAX tells of the device's memory, by JAX's names.
    memory_allocated(device_index: Any = None) -> int = memory_stats(device_index).get("bytes_in_use", 0)
        How many bytes are in use.
    max_memory_allocated(device_index: Any = None) -> int = memory_stats(device_index).get("peak_bytes_in_use", 0)
        How many bytes were in use at most.
    memory_reserved(device_index: Any = None) -> int = memory_stats(device_index).get("pool_bytes", 0)
        How many bytes JAX has taken of the device.
    max_memory_reserved(device_index: Any = None) -> int = memory_stats(device_index).get("peak_pool_bytes", 0)
        How many bytes JAX had taken at most.
    reset_peak_memory_stats(device_index: Any = None) -> None = accelerator() and None
        Accepted, without effect: JAX's peaks last.
    set_device_index(device: Any) -> None = choose(accelerator, device)  # Has this thread use another one.
    set_device_idx = set_device_index
    synchronize(device: Any = None) -> None = accelerator() and None  # Accepted: reading a value waits for it.
    """,
    ACCELERATORS,
)

SPACES["cuda"] = Space(
    "The functions of `torch.cuda`: what a script asks to choose a device, and what it says to one that is there.",
    """
    from jaxvjp.namespaces.accelerators import Event, Stream, device, get_device_capability, get_device_properties,
        mem_get_info
    current_device() -> int = devices.current(gpu())
        The number of the GPU that `device("cuda")` means; AssertionError where there is none.
    current_stream(device: Any = None) -> Stream = of_gpu(device) and Stream()
        The one order of work. AssertionError without a GPU.
    default_stream = current_stream
    device_count() -> int = devices.count_of("cuda")  # How many GPUs JAX has here.
    empty_cache() -> None = None  # Accepted, without effect, as in torch without a GPU: JAX manages its memory itself.
    get_arch_list() -> list[str] = []  # Nothing: XLA compiles for the GPU that is there.
    get_device_name(device: Any = None) -> str = str(of_gpu(device).device_kind)
        The name of a GPU. AssertionError if there is none.
    get_rng_state(device: Any = "cuda") -> Tensor = of_gpu(device) and random_tensors.get_rng_state()
        The state of the one generator, on the host. AssertionError without a GPU.
    get_rng_state_all() -> list[Tensor] = [get_rng_state() for _ in range(device_count())]
        `get_rng_state` for each GPU; an empty list without one.
    init() -> None = gpu() and None  # Accepted: JAX sets it up by itself. AssertionError without a GPU.
    initial_seed() -> int = gpu() and generator.initial_seed()
        The seed of `manual_seed`'s generator. AssertionError without a GPU.
    ipc_collect() -> None = gpu() and None  # Accepted, without effect. AssertionError without a GPU.
    is_available() -> bool = there_is_a_gpu()  # Whether JAX has a GPU here.
    is_bf16_supported(including_emulation: bool = True) -> bool = has_bf16(including_emulation)
        Whether there is a GPU: XLA emulates where one lacks it.
    is_initialized() -> bool = there_is_a_gpu()  # Whether there is a GPU, which JAX has then set up.
    manual_seed(seed: int) -> None = None  # Accepted, without effect: numbers are drawn on the host.
    manual_seed_all = manual_seed
    memory_stats(device: Any = None) -> dict[str, int] = memory_of(gpu, device) if is_available() else {}
        What JAX tells of a GPU's memory, by its names; nothing without a GPU.
    memory_allocated(device: Any = None) -> int = memory_stats(device).get("bytes_in_use", 0)
        How many bytes are in use; 0 without a GPU.
    max_memory_allocated(device: Any = None) -> int = memory_stats(device).get("peak_bytes_in_use", 0)
        How many bytes were in use at most; 0 without a GPU.
    memory_reserved(device: Any = None) -> int = memory_stats(device).get("pool_bytes", 0)
        How many bytes JAX has taken of the GPU; 0 without one.
    max_memory_reserved(device: Any = None) -> int = memory_stats(device).get("peak_pool_bytes", 0)
        How many bytes JAX had taken at most; 0 without a GPU.
    reset_peak_memory_stats(device: Any = None) -> None = None  # Accepted, without effect: JAX's peaks last.
    reset_max_memory_allocated = reset_peak_memory_stats
    seed() -> None = None  # Accepted, without effect, as `manual_seed`.
    seed_all = seed
    set_device(device: Any) -> None = choose(gpu, device)
        Has "cuda" mean another GPU in this thread; a negative number changes nothing. AssertionError without a GPU.
    set_rng_state(new_state: Tensor, device: Any = "cuda") -> None = set_state(new_state)
        Goes back to a state of the one generator; without a GPU nothing.
    set_rng_state_all(new_states: Sequence[Tensor]) -> None = set_state(*new_states)  # `set_rng_state` with each.
    stream(stream: Stream | None) -> AbstractContextManager[None] = nullcontext()
        A block without effect: there is one order of work.
    synchronize(device: Any = None) -> None = of_gpu(device) and None
        Accepted, for scripts that time a GPU; here reading a value waits for it. AssertionError without a GPU.
    """
    + "".join(f"\n    {name}: Any = CUDA_TYPES['{name}']" for name in CUDA_TYPES),
    ACCELERATORS,
)

SPACES["cpu"] = Space(
    "The functions of `torch.cpu`, for scripts that ask the module of any type of device the same: there is one CPU.",
    """
    current_device() -> str = "cpu"  # The only one.
    device_count() -> int = 1  # One.
    is_available() -> bool = True  # True.
    is_initialized() -> bool = True  # True.
    set_device(device: Any) -> None = None  # Accepted, without effect.
    synchronize(device: Any = None) -> None = None  # Accepted, without effect: whatever reads a value waits for it.
    """,
)

for _device, _text in {"cpu": "", "cuda": "from jaxvjp.amp.older_names import custom_bwd, custom_fwd\n"}.items():
    SPACES[f"{_device}.amp"] = Space(
        f"torch's older names of `jaxvjp.amp` for one type of device: `torch.{_device}.amp.autocast()`.",
        f"{_text}GradScaler: Any = older('{_device}').GradScaler\nautocast: Any = older('{_device}').autocast",
        "jaxvjp.amp.older_names",
    )

SPACES["mps"] = Space(
    "torch's `mps`, as it answers on a machine without such a device; JAX has none.",
    """
    device_count() -> int = 0  # None.
    empty_cache() -> None = raise RuntimeError("Cannot execute emptyCache() without MPS backend.")
        RuntimeError: there is no such device.
    is_available() -> bool = False  # False: JAX has no device of this type.
    manual_seed(seed: int) -> None = None  # Accepted, without effect.
    synchronize() -> None = raise RuntimeError("Cannot execute deviceSynchronize() without MPS backend.")
        RuntimeError: there is no such device.
    """,
)

SPACES["backends"] = Space(
    "torch's `backends`: settings that scripts make and ask back, and whether a backend is there. JAX compiles by XLA."
)
SPACES["backends.cuda"] = Space(
    "torch's `backends.cuda`: the precision of products, and switches of attention kernels, of which XLA has its own.",
    """
    from jaxvjp.namespaces.accelerators import preferred_linalg_library, sdp_kernel
    is_built() -> bool = there_is_a_gpu()  # Whether JAX has a GPU here.
    is_flash_attention_available() -> bool = False  # False: attention is a composition that XLA fuses.
    matmul: Any = Matmul()
    """
    + "".join(
        f"""
    enable_{kernel}_sdp(enabled: bool) -> None = settings.kernels.update(enable_{kernel}=bool(enabled))
        Remembered, without effect: XLA has attention kernels of its own.
    {kernel}_sdp_enabled() -> bool = settings.kernels["enable_{kernel}"]  # What was last set."""
        for kernel in ("cudnn", "flash", "math", "mem_efficient")
    ),
    ACCELERATORS,
)

SWITCHES = """
    flags({}) -> AbstractContextManager[None] = for_a_block(globals(), locals())  # `set_flags` for a block.
    set_flags({}) -> tuple[Any, ...] = tuple(switched(globals(), locals()).values())
        Sets those that are given and returns what they all were.
"""
"""The rows of a backend whose settings a block, or a function, makes: the parameters of the two."""
SPACES["backends.cudnn"] = Space(
    "torch's `backends.cudnn`: settings that are remembered; XLA chooses its kernels itself: `cudnn.benchmark = True`.",
    """
    allow_tf32: bool = True
    benchmark: bool = False
    benchmark_limit: int | None = None
    deterministic: bool = False
    enabled: bool = True
    is_acceptable(tensor: Any) -> bool = False  # False, as where torch has no cuDNN.
    is_available() -> bool = False  # False: XLA calls cuDNN where it chooses to.
    version() -> int | None = None  # None, as where torch has no cuDNN.
    """
    + SWITCHES.format(
        "enabled: bool = False, benchmark: bool = False, benchmark_limit: int | None = 10, "
        "deterministic: bool = False, allow_tf32: bool = True",
        "_enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None, "
        "_deterministic: bool | None = None, _allow_tf32: bool | None = None",
    ),
    code=ACCELERATORS,
)
SPACES["backends.mkldnn"] = Space(
    "torch's `backends.mkldnn`: settings that are remembered; XLA has kernels of its own: `mkldnn.enabled = False`.",
    """
    allow_tf32: bool = True
    deterministic: bool = False
    enabled: bool = True
    is_available() -> bool = False  # False: XLA has kernels of its own.
    """
    + SWITCHES.format(
        "enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True",
        "_enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None",
    ),
    code=ACCELERATORS,
)
SPACES["backends.mha"] = Space(
    "torch's `backends.mha`: whether attention for inference does what torch's kernels for it do.",
    """
    get_fastpath_enabled() -> bool = settings.fastpath  # Whether layers take that way.
    set_fastpath_enabled(value: bool) -> None = setattr(settings, "fastpath", value)  # Says whether layers take it.
    """,
    code=ACCELERATORS,
)
for _backend, _text in {
    "mkl": "is_available() -> bool = False  # False: XLA has products of its own.",
    "mps": "is_available() -> bool = False  # False: JAX has no device of this type.\n"
    "is_built() -> bool = False  # False, as `is_available`.",
    "openmp": "is_available() -> bool = False  # False: XLA has loops of its own.",
}.items():
    SPACES[f"backends.{_backend}"] = Space(f"torch's `backends.{_backend}`.", _text)

SPACES["overrides"] = Space(
    "torch's `overrides`: what a class that inherits from `Tensor` says of the functions that it is given to.",
    """
    from jaxvjp.tensor.overriding import DisableTorchFunctionSubclass, handle_torch_function, has_torch_function,
        is_tensor_like
    """,
)
SPACES["profiler"] = Space(
    "torch's `profiler`, which is `autograd.profiler` here.",
    """
    from jaxvjp.autograd.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule,
        tensorboard_trace_handler
    """,
)
SPACES["random"] = Space(
    "torch's `random`: seeding, and the state of the generator. `rand`, `randn` and their like draw from it.",
    """
    from jaxvjp.library.generator import default_generator, initial_seed, manual_seed
    from jaxvjp.library.random_tensors import fork_rng, get_rng_state, seed, set_rng_state
    """,
)
SPACES["version"] = Space(
    "torch's `version`: what a script asks for the build that it runs on.",
    """
    cuda: str | None = cuda_version()
    debug: bool = False
    git_version: str = "unknown"
    hip: str | None = None
    xpu: str | None = None
    """,
    code=ACCELERATORS,
)
