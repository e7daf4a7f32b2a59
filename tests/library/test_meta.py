"""Tensors on the device `meta`: shapes, dtypes and strides without numbers."""

from __future__ import annotations

import copy

from oracle import agreement_of, programs_of, raises


def text_of_tensors(torch):
    made = [torch.empty(2, 3, device="meta"), torch.ones((), device="meta"), torch.arange(5, device="meta")]
    return [str(each) for each in made], f"{made[1]}", repr(torch.zeros(2, device="meta", requires_grad=True))


def shapes_and_strides_of_results(torch):
    x = torch.empty(2, 3, device="meta")
    made = [x.t(), x * 2.0, torch.tensor(1.0) + x, x @ torch.empty(3, 5, device="meta"), x.expand(4, 2, 3).sum(0)]
    made += [torch.cat([x, x], 1), x > 0, x.max(), torch.where(x > 0, x, 0), x.double(), x.new_ones(4), x[:, 1:]]
    return [(tuple(each.shape), each.stride(), repr(each.dtype), str(each.device)) for each in made]


def more_than_memory_holds(torch):
    x = torch.empty(2**20, 2**20, device="meta") + torch.empty(2**20, device="meta")
    return tuple(x.shape), x.untyped_storage().nbytes(), x.is_meta, x.data_ptr(), x.type()


def writes(torch):
    x = torch.empty(2, 3, device="meta")
    row = x[0]
    row.add_(1).copy_(torch.ones(3))
    return str(x.normal_()), str(row), x._version, str(copy.deepcopy(x))


def gradients(torch):
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    y = x
    for _ in range(40):
        y = y * 2 + 1
    y.sum().backward()
    with torch.no_grad():
        x -= 0.1 * x.grad
    return str(x.grad), str(x)


def random_numbers_are_not_drawn(torch):
    torch.manual_seed(0)
    torch.rand(5, device="meta")
    torch.nn.Linear(3, 2, device="meta")
    torch.nn.functional.dropout(torch.empty(3, device="meta"), 0.5)
    return torch.rand(2)


def layers_that_draw(torch):
    nn, x = torch.nn, torch.empty(2, 1, 8, device="meta")
    torch.manual_seed(0)
    transformer = nn.Transformer(8, 2, 1, 1, 8, device="meta")
    attended = nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    pooled = nn.FractionalMaxPool2d(2, output_size=2)(torch.empty(1, 1, 5, 5, device="meta"))
    made = [transformer(x, x), attended, pooled, nn.RReLU()(x), nn.functional.gumbel_softmax(x)]
    return [str(each) for each in made], torch.rand(2)


def modules(torch):
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(), torch.nn.Conv1d(1, 2, 3))
        result = model(torch.empty(5, 1, 3))
    made = model.to_empty(device="cpu")
    return str(result.shape), [(name, str(each.device), tuple(each.shape)) for name, each in made.named_parameters()]


@raises(NotImplementedError)
def module_moved(torch):
    torch.nn.Linear(3, 2, device="meta").to("cpu")


def optimizer(torch):
    model = torch.nn.Linear(3, 2, device="meta")
    steps = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        steps.zero_grad()
        model(torch.empty(4, 3, device="meta")).sum().backward()
        steps.step()
    return str(model.weight)


def storages(torch):
    memory = torch.ones(2, 3).to("meta").untyped_storage()
    told = str(memory), memory.size(), memory.data_ptr(), str(memory.device)
    memory.resize_(8)
    return told, memory.size()


@raises(NotImplementedError)
def storage_element(torch):
    return torch.ones(2, device="meta").untyped_storage()[0]


@raises(NotImplementedError)
def storage_list(torch):
    return torch.ones(2, device="meta").untyped_storage().tolist()


@raises(RuntimeError)
def item(torch):
    return torch.ones((), device="meta").item()


@raises(RuntimeError)
def truth(torch):
    return bool(torch.ones((), device="meta") > 0)


@raises(NotImplementedError)
def tolist(torch):
    return torch.ones(2, device="meta").tolist()


@raises(TypeError)
def numpy(torch):
    return torch.ones(2, device="meta").numpy()


@raises(NotImplementedError)
def to_cpu(torch):
    return torch.ones(2, device="meta").cpu()


@raises(NotImplementedError)
def copied_from(torch):
    return torch.ones(2).copy_(torch.ones(2, device="meta"))


@raises(NotImplementedError)
def as_tensor_elsewhere(torch):
    return torch.as_tensor(torch.ones(2, device="meta"), device="cpu")


test_agrees_with_torch = agreement_of(programs_of(globals()))
