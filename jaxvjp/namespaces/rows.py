"""The rows of the namespaces, by torch's names of them (`SPACES`). `tensor.answers` says what a row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxvjp.library.constructors import CUDA_TYPES
from jaxvjp.tensor.answers import Row


class Space(NamedTuple):
    """A namespace.

    Attributes:
        doc: the docstring of the module.
        rows: what it has of its own.
        imported: the names that it has of other modules.
        code: the module whose names the rows use.
    """

    doc: str
    rows: Sequence[Row] = ()
    imported: Mapping[str, str] = {}
    code: str = ""

    @property
    def names(self) -> set[str]:
        """What it has, but for other namespaces."""
        return {*[each.name for each in self.rows], *" ".join(self.imported.values()).split()}


ACCELERATORS = "jaxvjp.namespaces.accelerators"
WITHOUT = "Accepted, without effect"
MEMORY = (
    ("memory_allocated", "bytes_in_use", "How many bytes are in use"),
    ("max_memory_allocated", "peak_bytes_in_use", "How many bytes were in use at most"),
    ("memory_reserved", "pool_bytes", "How many bytes JAX has taken of the device"),
    ("max_memory_reserved", "peak_pool_bytes", "How many bytes JAX had taken at most"),
)
"""torch's functions of memory, JAX's names of the numbers, and what they are."""
SPACES: dict[str, Space] = {}

SPACES["accelerator"] = Space(
    "torch's `accelerator`: the device that JAX has beside the CPU, if any.",
    [
        Row("current_device_index() -> int", "The number of the one that is used.", "devices.current(accelerator())"),
        Row("current_device_idx", answer="current_device_index"),
        Row("device_count() -> int", "How many there are.", "devices.count_of(accelerator()) if is_available() else 0"),
        Row("empty_cache() -> None", f"{WITHOUT}: JAX manages its memory itself.", "accelerator() and None"),
        Row("is_available() -> bool", "Whether there is one.", "current_accelerator() is not None"),
        Row(
            "memory_stats(device_index: Any = None) -> dict[str, int]",
            "What JAX tells of the device's memory, by JAX's names.",
            "devices.memory(accelerator() if device_index is None else device_index)",
        ),
        *[
            Row(f"{name}(device_index: Any = None) -> int", f"{words}.", f"memory_stats(device_index).get('{told}', 0)")
            for name, told, words in MEMORY
        ],
        Row(
            "reset_peak_memory_stats(device_index: Any = None) -> None",
            f"{WITHOUT}: JAX's peaks last.",
            "accelerator() and None",
        ),
        Row("set_device_index(device: Any) -> None", "Has this thread use another one.", "choose(accelerator, device)"),
        Row("set_device_idx", answer="set_device_index"),
        Row("synchronize(device: Any = None) -> None", "Accepted: to read a value waits.", "accelerator() and None"),
    ],
    {ACCELERATORS: "current_accelerator device_index"},
    ACCELERATORS,
)

SPACES["cuda"] = Space(
    "The functions of `torch.cuda`: what a script asks to choose a device, and what it says to one that is there.",
    [
        *[Row(f"{name}: Any", answer=f"CUDA_TYPES['{name}']") for name in CUDA_TYPES],
        Row(
            "current_device() -> int",
            'The number of the GPU that `device("cuda")` means; AssertionError where there is none.',
            "devices.current(gpu())",
        ),
        Row(
            "current_stream(device: Any = None) -> Stream",
            "The one order of work; AssertionError without a GPU.",
            "(of_gpu(device), Stream())[1]",
        ),
        Row("default_stream", answer="current_stream"),
        Row("device_count() -> int", "How many GPUs JAX has here.", "devices.count_of('cuda')"),
        Row("empty_cache() -> None", f"{WITHOUT}, as in torch without a GPU: JAX manages its memory itself."),
        Row("get_arch_list() -> list[str]", "Nothing: XLA compiles for the GPU that is there.", "[]"),
        Row(
            "get_device_name(device: Any = None) -> str",
            "The name of a GPU; AssertionError if there is none.",
            "str(devices.jax_device(of_gpu(device)).device_kind)",
        ),
        Row(
            "get_rng_state(device: Any = 'cuda') -> Tensor",
            "The state of the one generator, on the host; AssertionError without a GPU.",
            "(of_gpu(device), random_state.get_rng_state())[1]",
        ),
        Row(
            "get_rng_state_all() -> list[Tensor]",
            "`get_rng_state` for each GPU; an empty list without one.",
            "[get_rng_state() for _ in range(device_count())]",
        ),
        Row("init() -> None", "Accepted: JAX sets it up by itself. AssertionError without a GPU.", "gpu() and None"),
        Row(
            "initial_seed() -> int",
            "The seed of `manual_seed`'s generator; AssertionError without a GPU.",
            "gpu() and generator.initial_seed()",
        ),
        Row("ipc_collect() -> None", f"{WITHOUT}. AssertionError without a GPU.", "gpu() and None"),
        Row("is_available() -> bool", "Whether JAX has a GPU here.", "there_is_a_gpu()"),
        Row(
            "is_bf16_supported(including_emulation: bool = True) -> bool",
            "Whether there is a GPU: XLA emulates where one lacks it.",
            "is_available() and (including_emulation or get_device_capability() >= (8, 0))",
        ),
        Row("is_initialized() -> bool", "Whether there is a GPU, which JAX has then set up.", "there_is_a_gpu()"),
        Row("manual_seed(seed: int) -> None", f"{WITHOUT}: numbers are drawn on the host, by another `manual_seed`."),
        Row("manual_seed_all", answer="manual_seed"),
        *[
            Row(
                f"{name}(device: Any = None) -> int",
                f"{words}; 0 without a GPU.",
                f"memory_stats(device).get('{told}', 0)",
            )
            for name, told, words in MEMORY
        ],
        Row(
            "memory_stats(device: Any = None) -> dict[str, int]",
            "What JAX tells of a GPU's memory, by its names; nothing without a GPU.",
            "devices.memory(of_gpu(device)) if is_available() else {}",
        ),
        Row("reset_peak_memory_stats(device: Any = None) -> None", f"{WITHOUT}: JAX's peaks last."),
        Row("reset_max_memory_allocated", answer="reset_peak_memory_stats"),
        Row("seed() -> None", f"{WITHOUT}, as `manual_seed`."),
        Row("seed_all", answer="seed"),
        Row(
            "set_device(device: Any) -> None",
            'Has "cuda" mean another GPU in this thread; a negative number changes nothing.',
            "choose(gpu, device)",
        ),
        Row(
            "set_rng_state(new_state: Tensor, device: Any = 'cuda') -> None",
            "Goes back to a state of the one generator; without a GPU nothing.",
            "random_state.set_rng_state(new_state) if is_available() else None",
        ),
        Row(
            "set_rng_state_all(new_states: Sequence[Tensor]) -> None",
            "`set_rng_state` with each of them.",
            "[set_rng_state(each) for each in new_states] and None",
        ),
        Row(
            "stream(stream: Stream | None) -> AbstractContextManager[None]",
            "A block without effect: there is one order of work.",
            "nullcontext()",
        ),
        Row(
            "synchronize(device: Any = None) -> None",
            "Accepted, for scripts that time a GPU; here reading a value waits for it. AssertionError without a GPU.",
            "of_gpu(device) and None",
        ),
    ],
    {
        ACCELERATORS: "Event Stream device get_device_capability get_device_properties mem_get_info",
    },
    ACCELERATORS,
)

SPACES["cpu"] = Space(
    "The functions of `torch.cpu`, for scripts that ask the module of any type of device the same: there is one CPU.",
    [
        Row("current_device() -> str", "The only one.", "'cpu'"),
        Row("device_count() -> int", "One.", "1"),
        Row("is_available() -> bool", "True.", "True"),
        Row("is_initialized() -> bool", "True.", "True"),
        Row("set_device(device: Any) -> None", f"{WITHOUT}."),
        Row("synchronize(device: Any = None) -> None", f"{WITHOUT}: whatever reads a value waits for it."),
    ],
)

for _device, _imported in {"cpu": {}, "cuda": {"jaxvjp.amp.older_names": "custom_bwd custom_fwd"}}.items():
    SPACES[f"{_device}.amp"] = Space(
        f"torch's older names of `jaxvjp.amp` for one type of device: `torch.{_device}.amp.autocast()`.",
        [Row(f"{name}: Any", answer=f"older('{_device}').{name}") for name in ("GradScaler", "autocast")],
        _imported,
        "jaxvjp.amp.older_names",
    )

NO_MPS = "raise RuntimeError('Cannot execute {}() without MPS backend.')"
SPACES["mps"] = Space(
    "torch's `mps`, as it answers on a machine without such a device; JAX has none.",
    [
        Row("device_count() -> int", "None.", "0"),
        Row("empty_cache() -> None", "RuntimeError: there is no such device.", NO_MPS.format("emptyCache")),
        Row("is_available() -> bool", "False: JAX has no device of this type.", "False"),
        Row("manual_seed(seed: int) -> None", f"{WITHOUT}."),
        Row("synchronize() -> None", "RuntimeError: there is no such device.", NO_MPS.format("deviceSynchronize")),
    ],
)

SPACES["backends"] = Space(
    "torch's `backends`: settings that scripts make and ask back, and whether a backend is there. JAX compiles by XLA."
)
SPACES["backends.cuda"] = Space(
    "torch's `backends.cuda`: the precision of products, and switches of attention kernels, of which XLA has its own.",
    [
        *[
            Row(
                f"enable_{kernel}_sdp(enabled: bool) -> None",
                "Remembered, without effect: XLA has attention kernels of its own.",
                f"settings.kernels.update(enable_{kernel}=bool(enabled))",
            )
            for kernel in ("cudnn", "flash", "math", "mem_efficient")
        ],
        *[
            Row(f"{kernel}_sdp_enabled() -> bool", "What was last set.", f"settings.kernels['enable_{kernel}']")
            for kernel in ("cudnn", "flash", "math", "mem_efficient")
        ],
        Row("is_built() -> bool", "Whether JAX has a GPU here.", "there_is_a_gpu()"),
        Row("is_flash_attention_available() -> bool", "False: attention is a composition that XLA fuses.", "False"),
        Row("matmul: Any", answer="Matmul()"),
        Row(
            "sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, "
            "enable_cudnn: bool = True) -> AbstractContextManager[None]",
            "The four switches for a block.",
            "for_a_block(settings.kernels, locals())",
        ),
    ],
    {ACCELERATORS: "preferred_linalg_library"},
    ACCELERATORS,
)


def _switches(flags: Mapping[str, tuple[str, str, str]]) -> list[Row]:
    """The rows of settings, by name: its type, what it is at first, and what it is in a block."""
    inside = ", ".join(f"{name}: {kind} = {usual}" for name, (kind, _, usual) in flags.items())
    given = ", ".join(f"_{name}: {kind} | None = None" for name, (kind, _, _) in flags.items())
    return [
        *[Row(f"{name}: {kind}", answer=first) for name, (kind, first, _) in flags.items()],
        Row(
            f"flags({inside}) -> AbstractContextManager[None]",
            "`set_flags` for a block.",
            "for_a_block(globals(), locals())",
        ),
        Row(
            f"set_flags({given}) -> tuple[Any, ...]",
            "Sets those that are given and returns what they all were.",
            "tuple(switched(globals(), locals()).values())",
        ),
    ]


ENABLED, DETERMINISTIC, TF32 = ("bool", "True", "False"), ("bool", "False", "False"), ("bool", "True", "True")
SPACES["backends.cudnn"] = Space(
    "torch's `backends.cudnn`: settings that are remembered; XLA chooses its kernels itself: `cudnn.benchmark = True`.",
    [
        *_switches(
            {
                "enabled": ENABLED,
                "benchmark": ("bool", "False", "False"),
                "benchmark_limit": ("int | None", "None", "10"),
                "deterministic": DETERMINISTIC,
                "allow_tf32": TF32,
            }
        ),
        Row("is_acceptable(tensor: Any) -> bool", "False, as where torch has no cuDNN.", "False"),
        Row("is_available() -> bool", "False: XLA calls cuDNN where it chooses to.", "False"),
        Row("version() -> int | None", "None, as where torch has no cuDNN."),
    ],
    code=ACCELERATORS,
)
SPACES["backends.mkldnn"] = Space(
    "torch's `backends.mkldnn`: settings that are remembered; XLA has kernels of its own: `mkldnn.enabled = False`.",
    [
        *_switches({"enabled": ENABLED, "deterministic": DETERMINISTIC, "allow_tf32": TF32}),
        Row("is_available() -> bool", "False: XLA has kernels of its own.", "False"),
    ],
    code=ACCELERATORS,
)
SPACES["backends.mha"] = Space(
    "torch's `backends.mha`: whether attention for inference does what torch's kernels for it do.",
    [
        Row("get_fastpath_enabled() -> bool", "Whether layers take that way.", "settings.fastpath"),
        Row(
            "set_fastpath_enabled(value: bool) -> None",
            "Says whether layers take that way.",
            "setattr(settings, 'fastpath', value)",
        ),
    ],
    code=ACCELERATORS,
)
for _backend, _doc in {"mkl": "XLA has products of its own", "openmp": "XLA has loops of its own"}.items():
    SPACES[f"backends.{_backend}"] = Space(
        f"torch's `backends.{_backend}`.", [Row("is_available() -> bool", f"False: {_doc}.", "False")]
    )
SPACES["backends.mps"] = Space(
    "torch's `backends.mps`.",
    [
        Row("is_available() -> bool", "False: JAX has no device of this type.", "False"),
        Row("is_built() -> bool", "False, as `is_available`.", "False"),
    ],
)

SPACES["overrides"] = Space(
    "torch's `overrides`: what a class that inherits from `Tensor` says of the functions that it is given to.",
    imported={
        "jaxvjp.tensor.overriding": "DisableTorchFunctionSubclass handle_torch_function has_torch_function "
        "is_tensor_like"
    },
)
SPACES["profiler"] = Space(
    "torch's `profiler`, which is `autograd.profiler` here.",
    imported={
        "jaxvjp.autograd.profiler": "ProfilerAction ProfilerActivity profile record_function schedule "
        "tensorboard_trace_handler"
    },
)
SPACES["random"] = Space(
    "torch's `random`: seeding, and the state of the generator. `rand`, `randn` and their like draw from it.",
    imported={
        "jaxvjp.library.generator": "default_generator initial_seed manual_seed",
        "jaxvjp.library.random_state": "fork_rng get_rng_state seed set_rng_state",
    },
)
SPACES["version"] = Space(
    "torch's `version`: what a script asks for the build that it runs on.",
    [
        Row("cuda: str | None", answer="cuda_version()"),
        Row("debug: bool", answer="False"),
        Row("git_version: str", answer="'unknown'"),
        Row("hip: str | None"),
        Row("xpu: str | None"),
    ],
    code=ACCELERATORS,
)
