"""Every public function, called from Python by ctypes alone: what a binding has to rely on. The names
come from the header, and one that was not called is a failure.

    ctypes_check.py HEADER LIBRARY
"""
import ctypes as C
import json
import math
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HEADER, LIBRARY = sys.argv[1:]
NAMES = re.findall(r"KN_API[^;]*?\b(kn_[a-z0-9_]+)\(", re.sub(r"(?m)^#.*", "", pathlib.Path(HEADER).read_text()))
P, SIZE, TEXT, INT, DOUBLE = C.c_void_p, C.c_ssize_t, C.c_char_p, C.c_int, C.c_double
CALLED, CHECKS = set(), 0


class View(C.Structure):
    _fields_ = [("data", P), ("type", INT), ("rows", SIZE), ("cols", SIZE), ("row_stride", SIZE),
                ("col_stride", SIZE)]


class Mat(C.Structure):
    _fields_ = [("data", P), ("rows", SIZE), ("cols", SIZE), ("ld", SIZE)]


class Progress(C.Structure):
    _fields_ = [("size", C.c_size_t), ("stage", TEXT), ("done", SIZE), ("total", SIZE), ("lml", DOUBLE)]


class Info(C.Structure):
    _fields_ = [("size", C.c_size_t), ("key", TEXT), ("type", INT), ("letter", INT), ("value", TEXT),
                ("words", TEXT), ("preferred", TEXT), ("heading", TEXT), ("help", TEXT),
                ("without", C.c_char * 64), ("alias", TEXT)]


class Overlap(C.Structure):
    _fields_ = [("size", C.c_size_t), ("participants", SIZE), ("excluded", SIZE), ("groups", SIZE), ("responses", SIZE),
                ("files", SIZE), ("least_p", DOUBLE * 2), ("least_p_fdr", DOUBLE * 2), ("below", SIZE * 2),
                ("below_fdr", SIZE * 2)]


class Change(C.Structure):
    _fields_ = [("size", C.c_size_t), ("participants", SIZE), ("one_visit", SIZE), ("pairs", SIZE), ("responses", SIZE),
                ("files", SIZE), ("reference_participants", SIZE), ("reference_pairs", SIZE), ("far", SIZE), ("with_p", SIZE),
                ("flagged", SIZE), ("gamma", DOUBLE), ("d0", DOUBLE), ("s0", DOUBLE)]


class Export(C.Structure):
    _fields_ = [("size", C.c_size_t), ("points", SIZE), ("few", SIZE), ("mean", DOUBLE), ("sd", DOUBLE),
                ("mean_between", DOUBLE), ("sd_between", DOUBLE), ("mean_beyond", DOUBLE), ("sd_beyond", DOUBLE),
                ("findable", SIZE)]


class Centiles(C.Structure):
    _fields_ = [("size", C.c_size_t), ("responses", SIZE), ("curves", SIZE), ("values", SIZE), ("centiles", SIZE),
                ("participants", SIZE), ("files", SIZE), ("bands", C.c_int), ("n_extrapolated", SIZE)]


class HeldOut(C.Structure):
    _fields_ = [("size", C.c_size_t), ("participants", SIZE), ("folds", SIZE), ("responses", SIZE), ("files", SIZE),
                ("adapted", SIZE), ("test", SIZE), ("R2", DOUBLE), ("MSLL", DOUBLE), ("z2", DOUBLE),
                ("adapted_MSLL", DOUBLE), ("adapted_z2", DOUBLE), ("AUC", DOUBLE), ("AUC_deviance", DOUBLE)]


class Page(C.Structure):
    _fields_ = [("size", C.c_size_t), ("participants", SIZE), ("responses", SIZE), ("warnings", SIZE), ("cards", SIZE),
                ("cards_asked", SIZE), ("bytes", SIZE), ("figures", SIZE)]


class OldInfo(C.Structure):  # of a caller that was compiled when there was no more
    _fields_ = [("size", C.c_size_t), ("key", TEXT)]


class OldProgress(C.Structure):
    _fields_ = [("size", C.c_size_t), ("stage", TEXT)]


LOG = C.CFUNCTYPE(None, P, INT, TEXT)
PROGRESS = C.CFUNCTYPE(None, P, C.POINTER(Progress))
OLD_PROGRESS = C.CFUNCTYPE(None, P, C.POINTER(OldProgress))


