"""The library whose memory runs out when it is told to (tests/tools/failing.c), as tests of bindings use it:
whichever allocation of a fit and a scoring fails, the call says so and leaves nothing behind.

    failing_check.py LIBRARY
"""
import ctypes as C
import sys

import numpy as np

kn = C.CDLL(sys.argv[1])
P, SIZE, OUT_OF_MEMORY = C.c_void_p, C.c_ssize_t, 5
kn.kn_ctx_new.restype = P
kn.kn_message.restype = C.c_char_p
kn.kn_test_left.restype = C.c_long
N, T = 12, 3
rng = np.random.default_rng(1)
age, Y = rng.uniform(20, 80, N), rng.normal(size=(N, T))


class View(C.Structure):
    _fields_ = [("data", P), ("type", C.c_int), ("rows", SIZE), ("cols", SIZE), ("row_stride", SIZE),
                ("col_stride", SIZE)]


def free(name, *things):
    for thing in things:
        getattr(kn, name)(thing)


def everything():
    """None: there is no context; else the first status that is not 0, and the context's words."""
    ctx = P(kn.kn_ctx_new())
    if not ctx:
        return None
    data, model, scores = P(), P(), P()
    steps = (lambda: kn.kn_data_new(ctx, SIZE(N), C.byref(data)),
             lambda: kn.kn_data_numbers(ctx, data, b"age", P(age.ctypes.data), SIZE(1)),
             lambda: kn.kn_data_responses(ctx, data, View(Y.ctypes.data, 0, N, T, T, 1), None),
             lambda: kn.kn_fit(ctx, data, None, C.byref(model)),
             lambda: kn.kn_score(ctx, model, data, None, C.byref(scores)))
    status = next((s for s in (step() for step in steps) if s), 0)
    said = kn.kn_message(ctx).decode()
    free("kn_scores_free", scores)
    free("kn_model_free", model)
    free("kn_data_free", data)
    free("kn_ctx_free", ctx)
    return status, said


kn.kn_test_fail_from_now(C.c_long(1))
assert everything() is None, "no memory, no context"
k, failed = 2, 0
while True:
    kn.kn_test_fail_from_now(C.c_long(k))
    status, said = everything()
    if kn.kn_test_left():  # there were fewer
        break
    assert status == OUT_OF_MEMORY and "out of memory" in said, (k, status, said)
    k, failed = k + 1 + k // 40, failed + 1
kn.kn_test_fail_from_now(C.c_long(0))
assert failed > 50 and status == 0 and everything()[0] == 0, (failed, status, said)
ctx = P(kn.kn_ctx_new())
kn.kn_test_fail_allocation(ctx, C.c_long(1))
assert kn.kn_data_new(ctx, SIZE(2), C.byref(P())) == OUT_OF_MEMORY
kn.kn_ctx_free(ctx)
print(f"{failed} allocations of {k} failed in turn")
