"""How linear algebra is called: what `out=`, shapes, types and numbers are refused for, in torch's words; and LDL."""

import math
import warnings

from oracle import agreement_of, programs_of


def said(torch, calls):
    """By name what each call gives, as shapes and types, or the first line of its error."""
    found = {}
    for name, call in calls.items():
        try:
            made = call()
            made = made if isinstance(made, tuple) else (made,)
            found[name] = [(tuple(each.shape), str(each.dtype)) for each in made]
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            kind = next(each for each in (IndexError, ValueError, TypeError, RuntimeError) if isinstance(error, each))
            found[name] = [kind.__name__, str(error).partition("\n")[0]]
    return found


def out_has_to_hold_the_result(torch):
    linalg, ones = torch.linalg, torch.ones
    a = ones(3, 3) + 2 * torch.eye(3)
    lu, pivots = linalg.lu_factor(a)
    vectors, factors = torch.geqrf(a)
    functions = {
        "cholesky": (1, lambda out: torch.cholesky(a, out=out)),
        "cholesky_inverse": (1, lambda out: torch.cholesky_inverse(a, out=out)),
        "cholesky_solve": (1, lambda out: torch.cholesky_solve(ones(3, 1), a, out=out)),
        "geqrf": (2, lambda out: torch.geqrf(a, out=out)),
        "orgqr": (1, lambda out: torch.orgqr(vectors, factors, out=out)),
        "ormqr": (1, lambda out: torch.ormqr(vectors, factors, ones(3, 3), out=out)),
        "eig": (2, lambda out: linalg.eig(a, out=out)),
        "eigvals": (1, lambda out: linalg.eigvals(a, out=out)),
        "pinv": (1, lambda out: linalg.pinv(a, out=out)),
        "cond": (1, lambda out: linalg.cond(a, out=out)),
        "matrix_rank": (1, lambda out: linalg.matrix_rank(a, out=out)),
        "matrix_power": (1, lambda out: linalg.matrix_power(a, 3, out=out)),
        "matrix_norm": (1, lambda out: linalg.matrix_norm(a, out=out)),
        "norm": (1, lambda out: linalg.norm(a, out=out)),
        "multi_dot": (1, lambda out: linalg.multi_dot([a, a], out=out)),
        "solve_triangular": (1, lambda out: linalg.solve_triangular(a, a, upper=True, out=out)),
        "lu_solve": (1, lambda out: linalg.lu_solve(lu, pivots, a, out=out)),
        "tensorsolve": (1, lambda out: linalg.tensorsolve(a, ones(3), out=out)),
        "mv": (1, lambda out: torch.mv(a, ones(3), out=out)),
        "addmv": (1, lambda out: torch.addmv(ones(3), a, ones(3), out=out)),
        "vander": (1, lambda out: linalg.vander(ones(3), out=out)),
    }
    calls = {}
    for name, (count, function) in functions.items():
        for dtype in (torch.bool, torch.float64, torch.complex64):
            targets = [torch.empty(0, dtype=dtype) for _ in range(count)]
            if name == "eig" and dtype is torch.complex64:
                continue
            given = targets[0] if count == 1 else tuple(targets)
            calls[f"{name} {dtype}"] = lambda function=function, given=given: function(given)
    return said(torch, calls)


def lstsq_writes_into_out(torch):
    a, b = torch.eye(3) + 1, torch.ones(3, 2)
    out = tuple(torch.empty(0, dtype=each) for each in (torch.float64, torch.float32, torch.int64, torch.float32))
    made = torch.linalg.lstsq(a, b, out=out)
    return made.solution is out[0], made.solution, made.rank