class Library:
    """kn.fit(...) is kn_fit, with argument types as they come."""

    def __init__(self, path):
        self.library = C.CDLL(path)

    def __getattr__(self, name):
        return self.returning(INT, name)

    def returning(self, kind, name):
        function = self.library["kn_" + name]
        function.restype = kind
        CALLED.add("kn_" + name)
        return function


kn = Library(LIBRARY)


class Failed(Exception):
    pass


def check(condition, what):
    global CHECKS
    CHECKS += 1
    if not condition:
        sys.exit(f"not so: {what}")


def text(name, *arguments):
    found = kn.returning(TEXT, name)(*arguments)
    return None if found is None else found.decode()


def number(name, *arguments):
    return kn.returning(DOUBLE, name)(*arguments)


def size(name, *arguments):
    return kn.returning(SIZE, name)(*arguments)


def handle(name, *arguments):
    """A call whose last argument takes a handle."""
    out = P()
    do(getattr(kn, name)(*arguments, C.byref(out)))
    return out


def free(name, thing):
    kn.returning(None, name)(thing)


def do(status):
    if status:
        raise Failed(text("status_name", status), text("message", ctx))


def refused(sentence, status, call):
    try:
        call()
    except Failed as error:
        check(sentence in error.args[1] and error.args[0] == status, f"{error.args}: {sentence}")
        return
    check(False, f"nothing was refused: {sentence}")


def texts(values):
    return (TEXT * len(values))(*[None if v is None else v.encode() for v in values])


def column(values):
    return np.ascontiguousarray(values, dtype=float)


def pointer(array):
    return P(array.ctypes.data)


def rows(array):
    """A matrix of rows as a view, by the library's own functions."""
    kind = "view_rows_f32" if array.dtype == np.float32 else "view_rows"
    return kn.returning(View, kind)(pointer(array), SIZE(array.shape[0]), SIZE(array.shape[1]))


def array_of(view):
    if not view.data:
        return None
    reach = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride + 1
    kind = C.c_float if view.type else DOUBLE
    flat = np.ctypeslib.as_array(C.cast(view.data, C.POINTER(kind)), (reach,))
    return np.lib.stride_tricks.as_strided(flat, (view.rows, view.cols),
                                           (flat.itemsize * view.row_stride, flat.itemsize * view.col_stride)).copy()


def options(command, **values):
    o = handle("options_new", ctx, command.encode())
    for key, value in values.items():
        do(kn.options_set(ctx, o, key.encode(), None if value is None else str(value).encode()))
    return o


def people(which, responses=True, names=True):
    d = handle("data_new", ctx, SIZE(len(which)))
    do(kn.data_numbers(ctx, d, b"age", pointer(table["age"][which].copy()), SIZE(1)))
    do(kn.data_texts(ctx, d, b"site", texts([table["site"][i] for i in which])))
    do(kn.data_texts(ctx, d, b"group", texts([table["group"][i] for i in which])))
    do(kn.data_ids(ctx, d, texts([f"s{i:02}" for i in which])))
    if responses:
        keep = np.ascontiguousarray(table["Y"][which])
        kept.append(keep)  # the data borrow it
        do(kn.data_responses(ctx, d, rows(keep), texts(table["names"]) if names else None))
    return d


def block(scores, name, first=0, count=None):
    n, T = size("scores_n_participants", scores), size("scores_n_responses", scores)
    out = np.full((n, count or T), -1.0, order="F")
    m = kn.returning(Mat, "mat_cols")(pointer(out), SIZE(n), SIZE(out.shape[1]))
    do(kn.scores_block(ctx, scores, name.encode(), SIZE(first), SIZE(out.shape[1]), m))
    return out


def make_table(N=60, T=9):
    rng = np.random.default_rng(3)
    age, site = rng.uniform(20, 80, N), [("Oslo", "Bergen", "Rome")[i % 3] for i in range(N)]
    shared = rng.normal(size=(N, 1))
    Y = 3 - 0.02 * age[:, None] * np.linspace(0, 1, T) + 0.2 * shared + 0.1 * rng.normal(size=(N, T))
    Y += 0.3 * (np.arange(N) % 3)[:, None]
    group = ["patient" if i % 10 == 9 else "control" for i in range(N)]
    return {"age": age, "site": site, "group": group, "Y": Y.astype(np.float32),
            "names": [f"region_{j}" for j in range(T)]}


