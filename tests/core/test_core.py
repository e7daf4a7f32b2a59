"""Record, freeze, evaluate, pull back: tested by counts of compiles, dispatches and live nodes, never by time."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from itertools import product

import jax
import numpy as np
import pytest
from oracle import live_nodes

import jaxvjp
from jaxvjp.core.derive import pullback
from jaxvjp.core.derive.dependences import reads_of_program
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.record import signature_of
from jaxvjp.core.run import compilation, pieces, program
from jaxvjp.core.run.pieces import in_pieces
from jaxvjp.core.run.program import freeze, replay
from jaxvjp.tensor.apply import UNTRACKED_LIMIT


def frozen(tensor):
    """The program of a tensor that nothing has read yet, and its leaves."""
    nodes = reachable([tensor.__node__], lambda node: [each for each in node.inputs if type(each) is Node])
    return freeze([node for node in nodes if node.operation is not None], [tensor.__node__])


def leaf(*values):
    return jaxvjp.tensor(list(values), requires_grad=True)


def test_recording_computes_nothing_and_knows_the_shape(counted):
    x = jaxvjp.ones(3, 1)
    y = (x * jaxvjp.ones(4)).sum(dim=0)
    assert y.shape == (4,)
    assert counted() == (0, 0)
    assert y.tolist() == [3.0] * 4
    assert counted()[1] == 1


def test_equal_structure_is_the_same_program():
    first, _ = frozen(leaf(1.0, 2.0) * 0.1 + 3)
    second, _ = frozen(leaf(5.0, 6.0) * 0.2 + 4)
    assert first is second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    "other", ["x * 0.1 - 3", "x * 0.1 + x", "(x * 0.1 + 3).sum()", "x.unsqueeze(0) * 0.1 + 3", "3 + x * 0.1"]
)
def test_another_structure_is_another_program(other):
    x = leaf(1.0, 2.0)
    assert frozen(eval(other))[0] != frozen(x * 0.1 + 3)[0] or other == "3 + x * 0.1"


def test_a_program_is_equal_by_content_also_after_the_cache_forgot_it():
    first, _ = frozen(leaf(1.0) * 2)
    program.intern.cache_clear()
    second, _ = frozen(leaf(1.0) * 2)
    assert first is not second
    assert first == second
    assert "e0 = mul(argument 0, argument 1)" in repr(first)


def test_a_program_replays_as_a_function_that_jax_transforms():
    recorded, leaves = frozen(leaf(1.0, 2.0) ** 2 * 3.0)
    arguments = [np.float32(each.value) for each in leaves]
    np.testing.assert_allclose(replay(recorded, arguments)[0], [3.0, 12.0])
    _, pull = jax.vjp(lambda x: replay(recorded, [x, *arguments[1:]])[0], arguments[0])
    np.testing.assert_allclose(pull(np.ones(2, np.float32))[0], [6.0, 12.0])


def test_python_numbers_are_operands_not_programs(counted):
    x = leaf(1.0, 2.0)
    for rate in (0.1, 0.2, 0.3, -1.5, 7):
        (x * rate).sum().backward()
    assert counted()[0] <= 2  # the first backward sets the gradient, later ones add to it
    np.testing.assert_allclose(x.grad, [6.1, 6.1], rtol=1e-6)


def test_an_index_is_an_operand_too(counted):
    x = jaxvjp.tensor([1.0, 2.0, 3.0, 4.0])
    assert [x[i].item() for i in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert [x[i : i + 2].tolist() for i in range(3)] == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]
    assert counted() == (2, 7)


def test_a_backward_is_one_dispatch_and_brings_the_value_along(counted):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (x * w).sum()
    loss.backward()
    assert counted()[1] == 1
    assert loss.item() == 11.0
    assert x.grad.tolist() == [3.0, 4.0]
    assert counted() == (0, 0)


def test_a_training_step_is_one_dispatch_and_compiles_no_more_from_the_third_on(counted):
    w = leaf(1.0, 2.0)
    taken = []
    for step in range(6):
        loss = ((w - 3.0) ** 2).sum()
        loss.backward()
        with jaxvjp.no_grad():
            w -= 0.1 / (step + 1) * w.grad
        w.grad = None
        taken.append(counted())
    assert [dispatches for _, dispatches in taken] == [1] * 6
    assert [compiles for compiles, _ in taken[2:]] == [0] * 4


def test_a_loop_on_a_value_compiles_each_iteration_once(counted):
    def run():
        x = leaf(0.1, 0.2)
        y = x * 2
        while y.data.norm() < 1000:
            y = y * 2
        y.backward(jaxvjp.ones(2))
        return x.grad.tolist()

    assert run() == [8192.0, 8192.0]
    counted()
    run()
    assert counted()[0] == 0


def test_what_the_user_holds_is_computed_with_what_is_read(counted):
    x = leaf(1.0, 2.0)
    held = x * 2
    total = (held + 1).sum()
    assert total.item() == 8.0
    counted()
    assert held.tolist() == [2.0, 4.0]
    assert counted() == (0, 0)


@pytest.mark.parametrize("operand", ["1", "x"])
def test_a_hundred_thousand_chained_adds(counted, operand):
    x = leaf(1.0, 2.0)
    y = x
    added = 1 if operand == "1" else x
    for _ in range(100_000):
        y = y + added
    y.backward(jaxvjp.ones(2))
    compiles, _ = counted()
    assert compiles <= 8  # equal pieces share theirs
    assert x.grad.tolist() == ([1.0, 1.0] if operand == "1" else [100_001.0, 100_001.0])
    assert y.tolist() == ([100_001.0, 100_002.0] if operand == "1" else [100_001.0, 200_002.0])


def test_a_long_graph_of_many_live_ends_is_cut_rightly():
    x = leaf(0.5, -0.25)
    y, kept, total = x, [], 0
    for i in range(3 * pieces.PIECE):
        y = y * 0.99 + x * 0.01
        if i % 100 == 0:
            kept.append(y)
            total = total + (y * y).sum()
    (total + kept[0].sum()).backward()
    f = jaxvjp.autograd.functional.jacobian

    def again(x):
        y, total, first = x, 0, None
        for i in range(3 * pieces.PIECE):
            y = y * 0.99 + x * 0.01
            if i % 100 == 0:
                first = y if first is None else first
                total = total + (y * y).sum()
        return total + first.sum()

    jaxvjp.testing.assert_close(x.grad, f(again, x))


def test_runs_keep_a_tuple_with_its_items():
    x = leaf(1.0, 2.0)
    (first,) = jaxvjp.autograd.grad((x**3).sum(), x, create_graph=True)
    nodes = [n for n in reachable([first.__node__], lambda n: [i for i in n.inputs if type(i) is Node]) if n.operation]
    for size, short_pieces in product((1, 2, 3, 100), (False, True)):
        ends = {node for node in nodes if node.serial % size == 0}
        pieces = in_pieces(nodes, ends, short_pieces)
        assert [each for piece in pieces for each in piece] == nodes
        for piece in pieces:
            assert piece[0].operation.name != "tuple_item"
            last = next(each for each in reversed(piece) if each.operation.name != "tuple_item")
            assert ends.isdisjoint(piece[: piece.index(last)])


def test_a_freed_graph_lets_go_of_its_arrays():
    x = leaf(1.0, 2.0)
    h = x * 2
    h.tolist()
    inner = weakref.ref(h.__node__.value)
    loss = (h * h).sum()
    del h
    loss.backward()
    gc.collect()
    assert inner() is None
    (product,) = loss.__node__.inputs
    assert product.inputs == ()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


@pytest.mark.parametrize("holds", [False, True])
def test_what_is_held_behind_what_is_held_lets_go_of_the_arrays_behind_it(holds):
    x = leaf(1.0, 2.0)
    inner = x.exp() + 0
    array = weakref.ref(inner.value)
    held = inner + 1
    held.tolist()
    del inner
    loss = held.sum()
    loss.backward()
    if not holds:
        del loss
    gc.collect()
    assert array() is None
    with pytest.raises(RuntimeError, match="second time"):
        held.sum().backward()


def test_what_nobody_holds_gets_no_copies_of_what_is_behind_it():
    def nodes_left(reads):
        x = leaf(1.0, 2.0)
        held = x + 1
        h = held + 2
        if reads:
            h.tolist()
        other, loss = h + 3, (h + 4).sum()
        del h
        loss.backward()
        del loss
        x.grad = None
        assert other.tolist() == [7.0, 8.0]
        assert held.tolist() == [2.0, 3.0]
        return live_nodes()

    assert nodes_left(True) == nodes_left(False)


def test_what_saved_nothing_can_be_walked_again_after_its_graph_was_freed():
    x = leaf(1.0, 2.0)
    y = (x + 1) - x.sum()
    loss = y.sum() + 3
    for times in (1, 2, 3):
        loss.backward()
        assert x.grad.tolist() == [-1.0 * times] * 2
        assert loss.item() == 2.0


def test_a_loop_without_gradients_does_not_grow():
    x = jaxvjp.ones(3)
    for _ in range(10):
        x = x * 1.5
        x.tolist()
    before = live_nodes()
    for _ in range(100):
        x = x * 0.5
        x.tolist()
    assert live_nodes() <= before


def test_a_training_loop_does_not_grow():
    w = leaf(1.0, 2.0)

    def steps(count):
        for _ in range(count):
            (w * w).sum().backward()
            with jaxvjp.no_grad():
                w.sub_(0.1 * w.grad)
            w.grad.zero_()
        return live_nodes()

    steps(5)
    assert steps(5) == steps(50)


def test_every_cache_has_a_bound():
    for cache in (
        signature_of,
        program.intern,
        compilation.executable,
        pullback.dependences,
        reads_of_program,
    ):
        assert cache.cache_parameters()["maxsize"]


def test_a_custom_function_that_only_computes_stays_in_the_one_dispatch(counted):
    class Double(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    x = leaf(1.0, 2.0)
    (Double.apply(x * 3) ** 2).sum().backward()
    assert counted()[1] == 1
    assert x.grad.tolist() == [72.0, 144.0]


def test_dependences_are_those_of_the_derivative():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    recorded, leaves = frozen(2 * x + w**2)
    positions = {id(each): number for number, each in enumerate(leaves)}
    of_x, of_w = positions[id(x.__node__)], positions[id(w.__node__)]
    on_x, on_w = pullback.dependences(recorded, (of_x, of_w))
    cotangent = len(leaves)
    assert of_x not in on_x
    assert cotangent in on_x
    assert set(on_w) == {of_w, cotangent}


def test_a_node_knows_the_users_line():
    y = leaf(1.0, 2.0) * 2  # this line
    filename, number, text = y.__node__.location
    assert filename == __file__
    assert text == "y = leaf(1.0, 2.0) * 2  # this line"
    assert number > 1


def test_long_integers_need_no_setting_of_jax():
    before = jax.config.jax_enable_x64
    big = jaxvjp.tensor(2**40) + 1
    assert big.dtype is jaxvjp.int64
    assert big.item() == 2**40 + 1
    assert jaxvjp.tensor(0.1, dtype=jaxvjp.float64).item() == 0.1
    assert jax.config.jax_enable_x64 == before


def test_long_integers_need_no_method_of_jax_that_is_not_documented():
    program = """
