"""Writes to views and pieces: their properties afterwards, and what is refused. `docs/storage.md` has the model."""

from __future__ import annotations

from functions import doubled
from oracle import agreement_of, programs_of, raises


def a_view_without_a_record(torch):
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        v = w[1:]
    before = v.requires_grad, v.is_leaf, v._is_view(), torch.autograd.grad((v * 2).sum(), w, allow_unused=True)
    with torch.no_grad():
        w.mul_(2)
    return before, v.tolist(), v.requires_grad


def a_function_may_not_write_a_view_without_a_record_or_a_piece(torch):
    w, said = torch.ones(3, 2, requires_grad=True), []
    for view in (lambda y: y.t(), lambda y: y.t().requires_grad_(), lambda y: y.detach().t(), lambda y: y.unbind()[0]):
        for base in (w, w + 1, torch.ones(3, 2)):
            with torch.no_grad():
                without = view(base)
            for each in (without, (base * 1).unbind()[0]):
                try:
                    said.append(doubled(torch)(each).requires_grad)
                except RuntimeError as error:
                    said.append(str(error).partition(". ")[0].rstrip("."))
    return said


@raises(RuntimeError)
def a_view_without_a_record_is_not_computed_with_after_a_write(torch):
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        v = w[1:]
        w.mul_(2)
    return v * 2


@raises(RuntimeError)
def a_piece_is_not_computed_with_after_a_write(torch):
    w = torch.ones(4, requires_grad=True)
    first, _ = w.chunk(2)
    with torch.no_grad():
        w.mul_(2)
    assert first.tolist() == [2.0, 2.0]
    return first * 2


@raises(RuntimeError)
def a_piece_whose_leaf_lost_its_data_is_not_computed_with_after_a_write(torch):
    w = torch.ones(4, requires_grad=True)
    first, _ = w.chunk(2)
    w.data = w.data - 0.5
    with torch.no_grad():
        w.mul_(2)
    return first * 2


@raises(RuntimeError)
def a_piece_is_no_root_after_a_write(torch):
    w = torch.ones(4, requires_grad=True)
    first, _ = w.chunk(2)
    w.detach().mul_(2)
    first.backward(torch.ones(2), retain_graph=True)


@raises(RuntimeError)
def a_piece_retains_nothing_after_a_write(torch):
    w = torch.ones(4, requires_grad=True)
    first, _ = w.chunk(2)
    w.detach().mul_(2)
    first.retain_grad()


def views_say_what_their_base_says(torch):
    x = torch.ones(2, 3)
    v = x.t()
    found = [v.requires_grad]
    for flag in (True, False, True):
        x.requires_grad_(flag)
        found += [v.requires_grad, v.is_leaf, (v * 1).requires_grad]
    (x * 2).sum().backward()
    (v * v).sum().backward()
    return found, x.grad, v.grad


def a_view_says_what_a_detached_base_says(torch):
    x = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        v, w = x.t(), x[0]
    w.requires_grad_(False)
    w.register_hook(lambda gradient: gradient)
    found = [v.requires_grad, w.requires_grad]
    x.detach_()
    v[0] = torch.zeros(2)
    return found, v.requires_grad, w.requires_grad, x, v, w


def a_write_elsewhere_is_seen_by_who_counts_with_it(torch):
    w = torch.arange(6.0).view(2, 3).requires_grad_()
    v, other = w.t(), w.t()
    other.data = other.detach().clone()
    with torch.no_grad():
        other.copy_(2.0)
    (v * v).sum().backward()
    return w.grad, v._version, w._version


def a_view_with_other_data_comes_to_be_computed(torch):
    x = torch.ones(1, 3).select(0, 0)
    x.data = torch.ones(3)
    y = torch.tensor(2.0, requires_grad=True)
    x[0] = y
    (x * x).sum().backward()
    return x.requires_grad, y.grad


def strides_of_a_leaf_view_are_differentiated_twice(torch):
    x = torch.arange(3.0).unsqueeze(0).squeeze(0).requires_grad_()
    part = x.as_strided((2,), (2,))
    for _ in range(2):
        part.backward(torch.full((2,), 2.0))
    return x.grad


def what_is_repeated_is_written_as_part_of_a_graph(torch):
    x = torch.ones(3).expand(2, 3)
    y = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    c = x.detach()
    c[0].mul_(y)
    leaf = x.detach().requires_grad_()
    with torch.no_grad():
        leaf[0] = 0.5 * y
    return c, c.requires_grad, leaf, leaf.is_leaf