def the_library_itself():
    check(re.fullmatch(r"\d+\.\d+\.\d+", text("version")), "a version")
    check([text("status_name", INT(k)) for k in (0, 3, 8)] == ["ok", "data", "format"], "status names")
    check(text("build_blas") and text("build_core"), "what it was built with")
    text("build_better_core")
    kn.returning(None, "set_threads")(ctx, 1)
    check(kn.threads(ctx) == 1, "threads")
    kn.returning(None, "set_memory")(ctx, C.c_size_t(10**9))
    check(kn.returning(C.c_size_t, "memory")(ctx) == 10**9, "memory")
    kn.returning(None, "set_memory")(ctx, C.c_size_t(0))
    check(kn.returning(Mat, "mat_none")().data is None, "no matrix")
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    v = kn.returning(View, "view_cols")(pointer(a), SIZE(2), SIZE(3))
    check((array_of(v) == a).all(), "a view of columns")


def the_options():
    info, old = Info(size=C.sizeof(Info)), OldInfo(size=C.sizeof(OldInfo))
    seen = {}
    for command in ("fit", "score", "predict"):
        for i in range(kn.options_count(command.encode())):
            do(kn.option_at(ctx, command.encode(), INT(i), C.byref(info)))
            do(kn.option_at(ctx, command.encode(), INT(i), C.byref(old)))
            check(old.key == info.key and old.size == C.sizeof(OldInfo), "a smaller struct is filled")
            check(info.help, f"help of {info.key}")
            seen[command, info.key.decode()] = (info.type, info.words, info.preferred, info.without)
    check(seen["fit", "noise"] == (2, b"structured|iso|whitened|auto", b"structured", b"stgpr kronsum convolved mtgpr"), "noise")
    check(seen["fit", "folds"][2] == b"10" and seen["score", "write"][0] == 6, "folds and write")
    o = options("fit", noise="iso", strip_ids=None)
    check(text("options_get", o, b"noise") == "iso", "what was set")
    check(text("options_get", o, b"folds") == "10", "a default")
    refused("{noise} is 'white', but must be structured|iso|whitened|auto", "argument",
            lambda: do(kn.options_set(ctx, o, b"noise", b"white")))
    do(kn.options_check(ctx, o))
    do(kn.options_set(ctx, o, b"folds", b"1"))
    refused("{folds} is 1; it must be 0 or at least 2", "argument", lambda: do(kn.options_check(ctx, o)))
    free("options_free", o)


def a_model_from_named_columns():
    train = people(np.arange(40))
    check(size("data_count", train) == 40, "people counted")
    o = options("fit", use="age,site", components=2, folds=5, calibrate="none")  # z is made by hand below
    model = handle("fit", ctx, train, o)
    check(any("40 participants, 2 covariates, 9 responses" in line for line in said), "the log was heard")
    check({"search", "reference"} & stages, f"a caller of an older header hears of progress: {stages}")
    free("options_free", o)
    return train, model


def what_a_model_tells(model):
    out = P()
    do(kn.model_json(ctx, model, C.byref(out)))
    told = json.loads(C.string_at(out).decode())
    free("text_free", out)
    do(kn.model_words(ctx, model, C.byref(out)))
    check("signal: " in C.string_at(out).decode(), "in words, what its signal is made of")
    free("text_free", out)
    check(told["method"] == text("model_text", model, b"method") == "smtgpr", "its method")
    check(told["lml"] == number("model_number", model, b"lml"), "its likelihood")
    check(told["cv"]["z2"] == number("model_number", model, b"cv.z2"), "a number inside")
    check(math.isnan(number("model_number", model, b"beauty")), "no such number")
    check(text("model_text", model, b"beauty") is None, "no such text")
    levels = [c.get("levels") for c in told["recipe"]["columns"]]
    check(levels == [None, ["Bergen", "Oslo", "Rome"]], f"texts are categories: {levels}")
    check(told["options"] == {"use": "age,site", "components": "2", "folds": "5", "calibrate": "none"}, told["options"])
    B = array_of(kn.returning(View, "model_array")(model, b"B"))
    check(B.shape == (9, 2) and np.allclose(B.T @ B, np.eye(2)), "an orthonormal basis")
    index = C.POINTER(SIZE)()
    n = kn.returning(SIZE, "model_kept")(model, C.byref(index))
    check(index[:n] == list(range(9)), "responses in use")
    noise = np.zeros(9)
    do(kn.model_noise(ctx, model, pointer(noise)))
    check((noise > 0).all(), "noise of every response")
    check(told["space"] == {"kind": "table"}, "where its responses live")
    names = kn.returning(C.POINTER(TEXT), "model_response_names")(model)
    check([name.decode() for name in names[:9]] == table["names"], "names of its responses")
    ids = kn.returning(C.POINTER(TEXT), "model_ids")(model)
    check([name.decode() for name in ids[:40]] == [f"s{i:02}" for i in range(40)], "ids of training")
    check(kn.returning(SIZE, "model_voxels")(model, C.byref(index)) == 0 and not index, "a table has no voxels")
    check(kn.returning(SIZE, "model_reference")(model, C.byref(index)) == 40 and not index, "the reference is all of training")
    z = array_of(kn.returning(View, "model_array")(model, b"z_cv"))
    check(z.shape == (40, 9) and z.dtype == np.float32 and abs((z**2).mean() - 1) < 0.3, "held-out z of training")