def norms_refuse_what_does_not_fit(torch):
    calls = {}
    for shape in ((0,), (2,), (2, 3), (2, 3, 4)):
        for dim in (None, (), (0,), (0, 1), (0, 0), (0, 5)):
            for order in ("nuc", "fro", 2, 0, "fail", -math.inf):
                x = torch.ones(shape)
                key = f"{shape} {dim} {order}"
                calls[f"norm {key}"] = lambda x=x, dim=dim, order=order: torch.norm(x, order, dim)
                calls[f"linalg.norm {key}"] = lambda x=x, dim=dim, order=order: torch.linalg.norm(x, order, dim)
                if dim is not None:
                    calls[f"matrix {key}"] = lambda x=x, dim=dim, order=order: torch.linalg.matrix_norm(x, order, dim)
    for own in (torch.float32, torch.complex64, torch.int32):
        for asked in (torch.float32, torch.float64, torch.complex64, torch.int32):
            x = torch.ones(3, 3).to(own)
            calls[f"{own} as {asked}"] = lambda x=x, asked=asked: torch.linalg.vector_norm(x, dtype=asked)
            calls[f"{own} as {asked} of rows"] = lambda x=x, asked=asked: torch.linalg.matrix_norm(x, 1, dtype=asked)
    x, out = torch.ones(3, dtype=torch.complex64), torch.empty(0)
    calls["complex, into a real one"] = lambda: torch.linalg.norm(x, dtype=torch.complex64, out=out)
    return said(torch, calls)


def reflections_have_to_fit(torch):
    ones, calls = torch.ones, {}
    for a, tau, other in [
        *[((7, 7), (7,), (3, 3)), ((2, 3, 3), (3, 3), (2, 3, 3)), ((2, 3, 3), (2, 3), (3, 3)), ((3, 3), (5,), (3, 3))],
        *[((2, 3, 3), (2, 3), (3, 3, 3)), ((10,), (2,), (2,)), ((2, 2), (2,), (2,)), ((3, 3), (4,), (5, 3))],
    ]:
        calls[f"ormqr {a} {tau} {other}"] = lambda a=a, tau=tau, other=other: torch.ormqr(
            ones(a), ones(tau), ones(other)
        )
    for a, tau in [((2, 3, 3), (3,)), ((2, 3, 3), (3, 3)), ((3, 3), (2, 3)), ((2, 3, 3), (1, 3)), ((2, 3), (2,))]:
        calls[f"orgqr {a} {tau}"] = lambda a=a, tau=tau: torch.linalg.householder_product(ones(a), ones(tau))
    calls["types"] = lambda: torch.ormqr(ones(3, 3), ones(3), ones(3, 3, dtype=torch.float64))
    calls["integers"] = lambda: torch.orgqr(ones(3, 3).int(), ones(3).int())
    return said(torch, calls)


def pivots_have_to_be_rows(torch):
    lu, pivots = torch.linalg.lu_factor(torch.eye(3) + 1)
    calls = {}
    for name, each in {"0": pivots * 0, "4": pivots * 0 + 4, "long": pivots.long(), "batch": pivots[None]}.items():
        calls[f"solve {name}"] = lambda each=each: torch.linalg.lu_solve(lu, each, torch.ones(3, 2))
        calls[f"older {name}"] = lambda each=each: torch.lu_solve(torch.ones(3, 2), lu, each)
        if name != "batch":
            calls[f"unpack {name}"] = lambda each=each: torch.lu_unpack(lu, each)
            calls[f"unpack without {name}"] = lambda each=each: torch.lu_unpack(lu, each, unpack_pivots=False)
    return said(torch, calls)


def values_are_refused(torch):
    linalg, singular = torch.linalg, torch.ones(2, 3, 3)
    singular[1, 1, 1] = 0
    complex_one = torch.tensor(1j)
    return said(
        torch,
        {
            "factor with a zero": lambda: torch.cholesky_inverse(singular),
            "of infinity": lambda: linalg.eig(torch.full((2, 2), math.inf)),
            "rcond": lambda: linalg.pinv(singular, rcond=complex_one),
            "atol": lambda: linalg.pinv(singular, atol=complex_one),
            "rtol": lambda: linalg.matrix_rank(singular, rtol=complex_one),
            "tol": lambda: linalg.matrix_rank(singular, tol=complex_one),
        },
    )