@raises(RuntimeError)
def a_piece_of_a_constant_is_not_written_as_part_of_a_graph(torch):
    torch.ones(3, 2).chunk(2)[0].copy_(torch.tensor(2.0, requires_grad=True))


def a_leaf_view_of_what_comes_to_be_computed(torch):
    x = torch.zeros(3)
    v = x[:2]
    v.requires_grad_()
    y = torch.ones(3, requires_grad=True)
    x.mul_(y)
    return x.requires_grad, v.is_leaf, v.requires_grad


@raises(RuntimeError)
def a_view_of_a_leaf_view_is_not_written(torch):
    torch.zeros(2, 3).view(3, 2).requires_grad_().t().add_(1)


@raises(RuntimeError)
def as_strided_of_a_leaf_view_notices_a_write(torch):
    w = torch.ones(1, 3).select(0, 0).requires_grad_()
    piece = w.as_strided((2,), (2,))
    y = piece * piece
    with torch.no_grad():
        w[0] = -1.0
    y.sum().backward()


def an_unrecorded_view_is_turned_over_after_a_write(torch):
    x = torch.ones(2, 3, requires_grad=True) * 2
    with torch.no_grad():
        seen = x.t()
        x.mul_(0.5)
        seen.t_()
        return seen.tolist(), seen.requires_grad, seen._version


@raises(RuntimeError)
def nothing_is_recorded_of_it_then(torch):
    x = torch.ones(2, 3, requires_grad=True) * 2
    with torch.no_grad():
        seen = x.t()
        x.mul_(0.5)
        seen.t_()
    seen.sum()


def an_unrecorded_view_with_other_data_is_no_view(torch):
    x = torch.ones(4, requires_grad=True) * 2
    with torch.no_grad():
        seen = x[1:]
    seen = seen.detach()
    seen.data = torch.zeros(3)
    seen[:2].add_(1.0)
    return seen, x


def _saved(torch, view, write):
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    piece = view(x)
    read = piece.tolist()  # a view that has been computed goes on being told of writes
    y = w * piece
    write(x, piece)
    y.sum().backward()
    return read, w.grad


@raises(RuntimeError)
def a_view_that_was_read_is_saved_and_its_base_written(torch):
    return _saved(torch, lambda x: x[1:][0], lambda x, _: x.add_(1))


@raises(RuntimeError)
def a_detached_view_that_was_read_is_saved_and_its_base_written(torch):
    return _saved(torch, lambda x: x.detach()[0], lambda x, _: x.add_(1))


def it_is_not_told_of_what_is_written_through_data(torch):
    return _saved(torch, lambda x: x.data[0], lambda x, _: x.add_(1))[0]


def gradients_of_an_intermediate_behind_a_freed_view(torch):
    x = torch.ones(2, 3, requires_grad=True)
    a = x * 1
    a.retain_grad()
    seen = []
    a.register_hook(lambda grad: seen.append(grad.tolist()))
    v = a.mT
    v.backward(torch.ones(3, 2))
    return torch.autograd.grad(v.sum(), a, allow_unused=True), a.grad, seen


def gradients_behind_a_view_whose_base_was_written_through_data(torch):
    x = torch.ones(2, 3, requires_grad=True)
    a = x * 1
    v = a.mT
    y = (v * 3).sum()
    a.data.mul_(2)
    of_view = torch.autograd.grad(y, v, retain_graph=True)
    return of_view, torch.autograd.grad(y, a, retain_graph=True), torch.autograd.grad(v.sum(), a), v


def a_backward_beside_a_view_that_may_not_be_read(torch):
    a = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]], requires_grad=True)
    b = a[..., 1:]
    with torch.no_grad():
        c = a.t()
    d = c.sum()
    with torch.no_grad():
        b.add_(0.5)
        c.tolist()
    (d * 0.5 * d).sum().backward()
    return a.grad


@raises(RuntimeError)
def a_view_taken_under_no_grad_that_was_written_after_its_base_got_other_data(torch):
    a = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
    with torch.no_grad():
        b = a.t()
    a.data = torch.ones(3, 2)
    with torch.no_grad():
        b.mul_(0.5)
    (b * -1.0).sum().backward()


def a_view_says_how_it_was_taken_last(torch):
    w, said = torch.ones(2, 3, requires_grad=True), []
    with torch.no_grad():
        turned = w.t()
    piece = turned.split(1)[0]
    with torch.no_grad():
        last = piece.t()
    w.detach().mul_(2.0)
    for view in (turned, piece, last):
        try:
            said.append(view.is_leaf)
        except RuntimeError as error:
            said.append(str(error).partition(" mode enabled. ")[2][:20])
    return said


