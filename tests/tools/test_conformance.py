"""The runner of PyTorch's own tests: each planted fault is reported as what it is, under both implementations."""

from __future__ import annotations

import json

import pytest
from oracle import needs_torch

from tools.conformance import command
from tools.conformance.command import main

PLANTED = """
import os
import unittest
import torch
import torch_npu
from torch.no_such_module import no_such_name
from torch.testing import make_tensor
from torch.testing._internal.common_utils import TestCase, parametrize, subtest, run_tests, skipIfRocm, gradcheck
from torch.testing._internal.common_utils import instantiate_parametrized_tests, _assertGradAndGradgradChecks
from torch.testing._internal.common_utils import (
    make_fullrank_matrices_with_distinct_singular_values, random_hermitian_matrix, random_hermitian_pd_matrix,
    random_lowrank_matrix, random_square_matrix_of_rank, random_well_conditioned_matrix)
from torch.testing._internal.common_nn import (
    loss_reference_fns, ctcloss_reference, _test_module_empty_input, _test_bfloat16_ops)
from torch.testing._internal.common_device_type import (
    instantiate_device_type_tests, dtypes, dtypesIfPRIVATEUSE1, largeTensorTest, onlyCPU, onlyPRIVATEUSE1, ops,
    precisionOverride)
from torch.testing._internal.common_dtype import all_types_and_complex_and
from torch.testing._internal.common_methods_invocations import unary_ufuncs

one = torch.tensor([1.0, 2.0])
nan = float("nan")


class TestPlain(TestCase):
    def test_right(self):
        self.assertEqual(one, torch.tensor([1.0, 2.0 + 1e-7]))
        self.assertEqual(torch.tensor([nan]), torch.tensor([nan]))
        self.assertEqual({"a": [one, (1, 2.0)]}, {"a": (one.numpy(), [torch.tensor(1), 2.0])})
        self.assertEqual(one, [1.0, 2.0])
        self.assertEqual(one, one.double(), exact_dtype=False)
        self.assertNotEqual(one, one + 1)
        self.assertEqual(torch.zeros(0), torch.zeros(0))
        self.assertEqual(torch.tensor([float("inf"), 1.0]), torch.tensor([float("inf"), 1.1]), atol=0.2, rtol=0)
        with self.assertRaisesRegex(RuntimeError, "element 0 of tensors does not require grad"):
            one.sum().backward()

    def test_of_layers(self):
        F, logits = torch.nn.functional, make_tensor((5, 4), dtype=torch.float64)
        classes = torch.tensor([1, 2, 0, 3, 1])
        one, other, signs = logits[:, :2], logits[:, 2:], torch.tensor([1, -1, 1, 1, -1])
        for reduction in ("none", "mean", "sum"):
            def same(name, function, *given, **options):
                expected = function(*given, reduction=reduction, **options)
                self.assertEqual(loss_reference_fns[name](*given, reduction=reduction, **options), expected)

            same("CosineEmbeddingLoss", F.cosine_embedding_loss, one, other, signs, margin=0.1)
            same("MarginRankingLoss", F.margin_ranking_loss, one[:, 0], one[:, 1], signs, margin=0.5)
            same("TripletMarginLoss", F.triplet_margin_loss, one, other, one.flip(0), swap=True)
            same("CrossEntropyLoss", F.cross_entropy, logits, classes, ignore_index=3, label_smoothing=0.1)
            same("CrossEntropyLoss", F.cross_entropy, logits, logits.softmax(1), weight=logits[0].abs())
            scores = make_tensor((6, 2, 4), dtype=torch.float64).log_softmax(2)
            given = (scores, torch.tensor([1, 1, 2, 3]), torch.tensor([6, 5]), torch.tensor([3, 1]))
            self.assertEqual(ctcloss_reference(*given, reduction=reduction), F.ctc_loss(*given, reduction=reduction))
        _test_module_empty_input(self, torch.nn.Linear(2, 2), torch.ones(0, 2))
        _test_bfloat16_ops(self, torch.nn.ReLU(), "cpu", inp_dims=(5,))
        _assertGradAndGradgradChecks(self, torch.tanh, (logits.detach().requires_grad_(),))
        layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
        self.assertEqual(layers, torch.nn.Sequential(*layers))

    def test_wrong_value(self):
        self.assertEqual(one, torch.tensor([1.0, 2.001]))

    def test_wrong_item(self):
        self.assertEqual([one, one], [one, one + 1])

    def test_wrong_number(self):
        self.assertEqual(one[0], 1.1)

    def test_wrong_integer(self):
        self.assertEqual(torch.tensor([2**62]), torch.tensor([2**62 + 1]))

    def test_wrong_type(self):
        self.assertEqual(one, one.double())

    def test_wrong_shape(self):
        self.assertEqual(one, one.reshape(2, 1))

    def test_wrong_length(self):
        self.assertEqual([one], [one, one])

    def test_wrong_nan(self):
        self.assertEqual(torch.tensor([nan, 2.0]), one)

    def test_wrong_infinity(self):
        self.assertEqual(torch.tensor([1.0, float("inf")]), torch.tensor([1.0, -float("inf")]))

    def test_wrong_stride(self):
        self.assertEqual(torch.zeros(2, 3), torch.zeros(3, 2).t(), exact_stride=True)

    def test_wrong_equality(self):
        self.assertNotEqual(one, one.clone())

    def test_wrong_subtest(self):
        with self.subTest(1):
            self.assertEqual(one, one)
        with self.subTest(2):
            self.assertEqual(one, one + 1)

    def test_wrong_gradient(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 3

        at = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
        gradcheck(Twice.apply, (at,), check_batched_grad=False)

    def test_unraised(self):
        with self.assertRaisesRegex(RuntimeError, "what never comes"):
            one.sum()

    def test_unraised_warning(self):
        with self.assertWarnsOnceRegex(UserWarning, "what never comes"):
            one.sum()

    @unittest.expectedFailure
    def test_unraised_failure(self):
        self.assertEqual(one, one)

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.assertEqual(one, one + 1)

    def test_refused_otherwise(self):
        with self.assertRaisesRegex(RuntimeError, "another sentence"):
            one.sum().backward()

    def test_refused(self):
        one.sum().backward()

    def test_missing(self):
        torch.no_such_name

    def test_missing_method(self):
        one.no_such_name()

    def test_missing_import(self):
        no_such_name()

    @no_such_name
    def test_missing_decorator(self):
        pass

    def test_hanging(self):
        while True:
            pass

    def test_killed(self):
        os.abort()

    def test_next_after_it(self):
        self.assertEqual(one, one)

    @unittest.skip("as it says")
    def test_left_out(self):
        self.assertEqual(1, 2)

    @skipIfRocm
    def test_left_out_elsewhere(self):
        self.assertEqual(1, 2)

    @parametrize("a,b", [subtest((1, 1), name="same"), (1, 2)])
    def test_pair(self, a, b):
        self.assertEqual(a, b)


class TestDevices(TestCase):
    def setUp(self):
        super(self.__class__, self).setUp()
        super().setUp()

    @dtypes(torch.float64, torch.complex64)
    def test_of_matrices(self, device, dtype):
        options = {"dtype": dtype, "device": device}
        rank = torch.linalg.matrix_rank
        values = torch.linalg.svdvals(make_fullrank_matrices_with_distinct_singular_values(2, 4, 3, **options))
        self.assertEqual(values, torch.tensor([[1.5, 1.25, 2 / 3]] * 2), atol=1e-5, rtol=0, exact_dtype=False)
        self.assertEqual([rank(random_square_matrix_of_rank(5, 2, **options)),
                          rank(random_lowrank_matrix(2, 5, 4, 3, **options), tol=1e-3)],
                         [torch.tensor(2), torch.tensor([2, 2, 2])])
        for each in (random_hermitian_matrix(3, 2, **options), random_hermitian_pd_matrix(3, 2, **options)):
            self.assertEqual(each, each.mH)
        self.assertTrue(bool((torch.linalg.eigvalsh(each) > 0.99).all()))
        self.assertTrue(bool((torch.linalg.cond(random_well_conditioned_matrix(3, 2, **options)) < 1.1).all()))

    @precisionOverride({torch.float32: 0.5})
    @dtypes(torch.float32)
    def test_within_what_is_told(self, device, dtype):
        self.assertEqual(one, one + 0.25, atol=1e-9, rtol=0)

    @dtypes(*all_types_and_complex_and(torch.half, torch.no_such_type))
    @dtypesIfPRIVATEUSE1(torch.half)
    def test_of_type(self, device, dtype):
        made = make_tensor((3, 4), dtype=dtype, device=device, low=2, high=5)
        self.assertTrue(made.dtype == dtype and made.device.type == "cpu" and tuple(made.shape) == (3, 4))
        self.assertEqual(made, make_tensor((3, 4), dtype=dtype, device="npu") * 0)

    @precisionOverride({torch.float64: 0.5})
    @dtypes(torch.float32, torch.float64)
    def test_within(self, device, dtype):
        self.assertEqual(one.to(dtype), one.to(dtype) + 0.25)

    @largeTensorTest("200GB")
    def test_too_large(self, device):
        self.assertEqual(1, 2)

    @dtypes(torch.float64)
    @largeTensorTest(lambda self, device, dtype: 2**38 * one.to(dtype).element_size())
    def test_too_large_in_bytes(self, device, dtype):
        self.assertEqual(1, 2)

    @dtypes(torch.float64)
    @largeTensorTest(lambda self, device, dtype: 2**8 * one.to(dtype).element_size())
    def test_small_in_bytes(self, device, dtype):
        self.assertEqual(one, one.to(dtype))

    @onlyCPU
    def test_here(self, device):
        self.assertEqual(device, "npu")

    @onlyPRIVATEUSE1
    def test_there(self, device):
        self.assertEqual(1, 2)

    @ops(unary_ufuncs)
    def test_operator(self, device, dtype, op):
        self.assertEqual(1, 2)


instantiate_parametrized_tests(TestPlain)
instantiate_device_type_tests(TestDevices, globals(), only_for="privateuse1")

if __name__ == "__main__":
    run_tests()
"""
EXPECTED = {
    "passed": [
        *("test_right", "test_of_layers", "test_expected_failure", "test_next_after_it", "test_pair_same"),
        *("test_within_cpu_float64", "test_here_cpu", "test_within_what_is_told_cpu_float32"),
        *("test_of_matrices_cpu_float64", "test_of_matrices_cpu_complex64"),
    ],
    "wrong value": [
        *("test_wrong_value", "test_wrong_item", "test_wrong_number", "test_wrong_integer", "test_wrong_type"),
        *("test_wrong_shape", "test_wrong_length", "test_wrong_nan", "test_wrong_infinity", "test_wrong_stride"),
        *("test_wrong_equality", "test_wrong_subtest", "test_wrong_gradient", "test_left_out_elsewhere"),
        *("test_pair_a_1_b_2", "test_within_cpu_float32"),
        "test_small_in_bytes_cpu_float64",
        *[f"test_of_type_cpu_{name}" for name in ("float32", "float64", "int64", "complex64")],
    ],
    "missing error": ["test_unraised", "test_unraised_warning", "test_unraised_failure"],
    "error": ["test_refused_otherwise", "test_refused"],
    "missing name": ["test_missing", "test_missing_method", "test_missing_import", "test_missing_decorator"],
    "timeout": ["test_hanging"],
    "crashed": ["test_killed"],
    "not applicable": [
        *("test_left_out", "test_there_cpu", "test_operator_cpu"),
        *("test_too_large_cpu", "test_too_large_in_bytes_cpu_float64"),
    ],
}