def a_model_as_bytes_and_as_a_file(model, folder):
    out, n, back = P(), C.c_size_t(), P()
    do(kn.model_to_bytes(ctx, model, C.byref(out), C.byref(n)))
    content = C.string_at(out, n.value)
    do(kn.model_from_bytes(ctx, content, n, C.byref(back)))
    path = f"{folder}/model.safetensors"
    do(kn.model_save(ctx, back, path.encode(), INT(0)))
    check(pathlib.Path(path).read_bytes() == content, "the file is the bytes")
    refused("already exists; use {force} to replace it", "io",
            lambda: do(kn.model_save(ctx, back, path.encode(), INT(0))))
    do(kn.model_save(ctx, back, path.encode(), INT(1)))
    opened = handle("model_open", ctx, path.encode())
    refused("is not a safetensors file", "format",
            lambda: handle("model_from_bytes", ctx, b"knitting", C.c_size_t(8)))
    free("bytes_free", out)
    free("model_free", back)
    return opened


def scores_of_new_people(model, folder):
    new = people(np.arange(40, 60))
    o = options("score", cases="group=patient", write="z,yhat")
    scores = handle("score", ctx, model, new, o)
    free("options_free", o)
    check(size("scores_n_participants", scores) == 20, "twenty people")
    ids = kn.returning(C.POINTER(TEXT), "scores_ids")(scores)
    check(ids[:2] == [b"s40", b"s41"], "their ids")
    p = np.ctypeslib.as_array(kn.returning(C.POINTER(DOUBLE), "scores_participants")(scores, b"deviance_p"), (20,))
    check(((p > 0) & (p <= 1)).all(), "a probability for each")
    R2 = np.ctypeslib.as_array(kn.returning(C.POINTER(DOUBLE), "scores_responses")(scores, b"R2"), (9,))
    check(np.isfinite(R2).all(), "a metric for each response")
    summary = json.loads(text("scores_json", scores))
    check(math.isclose(summary["AUC"]["extreme_z"]["auc"], number("scores_number", scores, b"AUC.extreme_z"),
                       rel_tol=1e-9), "AUC")
    check(summary["counts"]["cases"] == 2, "patients counted")
    z, yhat = block(scores, "z"), block(scores, "yhat")
    check((block(scores, "z", 3, 2) == z[:, 3:5]).all(), "a part of the map is the part")
    view = array_of(kn.returning(View, "scores_array")(scores, b"z"))
    check(view.dtype == np.float32 and (view == z).all(), "a map as it lies in memory")
    check(array_of(kn.returning(View, "scores_array")(scores, b"ys2_model")) is None, "a map that was not kept")
    expected = handle("predict", ctx, model, new, None)
    total = block(expected, "ys2_model")
    noise = np.zeros(9)
    do(kn.model_noise(ctx, model, pointer(noise)))
    check((block(expected, "yhat") == yhat).all(), "predict says what score used")
    check(np.allclose((table["Y"][40:] - yhat) / np.sqrt(total + noise), z, atol=1e-5), "z by hand")
    refused("ys2_model is not in memory", "argument", lambda: block(scores, "ys2_model"))
    written = options("score", output=f"{folder}/scored", format="npy")
    there = handle("score", ctx, model, new, written)
    check((np.load(f"{folder}/scored/z.npy") == z).all(), "files have the same z")
    made = sorted(os.listdir(f"{folder}/scored"))
    check(number("scores_number", there, b"files") == len(made), made)
    for s in (scores, expected, there):
        free("scores_free", s)
    free("options_free", written)
    free("data_free", new)


