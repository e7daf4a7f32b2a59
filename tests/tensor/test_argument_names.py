"""Arguments by name: torch's own names, NumPy's that its parser takes, older forms, and what is refused."""

from __future__ import annotations

import pytest
from oracle import agree

CALLS = """
torch.full_like(m, fill_value=0.5); torch.full_like(input=m, fill_value=2, dtype=torch.int32)
torch.full_like(x=m, fill_value=2); torch.split(tensor=v, split_size_or_sections=2); v.split(split_size=[1, 3])
torch.unbind(input=m, dim=1); torch.unbind(m, axis=1); torch.narrow(input=v, dim=0, start=1, length=2)
torch.select(input=m, dim=0, index=1); torch.adjoint(input=m); torch.narrow_copy(input=v, dim=0, start=1, length=2)
torch.split_copy(input=v, split_size=2); torch.unsafe_split(x=v, split_size=2)
torch.split_with_sizes(input=v, split_sizes=[1, 3]); torch.as_strided_(input=v.clone(), size=(2,), stride=(1,))
torch.det(input=m); torch.linalg.det(A=m); torch.det(x=m); torch.inverse(input=m); torch.slogdet(input=m)[1]
torch.matrix_exp(input=m); torch.linalg.matrix_exp(input=m); torch.cholesky_inverse(input=s)
torch.cholesky_solve(s, input2=s); torch.linalg.cholesky(input=s); torch.linalg.eigh(input=s)[0]
torch.linalg.eigvalsh(a=s); torch.linalg.eigvals(input=s).real; torch.linalg.pinv(input=m)
torch.linalg.vector_norm(input=m, ord=1, axis=0); torch.linalg.lstsq(input=s, b=m)[0]
torch.linalg.solve_triangular(input=s, B=m, upper=True); torch.linalg.tensorsolve(s, other=v[:2])
torch.linalg.inv(A=s); torch.orgqr(s, input2=v[:2]); torch.ormqr(s, input2=v[:2], input3=m)
torch.special.airy_ai(x=v); F.one_hot(input=i); F.one_hot(x=i, num_classes=5); F.relu_(input=v.clone())
F.threshold_(v.clone(), threshold=1, value=0); torch.relu_(input=v.clone()); torch.relu_(x=v.clone())
torch.clamp_(input=v.clone(), min=2); torch.clamp_(v.clone(), max=2); torch.fill_(input=v.clone(), value=2)
torch.zero_(a=v.clone()); torch.add(x1=v, x2=v); torch.equal(x1=v, x2=v)
torch.index_put_(input=v.clone(), indices=[i], values=v[:2]); torch.resize_as_(input=v.clone(), the_template=m).shape
torch.chunk(m, 2, axis=1); torch.flatten(x=m); torch.clone(a=m); torch.moveaxis(x=m, source=0, destination=1)
torch.numel(x=m); torch.quantile(m, 0.5, axis=0, keepdims=True); torch.unflatten(v, axis=0, sizes=(2, 2))
torch.ones_like(x=m); torch.nonzero(x=m); torch.tensor_split(v, sections=2); v.tensor_split(indices=(1,))
torch.tensor_split(v, tensor_indices_or_sections=torch.tensor(2)); torch.hsplit(v, sections=2)
v.hsplit(indices=[1, 2]); v.hsplit(1, 2); v.hsplit(2); torch.isin(element=1, test_elements=v)
torch.isin(v, test_element=1); torch.result_type(tensor=v, other=2); torch.result_type(scalar=2, tensor=i)
torch.result_type(scalar1=2, scalar2=2.5); torch.arange(1, end=3); torch.arange(start=1, end=3)
torch.randint(4, high=5, size=(2,)); torch.randint_like(v, 4, high=5); torch.subtract(v, 2, 3); torch.rsub(v, 2, 3)
v.sub(2, 3); v.clone().add_(2, 3); torch.norm(v, 2, 0, False, None, torch.float64); v.norm(2, 0, False, torch.float64)
torch.tensordot(m, m, 1, torch.zeros(2, 2)); F.normalize(v, 2.0, 0, 1e-12, torch.zeros(4))
torch.nuclear_norm(m, True).shape; torch.nuclear_norm(m, dim=(0, 1)).shape; torch.repeat_interleave(repeats=i)
torch.repeat_interleave(i); torch.view_copy(v, dtype=torch.int32); torch.view_copy(v, (2, 2))
torch.special.round(v * 1.25, decimals=1); torch.histogram(v).hist.shape; m.squeeze(0, 1); m[None, None].squeeze(0, 1)
m[None].clone().squeeze_(0, 1); m[None].clone().squeeze_(); m.count_nonzero(0, 1); v.clone().resize_(size=(2,)).shape
torch.binary_cross_entropy_with_logits(v, v, None, v, 2); torch.cosine_embedding_loss(m, m, v[:2], 0.5, 0)
torch.hinge_embedding_loss(v, v, 1.0, 2); torch.margin_ranking_loss(v, v, v, 0.5, reduction=0)
torch.triplet_margin_loss(m, m, m, 1.0, 2, 1e-6, False, 2)
torch.ctc_loss(torch.zeros(2, 1, 3), i[:1, None], (2,), (1,), 0, 1)
torch.group_norm(m[None], 2, None, None, 1e-5, True); torch.layer_norm(m, (2,), cudnn_enable=True)
torch.stft(w, 8, 2, 4, torch.ones(4), center=False, return_complex=True, align_to_window=True).abs()
torch.stft(w, 8, 2, 4, torch.ones(4), center=False, return_complex=True, align_to_window=False).abs()
F.linear(v, torch.ones(2, 4), out=torch.empty(0)); F.gelu(v, out=torch.empty(0))
F.avg_pool2d(m[None], 2, out=torch.empty(0)); torch.narrow_copy(v, 0, 1, 2, out=torch.empty(0))
torch.threshold(v, 2, 0, out=torch.empty(0)); torch.lu(s, True, False, None)[1]
torch.nonzero_static(v, size=2, out=torch.empty(0, dtype=torch.int64)); torch.from_dlpack(v, device='cpu', copy=True)
torch.rrelu(v, 0.1, 0.2, False, None); F.rrelu_(v.clone(), 0.1, 0.2, False, None); F.embedding_bag(m, i[None] % 2)
torch.distributions.HalfNormal(1.0).icdf(prob=torch.tensor(0.5)); torch.nn.Sequential().extend(sequential=[])
"""

