"""Views and in-place writes, under torch and under jaxvjp."""

from __future__ import annotations

from oracle import agreement_of, programs_of


def elements_written_one_by_one(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(3)
    y[0] = 3 * x[0] ** 2
    y[1] = x[0] ** 2 + 2 * x[1] ** 3
    y[2] = 10 * x[1]
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    return y, y.grad_fn is not None, x.grad


def a_written_element_has_no_earlier_gradient(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1] = 5.0
    y.sum().backward()
    return y, x.grad


def a_view_sees_what_the_base_becomes(torch):
    x = torch.tensor([1.0, 2.0, 3.0])
    view = x[1:]
    x.mul_(10)
    return view, x


def the_base_sees_what_a_view_becomes(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x[0][1] = 20.0
    x[1].add_(100)
    row, column = x[0], x.t()[1]
    column.zero_()
    return x, row, column


def a_view_of_a_view_carries_gradients(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    corner = y.t()[1][:1]
    corner.mul_(10)
    y.sum().backward()
    return y, corner, x.grad


def a_view_taken_before_the_write(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    first = y[0]
    y.mul_(x.detach())
    (first * 3).backward()
    return first, x.grad


def in_place_arithmetic(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y += 1
    y *= 3
    y -= 0.5
    y /= 2
    y.neg_().add_(x)
    (y * x.detach()).sum().backward()
    z = torch.tensor([1.0, 2.0])
    z **= 2
    return y, x.grad, z.sqrt_().exp_().log_().reciprocal_()


def in_place_under_no_grad_keeps_the_gradient_of_before(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 1
    with torch.no_grad():
        y.mul_(10)
    (y * 2).sum().backward()
    return y, y.requires_grad, x.grad


def a_leaf_written_under_no_grad_stays_a_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        x -= 0.5
        x[0] = 7.0
    (x * x).sum().backward()
    return x, x.is_leaf, x.grad


def data_shares_the_storage(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.data.mul_(3)
    x.data[0] = 10.0
    (x * x).sum().backward()
    return x, x.grad


def detach_shares_the_storage(torch):
    x = torch.tensor([1.0, 2.0])
    alias = x.detach()
    alias.add_(1)
    x.mul_(2)
    return x, alias


def detaching_a_view_shares_the_storage(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = x[1].detach()
    row.zero_()
    return x, row


def a_variable_shares_the_storage(torch):
    x = torch.tensor([1.0, 2.0])
    v = torch.autograd.Variable(x, requires_grad=True)
    x.mul_(2)
    (v * v).sum().backward()
    return v, v.grad


def a_clone_does_not_share(torch):
    x = torch.tensor([1.0, 2.0])
    y = x.clone()
    y.zero_()
    return x, y


def overwriting_keeps_the_graph_and_gives_zeros(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.zero_()
    y.sum().backward()
    return y, y.requires_grad, x.grad


def fill_and_copy(torch):
    x = torch.zeros(2, 3)
    x.fill_(2)
    x[:, 1].fill_(7.5)
    y = torch.zeros(2, dtype=torch.int64)
    y.copy_(torch.tensor([1.9, -1.9]))
    z = torch.zeros(2, 2).copy_(torch.tensor([1.0, 2.0]))
    return x, y, z


def copied_values_carry_gradients(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2, 2)
    y.copy_(x)
    (y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    return x.grad


def slices_with_steps(torch):
    x = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], requires_grad=True)
    y = x * 1
    y[1:6:2] = torch.tensor([10.0, 30.0, 50.0]) * x[0:3]
    y[-1] = y[-2]
    (y * y).sum().backward()
    return y, x.grad, y[::3], y[5:2], y[:100], y[-3:]


def indices_of_several_dimensions(torch):
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], requires_grad=True)
    parts = [x[0], x[0, 1], x[..., 0], x[:, None, 1], x[1, ..., 1:], x[None, ..., None], x[-1, -1, -1]]
    sum(part.sum() for part in parts).backward()
    return parts, x.grad


def shapes_of_views(torch):
    m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return m.t(), m.T, m.permute(1, 0), m.permute((1, 0)), m.transpose(0, -1), m.unsqueeze(-1), m[:1].squeeze(0)


def a_view_reflects_writes_through_every_kind(torch):
    m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    m.t()[0].mul_(10)
    m.transpose(0, 1)[1].mul_(100)
    m.permute(1, 0)[2].neg_()
    m.unsqueeze(1)[0, 0, 0] = 0.5
    m[1:].squeeze(0)[2] = 9.0
    for row in m:
        row.add_(1)
    m[...].sub_(0.25)
    return m


def accumulation_is_seen_by_those_who_hold_the_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.sum().backward(retain_graph=True)
    held, first = x.grad, x.grad[0]
    y.sum().backward()
    return held, first


def an_in_place_operation_keeps_the_dtype(torch):
    x = torch.tensor([1.5, 2.5])
    x.add_(torch.tensor([1.0, 1.0], dtype=torch.float64))
    i = torch.tensor([1, 2])
    i.mul_(3)
    i += torch.tensor([True, False])
    return x, i, x.lt_(3)


def every_kind_of_view(torch):
    m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = m * 1
    views = [y.view(3, 2), y.view(-1), y.reshape(6), y.reshape(3, -1), y.expand(2, 2, 3), y[:, :1].expand(-1, 4)]
    views += [y.diagonal(), y.diagonal(1), y.diagonal(-1, 0, 1), y.narrow(1, 1, 2), y.narrow(0, -1, 1), y.select(1, -1)]
    views += [*y.split(2, dim=1), *y.split([1, 2], 1), *y.chunk(2), *y.chunk(2, -1), *y.unbind(), *y.unbind(1)]
    views += [
        y.view_as(torch.ones(6)),
        y.expand_as(torch.ones(3, 2, 3)),
        y.t().unsqueeze(1),
        y.squeeze(),
        y.contiguous(),
    ]
    total = sum((each * each).sum() for each in views)
    total.backward()
    return views, m.grad


def views_are_views(torch):
    m = torch.zeros(2, 3)
    views = [
        m.view(6),
        m.reshape(6),
        m.t(),
        m.permute(1, 0),
        m[0],
        m[:, 1:],
        m.expand(2, 2, 3),
        m.diagonal(),
        m.detach(),
    ]
    views += [
        m.t().reshape(6),
        m.contiguous(),
        m.t().contiguous(),
        m.clone(),
        m.split(1)[0],
        m[[0, 1]],
        m.t().reshape(3, 2),
    ]
    facts = [(each._is_view(), each._base is m) for each in views]
    m.add_(1)
    return facts, views


def strides_and_contiguity(torch):
    m = torch.zeros(2, 3, 4)
    views = [
        m,
        m.t() if m.ndim < 3 else m.transpose(0, 2),
        m[0],
        m[:, 1],
        m[..., ::2],
        m.permute(2, 0, 1),
        m.view(6, 4),
    ]
    views += [m.expand(5, 2, 3, 4), m.diagonal(), m[:, :, None], m.narrow(1, 1, 2), m.unbind(1)[2], m.squeeze()]
    return [(tuple(each.stride()), each.is_contiguous()) for each in views]


def writes_through_every_kind_of_view(torch):
    m = torch.zeros(4, 3)
    m.view(12)[3] = 1.0
    m.view(2, 6)[1].add_(10)
    m.diagonal().add_(100)
    m.diagonal(-1).mul_(2)
    m.narrow(1, 1, 2).sub_(0.5)
    m.split(2)[0][1, 1] = 7.0
    m.chunk(3, 1)[2].neg_()
    m.unbind(1)[0].add_(0.25)
    m.reshape(3, 4)[2, 1:3] = 9.0
    return m


def a_diagonal_of_more_dimensions(torch):
    m = torch.zeros(2, 3, 2, 4)
    m.diagonal(0, 0, 2).copy_(torch.tensor([1.0, 2.0]))
    m.diagonal(1, 3, 1).add_(10)
    m.diagonal(0, 1, 2)[0].sub_(5)
    m.diagonal(0, 2, 1)[1].mul_(3)
    return m, m.diagonal(0, 1, 3), m.diagonal(-1, 3, 0)


def gradients_through_writes_to_views(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = torch.zeros(2, 4)
    y.view(8)[2:6] = x * 2
    y.t()[0].add_(x[:2])
    y.diagonal()[1:].mul_(x[3])
    (y * y).sum().backward()
    return y, x.grad


def versions_count_writes(torch):
    y = torch.zeros(3)
    v, d, data = y[0], y.detach(), y.data
    seen = [each._version for each in (y, v, d, data)]
    y.add_(1)
    v.mul_(2)
    d.zero_()
    data.add_(5)
    return seen, [each._version for each in (y, v, d, data)], y


def positions_pick_elements(torch):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    i = torch.tensor([1, 0, 1])
    parts = [x[i], x[:, i], x[i, i], x[torch.tensor([[0], [1]]), torch.tensor([0, 2])], x[[0, 1], [2, -1]], x[-1, i]]
    parts += [x[x > 2], x[torch.tensor([True, False])], x[:, torch.tensor([True, False, True])], x[None, i, 1:]]
    parts += [x[torch.tensor(1)], x[i[:0]], x[..., i], x[x > 100], x[torch.tensor([0]), :, None]]
    sum((part * part).sum() for part in parts).backward()
    return parts, x.grad


def positions_apart_and_together(torch):
    x = torch.zeros(2, 3, 4, 5)
    x.view(-1).copy_(torch.ones(120))
    i, j = torch.tensor([0, 1]), torch.tensor([[1], [0], [1]])
    keys = [(i, slice(None), j), (slice(None), i, j), (i, j), (slice(None), i, slice(None), j), (0, slice(None), i)]
    return [tuple(x[key].shape) for key in keys]


def writing_at_positions(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    y[torch.tensor([0, 2])] = torch.tensor([10.0, 20.0]) * x[1]
    y[y > 15] = 0.5
    y[[1]] = x[:1]
    z = torch.zeros(3, 3)
    z[torch.tensor([0, 1]), torch.tensor([1, 2])] = 5.0
    z[:, torch.tensor([True, False, False])] = torch.tensor([[7.0], [8.0], [9.0]])
    z[1][torch.tensor([2])] += 1
    z.t()[torch.tensor([1])] = 3.0
    (y * y).sum().backward()
    return y, x.grad, z


def adding_at_positions(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(3) + 1
    y.index_put_([torch.tensor([0, 0])], x * 2, accumulate=True)
    y.index_put_((torch.tensor([2]),), x[:1])
    y.sum().backward()
    return y, x.grad


def masks_and_bounds(torch):
    x = torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.0], requires_grad=True)
    y = (
        x.masked_fill(x > 2, 9.0)
        + x.clamp(0, 2)
        + x.clamp(min=1)
        + x.clamp(max=torch.tensor(1.0))
        + torch.clamp(x, 0.5)
    )
    y.sum().backward()
    z = torch.tensor([-1.0, 0.0, 5.0])
    z.clamp_(0, 1).masked_fill_(z == 0, 7.0)
    return y, x.grad, z, torch.tensor([1, 5, 9]).clamp(2, 6.5)


def assigning_data(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.data = torch.tensor([3.0, 4.0, 5.0])
    (x * x).sum().backward()
    return x, x.grad, x.is_leaf


def detaching_in_place(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * 3
    y.detach_()
    return y, y.is_leaf, z.requires_grad


def requiring_a_gradient_of_a_view(torch):
    x = torch.tensor([1.0, 2.0])
    v = x[0]
    v.requires_grad_()
    (v * 3).backward()
    return v.is_leaf, v.grad, x.requires_grad


def parts_of_expanded_tensors_may_be_written(torch):
    found = []
    for write in (
        lambda y: y[:, 0].add_(torch.tensor([1.0, 2.0, 3.0])),
        lambda y: y[:, 1:2].mul_(2).add_(1),
        lambda y: y[1, 2].fill_(7.0),
        lambda y: y.t()[0].copy_(torch.tensor([1.0, 2.0, 3.0])),
        lambda y: y.unsqueeze(1)[1:, 0, 3].mul_(5),
        lambda y: y[0, 1:1].add_(1),
        lambda y: y.detach()[2, 1].fill_(3.0),
    ):
        x = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
        z = x * 1
        y = z.expand(3, 4)
        write(y)
        (z**2).sum().backward()
        found.append((z, y, x.grad, z._version, str(z.grad_fn).partition(" ")[0]))
    return found


def expanded_tensors_may_be_filled(torch):
    found = []
    for write in (lambda y: y[0].fill_(7.0), lambda y: y.zero_(), lambda y: y.t()[1:].fill_(2.0)):
        z = torch.tensor([[1.0], [2.0], [3.0]])
        write(z.expand(3, 4))
        found.append((z, z._version))
    return found


def what_is_repeated_may_not(torch):
    found = []
    for write in (
        lambda y: y.add_(1),
        lambda y: y[1].mul_(2),
        lambda y: y.t()[1:3].add_(1),
        lambda y: y.copy_(torch.ones(3, 4)),
    ):
        z = torch.tensor([[1.0], [2.0], [3.0]])
        try:
            write(z.expand(3, 4))
        except RuntimeError as error:
            found.append((str(error).partition("\n")[0], z, z._version))
    return found


def operands_that_overlap_what_is_written(torch):
    """Refused where part of an operand would change meanwhile, the whole of it may; and what torch cannot tell."""

    def matrix():
        return torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def line():
        return torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])

    found = []
    for make, write in (
        (matrix, lambda a: a.add_(a.t())),
        (matrix, lambda a: a.add_(a)),
        (matrix, lambda a: a.add_(a[0])),
        (matrix, lambda a: a[0].copy_(a[1])),
        (matrix, lambda a: a.view(-1).mul_(a.reshape(4))),
        (matrix, lambda a: a.mul_(a.detach())),
        (matrix, lambda a: a.mul_(a.detach().t())),
        (matrix, lambda a: a.__setitem__(0, a[:, 1])),
        (matrix, lambda a: a.__setitem__(slice(None), a.t())),
        (matrix, lambda a: a.mul_(a[0, 0])),
        (line, lambda a: a[1:].copy_(a[:-1])),
        (line, lambda a: a[:3].add_(a[3:])),
        (line, lambda a: a[::2].add_(a[1::2])),
    ):
        a = make()
        try:
            write(a)
        except RuntimeError as error:
            found.append(str(error).partition("\n")[0])
        found.append((a, a._version))
    return found


def all_of_a_tensor_written_by_index(torch):
    found = []
    for key in (slice(None), ..., (slice(None), slice(0, 2)), None, slice(0, 1)):
        for value in (1.0, torch.ones(2, 2)[:1], torch.ones(1, 1, 2)):
            for of_leaf in (True, False):
                a = torch.ones(2, 2, requires_grad=True)
                a = a if of_leaf else a * 1
                part = a[0]
                try:
                    a[key] = value
                    found.append((a.grad_fn.name(), part.grad_fn.name(), a._version, a))
                except RuntimeError as error:
                    found.append(str(error).partition("\n")[0])
    return found


def a_retained_gradient_goes_with_the_tensor(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    kept = y.retains_grad
    (y * y).sum().backward()
    return kept, y.grad, x.grad


def writing_in_inference_mode(torch):
    x = torch.ones(2)
    with torch.inference_mode():
        y = torch.ones(2)
        x.add_(y), y.add_(x)
    return x, x.is_inference(), y, y.is_inference()


test_agrees_with_torch = agreement_of(programs_of(globals()))
