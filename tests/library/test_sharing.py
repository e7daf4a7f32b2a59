"""Tensors on one memory through NumPy, buffers and DLPack."""

from __future__ import annotations

import tempfile

import numpy as np
from oracle import agreement_of, programs_of


def through_numpy(torch):
    x = torch.arange(6.0).reshape(2, 3)
    y, z = torch.from_numpy(x.numpy()), torch.from_numpy(x.numpy()[1:, ::2])
    x.add_(1)
    z.mul_(10)
    ends = z.data_ptr() - x.data_ptr()
    return x, y, z, y.data_ptr() == x.data_ptr(), ends, z.stride(), y.requires_grad


def of_one_array(torch):
    a = np.arange(4.0)
    x, y = torch.from_numpy(a), torch.asarray(a)
    x[0] = 7
    a[1] = 8
    y[2] = 9
    return x, y, a, torch.from_numpy(a.view(np.int64)).shape


def of_no_dimensions(torch):
    x = torch.tensor(3.0)
    y = torch.from_numpy(x.numpy())
    x.add_(1)
    return y


def after_the_array_is_gone(torch):
    x = torch.ones(3)
    y = torch.from_numpy(x.numpy())
    del x
    y.add_(1)
    z = torch.from_numpy(y.numpy())
    z.add_(1)
    return y


def buffers(torch):
    data = bytearray(8)
    x = torch.frombuffer(data, dtype=torch.float32)
    y = torch.asarray(data, dtype=torch.int32)
    copied = torch.asarray(data, dtype=torch.int32, copy=True)
    x[0] = 1
    data[7] = 64
    return x, y, list(data), copied, torch.frombuffer(b"abcd", dtype=torch.uint8)


def a_mapped_file(torch):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/numbers"
        x, y = torch.from_file(path, True, 3), torch.from_file(path, shared=True, size=3)
        x.copy_(torch.tensor([1.0, 2.0, 3.0]))
        before = y.tolist()
        y[0] = 7
        own = torch.from_file(path, False, 2, dtype=torch.int32)
        own.fill_(5)
        narrow = torch.from_file(path, True, 6, dtype=torch.bfloat16)
        narrow[5] = 1
        stored = torch.FloatStorage.from_file(path, True, 4)
        stored[3] = 4.0
        data = torch.UntypedStorage.from_file(path, True, 16)
        names = [data.filename == path, x.untyped_storage().filename == path, torch.ones(1).untyped_storage().filename]
        return before, x, own, stored.tolist(), data.tolist(), names, torch.from_file(path).shape


def files_that_cannot_be_mapped(torch):
    told = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/numbers"
        for shared, size in ((False, 3), (True, 3), (False, 4), (True, -1)):
            try:
                told.append(torch.from_file(path, shared, size).shape)
            except RuntimeError as error:
                told.append(str(error).partition("\n")[0].replace(folder, ""))
    return told


def memory_views(torch):
    x = torch.arange(4)
    y = torch.asarray(memoryview(x.numpy()), dtype=torch.int64)
    y[1] = 9
    return x, y.data_ptr() == x.data_ptr()


def capsules(torch):
    x = torch.ones(2, 3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    z = torch.asarray(torch.utils.dlpack.to_dlpack(x), copy=True)
    x.add_(1)
    return y, z, x.data_ptr() == y.data_ptr(), x.data_ptr() == z.data_ptr()


test_agrees_with_torch = agreement_of(programs_of(globals()))