def numbers_of_addr_are_of_the_kind_of_its_tensors(torch):
    calls = {}
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        x, v = torch.ones(3, 3).to(dtype), torch.ones(3).to(dtype)
        for beta in (1, True, 2.5):
            for alpha in (2, False, 1.5):
                calls[f"{dtype} {beta} {alpha}"] = lambda x=x, v=v, beta=beta, alpha=alpha: torch.addr(
                    x, v, v, beta=beta, alpha=alpha
                )
    return said(torch, calls)


def what_torch_warns_of(torch):
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    one, wave, several, numbers = torch.eye(2), torch.ones(16), torch.zeros(1, 2).long(), torch.ones(2) * 1j
    spectra, found = torch.stft(wave, 8, window=wave[:8], return_complex=True), []
    calls = [lambda: torch.qr(one), one.cholesky, lambda: torch.triangular_solve(one, one), lambda: torch.lu(one)]
    calls += [lambda: torch.stft(wave, 8, return_complex=True), lambda: torch.istft(spectra, 8), numbers.bool]
    calls += [lambda: one.scatter(0, several, one, reduce="add"), lambda: one.scatter(0, several, 2.0, reduce="add")]
    calls += [numbers.float, lambda: wave.fill_(numbers[0]), lambda: wave[:2].copy_(numbers), numbers.abs]
    try:
        for call in calls:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call()
            found.append([str(each.message)[:44] for each in caught])
    finally:
        torch.set_warn_always(always)
    return found


def numbers_between_the_tensors_warn_each_time(torch):
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    a, b, x = torch.ones(2, 3, 3), torch.zeros(2, 3, 3), torch.ones(3, 3)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                x.addbmm_(1.0, 0.5, a, b)
    finally:
        torch.set_warn_always(always)
    return [str(each.message).partition(":")[0] for each in caught], x


def equations_of_einsum_are_read_letter_by_letter(torch):
    x, y = torch.ones(2), torch.ones(2, 3)
    given = [("", []), ("",), (". ..", [x]), ("... ...", [x]), ("1", [x]), (",", [x]), ("", [x, x]), ("ai...", [x])]
    given += [("a->... .", [x]), ("a->..", [x]), ("a->1", [x]), ("a->aa", [x]), ("a->i", [x]), ("aa", [y]), (x, [52])]
    given += [(" a , a b -> b ", [x, y]), ("...a->...", [y]), ("", [x])]
    return said(
        torch, {str(each[0]) + str(place): lambda each=each: torch.einsum(*each) for place, each in enumerate(given)}
    )


def no_matrices_and_shapes_that_do_not_fit(torch):
    ones, linalg = torch.ones, torch.linalg
    calls = {
        "chain_matmul": lambda: torch.chain_matmul(),
        "cartesian_prod": lambda: torch.cartesian_prod(),
        "tensorsolve": lambda: linalg.tensorsolve(ones(3, 3), ones(2)),
        "tensorsolve, dims": lambda: linalg.tensorsolve(ones(3, 3), ones(3), (5,)),
        "tensorinv": lambda: linalg.tensorinv(ones(2, 3, 6), 5),
        "eigvals": lambda: linalg.eigvals(ones(2, 3)),
        "cholesky_solve": lambda: torch.cholesky_solve(ones(2, 3), ones(2, 3)),
        "triangular_solve": lambda: torch.triangular_solve(ones(2, 3), ones(2, 3)),
        **{f"cond {p}": lambda p=p: linalg.cond(ones(2, 3), p) for p in (1, math.inf, "fro", "x", 3, -2)},
    }
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3)):
        for name in ("lu_factor_ex", "lu", "svd", "svdvals", "pinv", "matrix_rank", "cond"):
            calls[f"{name} {shape}"] = lambda name=name, shape=shape: getattr(linalg, name)(ones(shape))
        calls[f"cond of order 1 {shape}"] = lambda shape=shape: linalg.cond(ones(shape), 1)
    return said(torch, calls)


def lstsq_takes_a_tolerance_out_of_range_for_rounding(torch):
    a, b = torch.tensor([[2.0, 1.0], [1.0, 3.0], [0.5, 1.0]]), torch.tensor([[1.0], [2.0], [0.0]])
    return [
        torch.linalg.lstsq(a, b, rcond=rcond, driver=driver)[:3]
        for driver in ("gels", "gelsd", "gelss")
        for rcond in (None, -1, 1.0)
        if not (driver == "gels" and rcond)
    ]