def people_from_files(folder):
    with open(f"{folder}/people.csv", "w") as f:
        f.write("participant_id,age,site\n")
        f.writelines(f"s{i:02},{table['age'][i]},{table['site'][i]}\n" for i in range(40))
    np.save(f"{folder}/maps.npy", table["Y"][:40])
    o = options("fit", covariates=f"{folder}/people.csv", responses=f"{folder}/maps.npy", components=2,
                output=f"{folder}/files.safetensors")
    d = handle("data_read", ctx, o)
    check(size("data_count", d) == 40, "people of a file")
    free("model_free", handle("fit", ctx, d, o))
    check(os.path.exists(f"{folder}/files.safetensors.log.json"), "model and log are written")
    refused("already exists; use {force} to replace it", "io", lambda: handle("fit", ctx, d, o))
    free("options_free", o)
    free("data_free", d)
    o = options("fit", responses=f"{folder}/people.csv")
    text = P()
    do(kn.responses_table(ctx, o, C.byref(text)))
    told = C.string_at(text).decode()
    free("text_free", text)
    check(told.startswith("participant_id\tage\tsite\ns00\t") and told.count("\n") == 41, "a table of a file")
    free("options_free", o)


def what_goes_wrong(model):
    old_sites = list(table["site"][40:52])
    table["site"][41], kept_site = "Paris", table["site"][41]
    stranger = people(np.arange(40, 45))
    table["site"][41] = kept_site
    refused("covariates: 1 participant is from a site that is not in the training data (Paris)", "data",
            lambda: handle("score", ctx, model, stranger, None))
    free("data_free", stranger)
    table["site"][40:52] = ["Paris"] * 12
    controls, stranger = people(np.arange(40, 50)), people(np.arange(50, 52))
    adapted = handle("adapt", ctx, model, controls, None)
    scores = handle("score", ctx, adapted, stranger, None)
    site = np.ctypeslib.as_array(kn.returning(C.POINTER(DOUBLE), "scores_participants")(scores, b"site_adapted"), (2,))
    check(list(site) == [1, 1], "people of a site that the model was adapted to")
    refused("10 of 10 participants are from a site that is already in the model (Paris)", "data",
            lambda: handle("adapt", ctx, adapted, controls, None))
    free("scores_free", scores)
    for each in (controls, stranger):
        free("data_free", each)
    free("model_free", adapted)
    table["site"][40:52] = old_sites
    bare = handle("data_new", ctx, SIZE(3))
    refused("age is inf", "data",
            lambda: do(kn.data_numbers(ctx, bare, b"age", pointer(column([1, math.inf, 2])), SIZE(1))))
    free("data_free", bare)


def a_callback_that_cancels(train):
    def stop(user, progress):
        check(progress.contents.size == C.sizeof(Progress), "progress carries its size")
        kn.returning(None, "cancel")(ctx)

    callback = PROGRESS(stop)
    kn.returning(None, "set_progress")(ctx, callback, None)
    o = options("fit", output=f"{folder}/never.safetensors")
    refused("stopped on request", "cancelled", lambda: handle("fit", ctx, train, o))
    kn.returning(None, "cancel_clear")(ctx)
    kn.returning(None, "set_progress")(ctx, PROGRESS(), None)
    free("options_free", o)