import jax
wide = jax.enable_x64
jax.enable_x64 = lambda wish: wide(wish)
import jaxvjp
assert (jaxvjp.tensor(2**40) + 1).item() == 2**40 + 1
assert not jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "JAXVJP_XLA": "always"}, check=True)


def test_threads_have_grad_modes_of_their_own_and_do_not_disturb_each_other():
    failures = []

    def work(number):
        try:
            for _ in range(20):
                x = leaf(float(number), 2.0)
                with jaxvjp.no_grad():
                    assert not (x * 2).requires_grad
                (x * x).sum().backward()
                assert x.grad.tolist() == [2.0 * number, 4.0]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    with jaxvjp.no_grad():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_threads_that_share_a_leaf_end_with_the_sum():
    x = leaf(1.0, 2.0)
    together = threading.Barrier(16)

    def work():
        for _ in range(10):
            y = (x * x).sum()
            together.wait()
            y.backward()

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [320.0, 640.0]


def test_what_is_computed_now_and_then_is_no_tuple():
    x = jaxvjp.tensor([[1.0, 5.0], [3.0, 2.0]])
    last = x.max(dim=0)
    for _ in range(4 * UNTRACKED_LIMIT):  # each 2039th operation is computed at once, if many wait
        before, last = last, (x + 0 * last.values).max(dim=0)
        if last.values.__node__.value is not None:
            break
    assert last.values.__node__.value is not None
    assert [each.indices.tolist() for each in (before, last)] == [[1, 0], [1, 0]]