def a_batch_without_elements_overlaps_nothing(torch):
    out = torch.zeros(1, 0, 3).expand(2, 0, 3)
    return torch.bmm(torch.ones(2, 0, 4), torch.ones(2, 4, 3), out=torch.zeros(2, 0, 3).copy_(out))


def ldl(torch):
    linalg = torch.linalg
    drawn = [[4.0, 1.0, -2.0, 0.5], [1.0, 0.0, 3.0, 1.0], [-2.0, 3.0, 0.0, 2.0], [0.5, 1.0, 2.0, -1.0]]
    real = torch.tensor(
        [drawn, [[0.0 if i == j else each for j, each in enumerate(row)] for i, row in enumerate(drawn)]]
    )
    values = real.double()
    hermitian = torch.complex(values, values.tril() - values.triu())
    right = torch.arange(8.0, dtype=torch.float64).reshape(4, 2)
    found = []
    for matrix, options in ((values, {}), (hermitian, {"hermitian": True}), (hermitian, {})):
        made = linalg.ldl_factor_ex(matrix, **options)
        solved = linalg.ldl_solve(made.LD, made.pivots, right.to(matrix.dtype).expand(2, 4, 2), **options)
        found.append([made.LD, made.pivots, made.info, solved])
    return found


def ldl_refuses(torch):
    linalg, ones = torch.linalg, torch.ones
    pivots = torch.ones(3, dtype=torch.int32)
    return said(
        torch,
        {
            "not square": lambda: linalg.ldl_factor(ones(2, 3)),
            "a vector": lambda: linalg.ldl_factor(ones(2)),
            "integers": lambda: linalg.ldl_factor(ones(2, 2).int()),
            "nothing": lambda: linalg.ldl_factor_ex(ones(2, 0, 0)),
            "other pivots": lambda: linalg.ldl_solve(ones(3, 3), pivots[:2], ones(3, 1)),
            "real pivots": lambda: linalg.ldl_solve(ones(3, 3), ones(3), ones(3, 1)),
            "another size": lambda: linalg.ldl_solve(ones(3, 3), pivots, ones(2, 1)),
            "another type": lambda: linalg.ldl_solve(ones(3, 3), pivots, ones(3, 1, dtype=torch.float64)),
            "a derivative": lambda: linalg.ldl_factor(torch.eye(2, requires_grad=True)).LD.sum().backward(),
        },
    )


def exponentials_of_large_matrices_are_as_precise(torch):
    found = []
    for dtype in (torch.float32, torch.float64, torch.complex128):
        for scale in (0.5, 3.0, 6.0, 11.0):
            x = torch.tensor([[[0.5, 0.25], [0.125, 0.375]], [[0.0, 0.0], [0.0, 0.0]]], dtype=dtype) * scale
            x.requires_grad_()
            made = torch.linalg.matrix_exp(x)
            made.abs().sum().backward()
            found.append([made.detach() / made.detach().abs().max(), x.grad / x.grad.abs().max()])
    return found


def a_whole_q_has_no_derivative(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], requires_grad=True)
    made = torch.linalg.qr(x, mode="complete")
    call = {"backward": lambda: made.R.sum().backward()}
    return made.R.detach().abs(), made.R.requires_grad, said(torch, call)


def singular_values_take_no_room_for_all_vectors(torch):
    x = torch.ones(2, 1 << 18, dtype=torch.float64)
    return torch.linalg.svdvals(x), torch.linalg.matrix_norm(x, "nuc"), torch.linalg.matrix_rank(x)


def settings_for_a_block(torch):
    with torch.backends.mkldnn.flags(enabled=False):
        inside = torch.backends.mkldnn.enabled
    calls = {"another word": lambda: torch.backends.cuda.preferred_linalg_library("lapack")}
    torch.backends.cuda.preferred_linalg_library("default")
    return inside, said(torch, calls)


test_agrees_with_torch = agreement_of(programs_of(globals()))