@raises(RuntimeError)
def an_operand_that_has_another_shape_by_now(torch):
    a, b = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    c = b * a
    b.swapaxes_(0, 1)
    c.sum().backward()


@raises(RuntimeError)
def an_operand_whose_detached_view_was_turned_over(torch):
    a, b = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    c = b * a
    d = b.t().detach()
    d.t_()
    b.is_leaf  # noqa: B018  # shows b anew, and is no new version
    c.sum().backward()


def _piece(torch, cut):
    x = torch.ones(3, 2, requires_grad=True).clone()
    piece = cut(x)
    with torch.no_grad():
        piece.unsqueeze_(0)
    return piece.is_leaf


@raises(RuntimeError)
def a_piece_of_split_that_got_another_shape(torch):
    _piece(torch, lambda x: x.split(1)[0])


@raises(RuntimeError)
def a_piece_of_unbind_that_got_another_shape(torch):
    _piece(torch, lambda x: x.unbind(0)[2])


def a_copy_that_nobody_waits_for(torch):
    x = torch.zeros(3)
    return x.copy_(torch.ones(3), non_blocking=True).tolist(), x.copy_(torch.full((3,), 2.0), True)


@raises(TypeError)
def a_copy_of_nothing(torch):
    torch.zeros(3).copy_(None)


@raises(RuntimeError)
def a_piece_that_was_read_is_written(torch):
    piece = torch.full((2, 3), 2.0).unbind(0)[1]
    piece.tolist()
    piece.mul_(torch.ones(3, requires_grad=True))


def a_piece_that_may_not_be_read_is_given_as_it_is(torch):
    whole = torch.arange(6.0).requires_grad_()
    piece = (whole * 2).chunk(2)[0]
    base = piece._base
    base.detach().resize_(2)
    pieces = torch.ones(2, 3).unbind(0)[1], torch.ones(4).split(2)[1], whole.view(2, 3).unbind(0)[1]
    return piece.to(piece.dtype) is piece, piece.contiguous() is piece, [each.output_nr for each in pieces]


def overtaken_piece(torch):
    """A leaf, and a piece of a product of it: the whole product was written after the piece was taken."""
    x = torch.ones(3, 2, requires_grad=True)
    product = x * 1
    piece = product.unbind(0)[0]
    with torch.no_grad():
        product.add_(1)
    return x, piece


def an_overtaken_piece_is_read_where_no_gradient_is(torch):
    x, piece = overtaken_piece(torch)
    given = [piece > 1, piece == piece, piece.argmax(), piece.long(), piece.bool(), piece.isnan(), piece.nonzero()]
    given += [torch.zeros_like(piece), torch.full_like(piece, 2.0), torch.histc(piece), piece.count_nonzero()]
    given += [piece.detach(), piece.new_zeros(2), torch.equal(piece, piece), torch.allclose(piece, piece)]
    return given, piece.requires_grad, torch.autograd.grad(x.sin()[0], x, piece)