def test_few_numbers_go_to_the_device_when_a_compiled_program_wants_them_again():
    numbers = np.array([1.0, 2.0], np.float32)
    x = jaxvjp.tensor(numbers)
    numbers[0] = 7.0  # it has a copy
    assert isinstance(x.__node__.value, np.ndarray)
    assert (x * 2).tolist() == [2.0, 4.0]
    assert isinstance(x.__node__.value, np.ndarray)
    for _ in range(2):  # the call before may have compiled it
        assert (x * 2).tolist() == [2.0, 4.0]
    assert isinstance(x.__node__.value, jax.Array)
    read = jaxvjp.zeros(3, dtype=jaxvjp.int64)
    assert isinstance(read.value, jax.Array)
    assert read.value is read.__node__.value
    assert read.value.dtype == np.int64
    assert isinstance(jaxvjp.zeros(200, 200).__node__.value, jax.Array)


def test_few_numbers_may_meet_a_program_that_is_not_compiled_yet():
    x, expected = jaxvjp.ones(4), np.ones(4)
    for turn in range(40):  # long, and seen for the first time: it runs as it is
        x = x.index_put((jaxvjp.tensor([turn % 4]),), jaxvjp.tensor([float(turn)])) + jaxvjp.ones(4)
        expected[turn % 4] = turn
        expected += 1
    assert x.tolist() == expected.tolist()
