"""The short-time Fourier transform and its inverse: `stft`, `istft`."""

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Index, Text
from jaxvjp.ops.op import op
from jaxvjp.types.user_code import warn_of_call

PADDING = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}

WINDOW_ADVICE = {
    "stft": ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
    "torch.hamming_window are recommended to reduce spectral leakage.",
    "istft": ".Please provide the same window used by stft to make the inversion lossless.",
}


def _frame(window, n_fft, win_length, dtype):
    """The window with zeros on both sides, as long as a frame."""
    if window is None:
        window = jnp.ones((win_length,), dtype)
    left = (n_fft - win_length) // 2
    return jnp.pad(window, (left, n_fft - win_length - left))


def _sizes(name, n_fft, hop_length, win_length, window):
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is None:
        warn_of_call(
            f"A window was not provided. A rectangular window will be applied{WINDOW_ADVICE[name]}To suppress this "
            "warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    elif window.shape != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    return hop_length, win_length


def _slopes(static, avals):
    padded = static[3] and static[4] in ("reflect", "replicate")
    return "input for input, window for input, input for window" if padded else None


@op(public="", saves="input, window", slopes=_slopes, grad_fn="SqueezeBackward4")
def short_time_spectra(
    input,
    n_fft: Index,
    hop_length: Index | None = None,
    win_length: Index | None = None,
    window=None,
    center: Flag = True,
    pad_mode: Text = "reflect",
    normalized: Flag = False,
    onesided: Flag | None = None,
):
    """The complex spectrum of each frame of a signal, or of each signal of a batch."""
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        raise RuntimeError("stft: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError("stft: expected a 1D or 2D tensor")
    if center:
        if pad_mode not in PADDING:
            raise NotImplementedError(f"Unrecognised padding mode {pad_mode}")
        around = [(0, 0)] * (input.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        input = jnp.pad(input, around, PADDING[pad_mode])
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    hop_length, win_length = _sizes("stft", n_fft, hop_length, win_length, window)
    is_complex = jnp.iscomplexobj(input) or (window is not None and jnp.iscomplexobj(window))
    if onesided is None:
        onesided = not is_complex
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    starts = jnp.arange(0, length - n_fft + 1, hop_length)
    frames = input[..., starts[:, None] + jnp.arange(n_fft)] * _frame(window, n_fft, win_length, input.dtype)
    transform = jnp.fft.rfft if onesided else jnp.fft.fft
    return jnp.swapaxes(transform(frames, norm="ortho" if normalized else None), -1, -2)


def _too_little(smallest):
    if smallest < 1e-11:
        raise RuntimeError(
            "istft: window overlap add min: 1\nSome samples are in no window: choose a smaller hop_length."
        )


@op(name="istft", saves="input, window", grad_fn="DivBackward0", out=False, check_result=_too_little)
def istft(
    input,
    n_fft: Index,
    hop_length: Index | None = None,
    win_length: Index | None = None,
    window=None,
    center: Flag = True,
    normalized: Flag = False,
    onesided: Flag | None = None,
    length: Index | None = None,
    return_complex: Flag = False,
):
    """The signal whose frames have these spectra, by least squares."""
    if not jnp.iscomplexobj(input):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.ndim not in (2, 3) or not input.size:
        raise RuntimeError("istft: expected a non-empty tensor with 2 or 3 dimensions")
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    if onesided and return_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and jnp.iscomplexobj(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if input.shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft{' / 2 + 1' if onesided else ''} when onesided={onesided}, but got {input.shape[-2]}"
        )
    hop_length, win_length = _sizes("istft", n_fft, hop_length, win_length, window)
    if hop_length > win_length:
        raise RuntimeError("istft: expected 0 < hop_length <= win_length")
    spectra = jnp.swapaxes(input, -1, -2)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = jnp.fft.ifft(spectra, norm=norm)
    else:  # the first half of a whole spectrum determines the other
        frames = jnp.fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    frame = _frame(window, n_fft, win_length, frames.real.dtype)
    count = frames.shape[-2]
    total = n_fft + hop_length * (count - 1)
    places = (hop_length * jnp.arange(count))[:, None] + jnp.arange(n_fft)

    def added(each):
        return jnp.zeros((*each.shape[:-2], total), each.dtype).at[..., places].add(each)

    signal = added(frames * frame)
    weight = added(jnp.broadcast_to(frame * frame, (count, n_fft)))
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start if center else total
    signal, weight = signal[..., start:end], weight[start:end]
    smallest = jnp.min(jnp.abs(jax.lax.stop_gradient(weight)), initial=jnp.inf)
    found = signal / jnp.where(jnp.abs(weight) < 1e-11, 1, weight)
    if length is not None and found.shape[-1] < length:
        found = jnp.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, length - found.shape[-1])])
    return found, smallest