@raises(RuntimeError)
def an_overtaken_piece_goes_to_a_function(torch):
    class Copied(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    Copied.apply(overtaken_piece(torch)[1])


@raises(RuntimeError)
def an_overtaken_piece_is_a_gradient_that_is_recorded(torch):
    x, piece = overtaken_piece(torch)
    torch.autograd.grad(x.sin()[0], x, piece, create_graph=True)


@raises(RuntimeError)
def an_overtaken_piece_is_seen_by_a_mapped_function(torch):
    _, piece = overtaken_piece(torch)
    torch.func.vmap(lambda x: x * piece[0])(torch.ones(3))


@raises(RuntimeError)
def an_overtaken_piece_gets_a_hook(torch):
    overtaken_piece(torch)[1].register_hook(lambda grad: grad)


@raises(RuntimeError)
def an_overtaken_piece_has_no_edge(torch):
    torch.autograd.graph.get_gradient_edge(overtaken_piece(torch)[1])


@raises(RuntimeError)
def a_gradient_is_asked_for_an_overtaken_piece(torch):
    x, piece = overtaken_piece(torch)
    torch.autograd.grad(x.sum(), piece, allow_unused=True)


@raises(RuntimeError)
def an_overtaken_piece_is_differentiated(torch):
    torch.func.grad(lambda x: x.sum())(overtaken_piece(torch)[1])


@raises(RuntimeError)
def an_overtaken_piece_was_saved(torch):
    x = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        turned = x.t()
    y = 2 * turned * turned
    with torch.no_grad():
        x.mul_(0.5)
    y.sum().backward()


def an_overtaken_piece_is_not_saved_for_itself_alone(torch):
    x = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        turned = x.t()
    y = turned * turned
    with torch.no_grad():
        x.mul_(0.5)
    y.sum().backward()
    return x.grad, turned.grad


@raises(RuntimeError)
def an_overtaken_piece_is_turned_in_place(torch):
    product = torch.ones(2, 3, requires_grad=True) * 1
    piece = product.split(1)[0]
    with torch.no_grad():
        piece.t_()
    return piece.is_leaf


@raises(RuntimeError)
def a_function_writes_a_view_of_what_was_taken_under_no_grad(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2.0)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2.0

    with torch.no_grad():
        turned = torch.ones(2, 3, requires_grad=True).t()
    Doubled.apply(turned[1:])


@raises(RuntimeError)
def an_overtaken_piece_is_given_as_out(torch):
    _, piece = overtaken_piece(torch)
    torch.add(piece, 0.5, out=piece)


def an_empty_expanded_view_is_written_by_a_mask(torch):
    empty = torch.ones(3).expand(2, 3)[:0]
    empty[empty > 0.5] = 2.0
    return empty


@raises(RuntimeError)
def what_a_mixed_product_saved_is_written(torch):
    x = torch.tensor([1.0, 2.0]).clone().requires_grad_()
    y = x.double() * x
    with torch.no_grad():
        x.copy_(torch.zeros(2))
    y.sum().backward()


def how_a_reshaped_view_is_called(torch):
    x = torch.ones(3, 2, requires_grad=True)
    row = torch.ones(1, 3, requires_grad=True).t()
    given = [x.t().reshape(2, 3), x[:, :1].reshape(3), x.reshape(2, 3), x.t().flatten(), row.reshape(3), x.view(6)]
    return [type(each.grad_fn).__name__ for each in given], [each._is_view() for each in given]


@raises(IndexError)
def several_indices_of_a_number(torch):
    torch.tensor(2.0)[..., 1:]


@raises(IndexError)
def a_slice_of_a_number(torch):
    torch.tensor(2.0)[1:]


@raises(IndexError)
def an_element_of_nothing(torch):
    torch.ones(0).index_select(0, torch.tensor([0]))


@raises(RuntimeError)
def a_row_of_nothing(torch):
    torch.ones(0, 3).index_select(0, torch.tensor([0]))


def where_chooses_what_inference_mode_made(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        made = x * 2
    torch.where(made > 1, x, made).sum().backward()
    return x.grad


@raises(RuntimeError)
def where_saves_a_condition_of_inference_mode(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        made = x > 0
    torch.where(made, x, 0.0)


def writes_from_what_lies_in_the_same_memory_in_another_way(torch):
    w, told = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), []
    row = w.unsqueeze(0)
    for target, source in ((row.data, w), (row.detach(), w), (w.data, row), (w.data, row[0]), (w.data, w)):
        for name in ("add_", "copy_"):
            try:
                told.append(getattr(target, name)(source))
            except RuntimeError as error:
                told.append(str(error).partition(". ")[0])
    return told


def as_strided_of_a_piece_refuses_what_the_piece_refuses(torch):
    w = torch.arange(6.0).chunk(2)[1].requires_grad_()
    part, said = w.as_strided((2,), (2,)), []
    with torch.no_grad():
        w.mul_(0.5)
    for look in (lambda: part.is_leaf, lambda: part * 2, lambda: part.mul_(2)):
        try:
            look()
        except RuntimeError as error:
            said.append(str(error).partition("\n")[0])
    return said, part.tolist(), part.requires_grad


def a_piece_of_a_view_without_a_record(torch):
    said = []
    for recorded in (True, False):
        b = torch.arange(6.0).view(3, 2).requires_grad_()
        with torch.no_grad():
            turned, other = b.t(), b.unbind(0)[1]
        with torch.set_grad_enabled(recorded):
            piece = turned.unbind(0)[1]
        for view in (piece, piece[:1], other[:1]):
            for look in (lambda view=view: view.mul_(2), lambda view=view, b=b: b.data.mul_(2) is view.is_leaf):
                try:
                    look()
                except RuntimeError as error:
                    said.append(str(error).partition(". ")[0])
    return said


test_agrees_with_torch = agreement_of(programs_of(globals()))