@pytest.mark.parametrize("implementation", ["jaxvjp", pytest.param("torch", marks=needs_torch)])
def test_each_planted_fault_is_reported_as_what_it_is(implementation, tmp_path, capsys):
    (tmp_path / "test_planted.py").write_text(PLANTED, encoding="utf-8")
    stored = tmp_path / "stored.json"
    common = [str(tmp_path), "--impl", implementation, "--store", str(stored)]
    assert main([*common, "--limit", "4", "test_planted.py"]) == 1
    told = json.loads(stored.read_text(encoding="utf-8"))["test_planted.py"]
    found: dict[str, list[str]] = {}
    for test, outcome in told.items():
        found.setdefault(outcome["status"], []).append(test.partition(".")[2])
    assert {status: sorted(tests) for status, tests in found.items()} == {
        status: sorted(tests) for status, tests in EXPECTED.items()
    }
    assert str(len(EXPECTED[command.PASSED])) in capsys.readouterr().out
    assert (
        "1 of 2 elements differ, the first at (1,): 2.0 is not 2.000999" in told["TestPlain.test_wrong_value"]["told"]
    )
    assert "in test_hanging" in told["TestPlain.test_hanging"]["traceback"]

    main([*common, "--failed"])
    listed = capsys.readouterr().out
    assert "test_wrong_value: " in listed
    assert "test_right" not in listed
    main([*common, "--show", "test_wrong_shape"])
    assert "Traceback" in capsys.readouterr().out