def the_experimental_part(model):
    x = array_of(kn.returning(View, "model_array")(model, b"X"))
    mean = array_of(kn.returning(View, "model_array")(model, b"x_mean"))
    sd = array_of(kn.returning(View, "model_array")(model, b"x_sd"))
    # age, its square, and a column for each of three sites and for another
    check(x.shape == (40, 6) and mean.shape == sd.shape == (2, 1), "the design of age and site")
    X = np.column_stack([x[:, 0] * sd[0] + mean[0], x[:, 2:].argmax(axis=1).astype(float)])
    X, Y = np.ascontiguousarray(X), np.ascontiguousarray(table["Y"][:40])
    none = kn.returning(Mat, "mat_none")()
    for name, arguments in (("maps_predict", [rows(X)]), ("maps_loo", [rows(Y)]),
                            ("maps_cv", [rows(Y), INT(4), None])):
        maps = handle(name, ctx, model, *arguments)
        out = np.zeros((40, 3), order="F")
        check(size("maps_samples", maps) == 40, name)
        do(kn.maps_block(ctx, maps, SIZE(2), SIZE(3),
                         kn.returning(Mat, "mat_cols")(pointer(out), SIZE(40), SIZE(3)), none))
        check(np.corrcoef(out[:, 2], Y[:, 4])[0, 1] > 0.5, f"{name} is near the responses")
        free("maps_free", maps)
    both = np.zeros((2, 2), order="F")
    which = (SIZE * 2)(1, 4)
    do(kn.covariance(ctx, model, rows(X[:1].copy()), which, SIZE(2), none,
                     kn.returning(Mat, "mat_cols")(pointer(both), SIZE(2), SIZE(2))))
    check(both[0, 1] == both[1, 0] and both[0, 0] > 0, "a covariance")


def overlap_of_groups(folder):
    """After scores_of_new_people, whose z it is of."""
    o = options("overlap", scored=f"{folder}/scored", by="site", output=f"{folder}/overlap", permutations=99)
    info = Overlap(size=C.sizeof(Overlap))
    do(kn.overlap(ctx, o, C.byref(info)))
    check((info.participants, info.groups, info.responses, info.files) == (20, 3, 9, len(os.listdir(f"{folder}/overlap"))),
          "overlap of three sites")
    check(all(map(math.isnan, info.least_p)), "no p of three groups")
    refused("already exists; use {force} to replace it", "io", lambda: do(kn.overlap(ctx, o, None)))
    free("options_free", o)
    o = options("overlap", scored=f"{folder}/scored", output=f"{folder}/other")
    refused("{by} is needed", "argument", lambda: do(kn.overlap(ctx, o, None)))
    free("options_free", o)


def change_of_visits(model, folder):
    """20 people twice, all as they were but for a little; the last one falls at the second visit."""
    N, noise = 20, np.random.default_rng(5).normal(size=(20, 9))
    Y = np.repeat(table["Y"][40:], 2, axis=0).astype(float)
    Y[1::2] += 0.03 * noise
    Y[-1] -= 0.5
    twice = lambda values: [v for v in values for _ in range(2)]
    kept.append(Y)
    data = handle("data_new", ctx, SIZE(2 * N))
    do(kn.data_numbers(ctx, data, b"age", pointer(column(twice(table["age"][40:]))), SIZE(1)))
    do(kn.data_texts(ctx, data, b"site", texts(twice(table["site"][40:]))))
    do(kn.data_texts(ctx, data, b"visit", texts(["first", "later"] * N)))
    do(kn.data_texts(ctx, data, b"state", texts(["stable"] * (2 * N - 2) + ["new"] * 2)))
    do(kn.data_ids(ctx, data, texts(twice([f"v{i:02}" for i in range(N)]))))
    do(kn.data_responses(ctx, data, rows(Y), texts(table["names"])))
    o = options("change", visit="visit", reference="state=stable", output=f"{folder}/change",
                save=f"{folder}/kept.safetensors")
    info = Change(size=C.sizeof(Change))
    do(kn.change(ctx, model, data, o, C.byref(info)))
    check((info.participants, info.pairs, info.reference_participants, info.one_visit) == (20, 20, 19, 0), "pairs of visits")
    check(info.flagged == 1 and info.with_p == 1 and info.s0 > 0 and -1 <= info.gamma <= 0, "who fell is found")
    written = os.listdir(f"{folder}/change")  # and the model
    check(info.files == len(written) + 1 and "change_z.csv" in written, "files of change")
    free("options_free", o)
    o = options("change", visit="visit", output=f"{folder}/other")
    refused("{reference} is needed, because the model has no change reference", "argument",
            lambda: do(kn.change(ctx, model, data, o, None)))
    free("options_free", o)
    free("data_free", data)