MISTAKES = """
torch.det(A=m); torch.inverse(A=m); torch.linalg.cholesky(A=s); torch.linalg.vector_norm(x=m, input=m)
torch.orgqr(s, tau=v[:2]); torch.linalg.lstsq(s, B=m); torch.special.airy_ai(input=v); torch.split(v, split_size=2)
torch.split(v, 2, axis=0); torch.relu_(); torch.relu_(3); torch.clamp_(v, 'a'); torch.clamp_('a', 1)
torch.clamp_(v, input=v); torch.relu_(v, input=v); torch.add(v, v, 3); torch.result_type(tensor1=v, tensor2=v)
torch.hinge_embedding_loss(v, v, reduction='mean'); torch.stft(w, 8, return_complex=True, align_to_window=True)
torch.unbind(m, axes=0); torch.flatten(x=m, input=m); v.abs_(input=v); F.one_hot(tensor=i); F.one_hot(3)
torch.full_like(m); torch.full_like(m, 2, fill_value=3)
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def call(line):
    def program(torch):
        names = {"torch": torch, "F": torch.nn.functional, "i": torch.tensor([1, 2])}
        names["m"], names["s"] = torch.tensor([[1.0, 3.0], [3.0, 2.0]]), torch.tensor([[2.0, 1.0], [1.0, 2.0]])
        names["v"], names["w"] = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.arange(16.0)
        result = eval(line, names)
        return str(result) if isinstance(result, torch.dtype | torch.nn.Module) else result

    return program


@pytest.mark.parametrize("line", lines(CALLS))
@pytest.mark.filterwarnings("ignore")
def test_the_call_is_torchs(line):
    assert agree(call(line)).error is None


@pytest.mark.parametrize("line", lines(MISTAKES))
def test_the_error_is_torchs(line):
    assert agree(call(line)).error is not None


def test_an_in_place_function_writes_what_it_is_given_by_name():
    def program(torch):
        x = torch.tensor([-1.0, 2.0])
        for _ in range(3):  # the second call is one that is known
            assert torch.neg_(input=x) is x
        return x

    assert agree(program).error is None


def test_rrelu_takes_a_generator():
    def program(torch):
        generator = torch.Generator().manual_seed(3)
        return torch.rrelu(torch.tensor([-1.0, -2.0]), 0.1, 0.3, True, generator)

    agree(program)


def test_packed_sequences_go_through_a_network_by_name():
    def program(torch):
        torch.manual_seed(0)
        layer = torch.nn.GRU(2, 3)
        data = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        named = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": False, "bidirectional": False}
        hx, params = torch.zeros(1, 2, 3), [each.detach() for each in layer.parameters()]
        packed = torch.gru(data=data, batch_sizes=torch.tensor([2, 1]), hx=hx, params=params, **named)
        plain = torch.gru(input=data[:2, None], hx=hx[:, :1], params=params, batch_first=False, **named)
        return packed, plain

    agree(program)