def test_the_lists_have_a_reason_for_each_test():
    for listed in (command.listed("not_applicable.txt"), command.listed("differences.txt")):
        assert all(why and " " in why for _, why in listed)
    assert len({why for _, why in command.listed("differences.txt")}) <= 30
    assert command.reason("test_torch.py", "TestTorch.test_sparse_thing")
    assert command.reason("test_torch.py", "TestTorch.test_add") is None


def test_a_listed_difference_is_no_failure_and_a_listed_test_may_pass():
    def status(test, found):
        return command.judged("test_autograd.py", test, {"status": found})["status"]

    assert status("TestAutograd.test_grad", command.WRONG) == command.MEANT
    assert status("TestAutograd.test_grad", command.PASSED) == command.PASSED
    assert status("TestAutograd.test_other", command.WRONG) == command.WRONG
    rows = command.table(
        {
            "test_autograd.py": {
                name: command.judged("test_autograd.py", name, {"status": found})
                for name, found in {
                    "TestAutograd.test_grad": command.WRONG,
                    "TestAutograd.test_a": command.PASSED,
                    "TestAutograd.test_b": command.ERROR,
                }.items()
            }
        }
    )
    assert rows[0][-1] == "50.0 %"


def test_the_page_says_what_is_stored(tmp_path, capsys):
    stored, page = tmp_path / "stored.json", tmp_path / "page.md"
    outcomes = {"A.test_x": {"status": "passed"}, "A.test_y": {"status": "wrong value", "told": "1 is not 2"}}
    stored.write_text(json.dumps({"test_z.py": outcomes}), encoding="utf-8")
    main([str(tmp_path), "--store", str(stored), "--write", str(page)])
    assert "| test_z.py | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 50.0 % |" in page.read_text(encoding="utf-8")