def a_model_to_give_away(model, folder):
    o = options("export", output=f"{folder}/shared.safetensors")
    info = Export(size=C.sizeof(Export))
    do(kn.export(ctx, model, o, C.byref(info)))
    # 0.01 is what export promises; it leaves out directions up to that error, to bound leverages
    check(max(info.mean, info.sd, info.mean_between, info.sd_between) <= 0.01, "an export predicts the same")
    refused("already exists; use {force} to replace it", "io", lambda: do(kn.export(ctx, model, o, None)))
    free("options_free", o)
    o = options("export")
    refused("{output} is needed", "argument", lambda: do(kn.export(ctx, model, o, None)))


def centiles_of_a_model(model, folder):
    new, info = people(np.arange(40, 60)), Centiles(size=C.sizeof(Centiles))
    o = options("centiles", over="age", grid=5, output=f"{folder}/centiles")
    do(kn.centiles(ctx, model, None, new, o, C.byref(info)))
    check(info.files == len(os.listdir(f"{folder}/centiles")), "files of centiles")
    check((info.responses, info.values, info.centiles, info.participants, info.bands) == (9, 5, 5, 20, 1),
          "curves with people among them")
    free("options_free", o)
    free("data_free", new)
    o = options("centiles", over="weight", output=f"{folder}/none")
    refused("{over}: the model has no covariate 'weight'", "argument", lambda: do(kn.centiles(ctx, model, None, None, o, None)))


def a_page(model, folder):
    made, info, text = P(), Page(size=C.sizeof(Page)), TEXT()
    o = options("report", output=f"{folder}/report.html")
    do(kn.report_compute(ctx, model, o, C.byref(made)))
    do(kn.report_json(ctx, made, C.byref(text)))
    check(json.loads(text.value)["summary"]["responses"] == 9, "the numbers of a page")
    do(kn.report_write(ctx, made, o, C.byref(info)))
    check(info.responses == 9 and info.bytes == os.path.getsize(f"{folder}/report.html"), "the page")
    refused("already exists; use {force} to replace it", "io", lambda: do(kn.report_write(ctx, made, o, None)))
    free("report_free", made)
    free("options_free", o)
    o = options("report", scored=f"{folder}/nowhere")
    refused("nowhere", "io", lambda: do(kn.report_compute(ctx, model, o, C.byref(made))))
    free("options_free", o)


def everybody_held_out(train, folder):
    o = options("cv", folds=4, components=1, output=f"{folder}/held_out")
    info = HeldOut(size=C.sizeof(HeldOut))
    do(kn.cv(ctx, train, o, C.byref(info)))
    check((info.folds, info.responses, info.adapted) == (4, 9, 0) and info.participants > 20, "four folds")
    check(info.files == len(os.listdir(f"{folder}/held_out")), "their files")
    check(math.isfinite(info.MSLL) and math.isnan(info.adapted_MSLL), "their metrics")
    refused("already exists; use {force} to replace it", "io", lambda: do(kn.cv(ctx, train, o, None)))
    free("options_free", o)


ctx = P(kn.returning(P, "ctx_new")())
said, stages, kept, table = [], set(), [], make_table()
on_log = LOG(lambda user, level, message: said.append(message.decode()))
on_progress = OLD_PROGRESS(lambda user, p: stages.add(p.contents.stage.decode()))
kn.returning(None, "set_log")(ctx, on_log, None)
kn.returning(None, "set_progress")(ctx, on_progress, None)
with tempfile.TemporaryDirectory(prefix="kn-ctypes-") as folder:
    the_library_itself()
    the_options()
    train, model = a_model_from_named_columns()
    what_a_model_tells(model)
    opened = a_model_as_bytes_and_as_a_file(model, folder)
    scores_of_new_people(opened, folder)
    overlap_of_groups(folder)
    change_of_visits(opened, folder)
    a_model_to_give_away(opened, folder)
    centiles_of_a_model(opened, folder)
    a_page(opened, folder)
    everybody_held_out(train, folder)
    people_from_files(folder)
    what_goes_wrong(model)
    a_callback_that_cancels(train)
    the_experimental_part(model)
    free("model_free", opened)
    free("model_free", model)
    free("data_free", train)
kn.returning(None, "ctx_free")(ctx)
missing = sorted(set(NAMES) - CALLED)
check(len(NAMES) > 60 and not missing, f"every function was called, but for {missing}")
print(f"{CHECKS} checks, {len(set(NAMES))} functions")
