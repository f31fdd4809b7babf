"""Images of every type, byte order, version, scaling and layout, written by nibabel, read by us;
and ours, read by nibabel and checked by nifti_tool."""

import base64
import gzip
import itertools
import os
import shutil
import struct
import subprocess
import zlib

import nibabel as nib
import numpy as np

from oracle import ask, check, done, path, refused, same

rng = np.random.default_rng(2)
TYPES = ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
CLASSES = [nib.Nifti1Image, nib.Nifti2Image]
PAIRS = {nib.Nifti1Image: nib.Nifti1Pair, nib.Nifti2Image: nib.Nifti2Pair}
OBLIQUE = np.array([[-1.9, 0.3, 0.1, 80.5], [0.25, 1.8, -0.4, -110.25], [0.05, 0.35, 2.1, -60.125],
                    [0, 0, 0, 1]])


def values(kind, shape):
    if kind[0] == "f":
        x = rng.normal(size=shape).astype(kind)
        x.flat[1] = np.nan
        return x
    info = np.iinfo(kind)
    x = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    x.flat[0] = info.min
    return x


def make(cls, kind, endian, shape, affine_by):
    """An image with its header set by hand, so that nibabel neither scales nor converts."""
    x = values(kind, shape)
    header = cls.header_class(endianness=endian)
    header.set_data_shape(shape)
    header.set_data_dtype(np.dtype(kind).newbyteorder(endian))
    rotation = OBLIQUE.copy()
    if affine_by == "q":
        header.set_qform(rotation, code=1, strip_shears=True)
        header["sform_code"] = 0
    elif affine_by == "s":
        header.set_sform(rotation, code=4)
        header["qform_code"] = 0
    elif affine_by == "qs":
        header.set_qform(np.diag([2, 3, 4, 1]), code=2)
        header.set_sform(rotation, code=2)
    else:
        header["pixdim"][1:4] = [1.5, 2.5, 3.5]
    header.set_xyzt_units("mm", "sec")
    return x, header


def save(cls, x, header, slope, file, pair):
    """The bytes of header and voxels, written here; nibabel fills in offsets and magic."""
    header = header.copy()
    slope, inter = slope if slope else (np.nan, np.nan)
    header["scl_slope"], header["scl_inter"] = slope, inter
    raw = x.astype(x.dtype.newbyteorder(header.endianness)).tobytes(order="F")
    version = 1 if cls is nib.Nifti1Image else 2
    if pair:
        magic = b"ni1" if version == 1 else b"ni2\0\r\n\032\n"
        header["magic"], header["vox_offset"] = magic, 0
        put(file.replace(".img", ".hdr"), bytes(header.binaryblock) + b"\0" * 4)
        put(file, raw)
    else:
        magic = b"n+1" if version == 1 else b"n+2\0\r\n\032\n"
        offset = 352 if version == 1 else 544
        header["magic"], header["vox_offset"] = magic, offset
        put(file, bytes(header.binaryblock) + b"\0" * 4 + raw)


def put(file, content):
    with (gzip.open(file, "wb", 1) if file.endswith(".gz") else open(file, "wb")) as f:
        f.write(content)


def compare(file, *what, memory=None):
    image = nib.load(file)
    a = ask("nifti", file, path("out"), *([memory] if memory is not None else []))
    shape = tuple(a["dim"]) + ((a["volumes"],) if a["dims"] == 4 else ())
    ours = np.fromfile(path("out"), "f4").reshape(shape, order="F")
    theirs = image.get_fdata(dtype=np.float64)
    while theirs.ndim < 3:
        theirs = theirs[..., None]
    with np.errstate(over="ignore"):
        same(ours, theirs.reshape(shape, order="F").astype("f4"), *what)
    affine = np.array(a["affine"]).reshape(4, 4)
    near = (1e-6, 1e-5) if isinstance(image, nib.MGHImage) else (1e-12, 1e-9)  # stored as floats
    check(np.allclose(affine, image.affine, *near), *what, affine, image.affine)


layouts = [("x.nii", False), ("x.nii.gz", False), ("x.img", True), ("x.img.gz", True)]
for cls, kind, endian, (name, pair) in itertools.product(CLASSES, TYPES, "<>", layouts):
    for slope, by, shape in [(None, "q", (5, 4, 3)), ((0.37, -12.5), "s", (4, 3, 2, 5)),
                             ((0, 0), "qs", (7, 1, 1, 6)), ((1, 128), "", (6, 5, 4, 1))]:
        for old in ("x.nii", "x.nii.gz", "x.img", "x.img.gz", "x.hdr", "x.hdr.gz"):
            if os.path.exists(path(old)):
                os.remove(path(old))
        x, header = make(cls, kind, endian, shape, by)
        save(cls, x, header, slope, path(name), pair)
        what = (cls.__name__, kind, endian, name, slope, by, shape)
        compare(path(name), *what)
        if name == "x.nii.gz":
            compare(path(name), *what, "streamed", memory=1)

for shape in [(5,), (5, 4), (5, 4, 3, 1, 1, 1, 1), (5, 4, 3, 2, 1, 1)]:  # other numbers of axes
    x, header = make(nib.Nifti1Image, "i2", "<", shape, "s")
    save(nib.Nifti1Image, x, header, None, path("axes.nii"), False)
    compare(path("axes.nii"), shape)

for qfac, size in [(-1, [2, 3, 4]), (0, [2, 3, 4]), (1, [2, 0, 4])]:  # odd pixdim
    x, header = make(nib.Nifti1Image, "f4", "<", (3, 3, 3), "q")
    header["pixdim"][:4] = [qfac] + size
    save(nib.Nifti1Image, x, header, None, path("pixdim.nii"), False)
    compare(path("pixdim.nii"), qfac, size)

# FreeSurfer's way to say 40000 vertices in NIfTI-1
x, header = make(nib.Nifti1Image, "f4", ">", (5, 1, 1, 2), "s")
header["dim"][1], header["glmin"] = -1, 40000
save(nib.Nifti1Image, rng.normal(size=(40000, 1, 1, 2)).astype("f4"), header, None,
     path("surface.nii.gz"), False)
compare(path("surface.nii.gz"), "FreeSurfer")

# several gzip members, and bytes after the last voxel
x, header = make(nib.Nifti1Image, "f4", "<", (9, 8, 7, 3), "s")
save(nib.Nifti1Image, x, header, None, path("one.nii"), False)
content = open(path("one.nii"), "rb").read()
with open(path("members.nii.gz"), "wb") as f:
    for i in range(0, len(content), 1000):
        f.write(gzip.compress(content[i:i + 1000]))
compare(path("members.nii.gz"), "members")
compare(path("members.nii.gz"), "members streamed", memory=1)
put(path("longer.nii.gz"), content + b"more")
compare(path("longer.nii.gz"), "longer")
put(path("longer.nii"), content + b"more")
compare(path("longer.nii"), "longer")
with open(path("tail.nii.gz"), "wb") as f:
    f.write(gzip.compress(content) + b"\0" * 100)
compare(path("tail.nii.gz"), "zeros after the last member")

# layouts that bgzip and pigz write
x, header = make(nib.Nifti1Image, "f4", "<", (48, 48, 40, 8), "s")
save(nib.Nifti1Image, x, header, None, path("large.nii"), False)
content = open(path("large.nii"), "rb").read()


def bgzf(content):
    """As bgzip does it: members of at most 64 KiB that say how long they are, the last one empty."""
    for i in [*range(0, len(content), 65280), len(content)]:
        block = content[i:i + 65280]
        deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
        data = deflate.compress(block) + deflate.flush()
        yield (b"\x1f\x8b\x08\x04" + b"\0" * 5 + b"\xff" + struct.pack("<H2sHH", 6, b"BC", 2, len(data) + 25)
               + data + struct.pack("<II", zlib.crc32(block), len(block)))


def chunks(content, flush):
    """As pigz does it: one member, a border on a byte every 128 KiB; Z_FULL_FLUSH: with -i."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, 31)
    for i in range(0, len(content), 131072):
        yield deflate.compress(content[i:i + 131072]) + deflate.flush(flush)
    yield deflate.flush()


for what, packed in [("bgzf", bgzf(content)), ("chunks", chunks(content, zlib.Z_FULL_FLUSH)),
                     ("chunks that look back", chunks(content, zlib.Z_SYNC_FLUSH))]:
    with open(path("parts.nii.gz"), "wb") as f:
        f.write(b"".join(packed))
    check(gzip.open(path("parts.nii.gz")).read() == content, what)
    compare(path("parts.nii.gz"), what)
    compare(path("parts.nii.gz"), what, "streamed", memory=1)
    cut = open(path("parts.nii.gz"), "rb").read()[:-30000]
    open(path("parts.nii.gz"), "wb").write(cut)
    check("parts.nii.gz: the compressed data end too early" in
          refused("nifti", path("parts.nii.gz"), path("out")), what, "cut")

# FreeSurfer's format: every type, with and without orientation, with bytes after the voxels
for kind, shape, name in itertools.product(["u1", "i4", "f4", "i2"], [(5, 4, 3), (4, 3, 2, 5)],
                                           ["x.mgh", "x.mgz"]):
    image = nib.MGHImage(values(kind, shape), OBLIQUE)
    nib.save(image, path(name))
    compare(path(name), kind, shape, name)
    compare(path(name), kind, shape, name, "streamed", memory=1)
    ask("copy", path(name), path("y.nii"))
    before, after = nib.load(path(name)), nib.load(path("y.nii"))
    same(np.asarray(after.dataobj), before.get_fdata().astype("f4").reshape(after.shape), name)
    check(np.allclose(after.affine, before.affine, rtol=1e-6), kind, shape, name, "copied affine")
content = bytearray(open(path("x.mgh"), "rb").read())
content[28:30] = b"\0\0"
put(path("nowhere.mgh.gz"), content)  # FreeSurfer's default, coronal: nibabel has y and z negated
a = ask("nifti", path("nowhere.mgh.gz"), path("out"))
check(a["dim"] == [4, 3, 2] and a["volumes"] == 5, "mgh.gz", a)
check(a["affine"] == [-1, 0, 0, 2, 0, 0, 1, -1, 0, -1, 0, 1.5, 0, 0, 0, 1], "default affine", a)
same(np.fromfile(path("out"), "f4"), nib.load(path("x.mgh")).get_fdata().ravel(order="F"), "mgh.gz")

# GIFTI: every type, encoding, byte order and index order
gifti_codes = {"f4": "NIFTI_TYPE_FLOAT32", "i4": "NIFTI_TYPE_INT32", "u1": "NIFTI_TYPE_UINT8"}
for kind, encoding, endian, shape, order in itertools.product(
        gifti_codes, [1, 2, 3], ["little", "big"], [(40,), (7, 3)], "CF"):
    arrays = [values(kind, shape) for _ in range(2)]
    data = [nib.gifti.GiftiDataArray(x, intent="NIFTI_INTENT_SHAPE", datatype=gifti_codes[kind],
                                     encoding=encoding, ordering=order) for x in arrays]
    text = nib.gifti.GiftiImage(darrays=data).to_xml()
    if endian == "big" and encoding != 1:  # nibabel writes this machine's order
        for x in arrays:
            raw, other = x.tobytes(order), x.astype(x.dtype.newbyteorder(">")).tobytes(order)
            if encoding == 3:
                raw, other = zlib.compress(raw), zlib.compress(other)
            check(base64.b64encode(raw) in text, "written by nibabel")
            text = text.replace(base64.b64encode(raw), base64.b64encode(other))
        text = text.replace(b"LittleEndian", b"BigEndian")
    for name in ("x.gii", "x.gii.gz"):
        put(path(name), text)
        what = kind, encoding, endian, shape, order, name
        a = ask("gifti", path(name), path("out"))["arrays"]
        ours = np.fromfile(path("out"), "f8").reshape((2,) + shape)
        check([x["dtype"] for x in a] == [np.dtype(kind).name] * 2, *what)
        if encoding == 1:  # nibabel writes text row by row, whatever the order, and few digits
            if order == "C":
                check(np.allclose(ours, np.array(arrays, "f8"), rtol=1e-5, atol=1e-5,
                                  equal_nan=True), *what)
        else:
            same(ours, np.array(arrays, "f8"), *what)
        if shape == (40,) and encoding > 1:
            a = ask("nifti", path(name), path("out"))
            check(a["dim"] == [40, 1, 1] and a["volumes"] == 2, *what, a)
            same(np.fromfile(path("out"), "f4").reshape(2, 40), np.array(arrays).astype("f4"), *what)

# types that are refused
for code, name in [(32, "complex64"), (128, "RGB24"), (1536, "float128"), (1792, "complex128"),
                   (2304, "RGBA32"), (0, "unknown")]:
    header["datatype"] = code
    save(nib.Nifti1Image, x, header, None, path("odd.nii"), False)
    check(refused("nifti", path("odd.nii"), path("out")) ==
          f"odd.nii: the voxels have type {name} (code {code}), but must be integers or floats of up to 64 "
          "bits", name)

# ---- what we write --------------------------------------------------------------------------

tool = shutil.which("nifti_tool")


def rewritten(file, out, *what):
    ask("copy", file, out)
    before, after = nib.load(file), nib.load(out)
    check(after.get_data_dtype() == np.dtype("<f4"), *what, "type")
    same(np.asarray(after.dataobj),
         before.get_fdata().astype("f4").reshape(after.shape, order="F"), *what, "voxels")
    same(after.affine, before.affine, *what, "affine")
    for key in ("qform_code", "sform_code", "xyzt_units"):
        check(before.header[key] == after.header[key], *what, key)
    same(after.header["pixdim"][:4], before.header["pixdim"][:4], *what, "pixdim")
    same(after.get_qform(), before.get_qform(), *what, "qform")
    if tool and isinstance(after, nib.Nifti1Image) and not isinstance(after, nib.Nifti2Image):
        run = subprocess.run([tool, "-check_hdr", "-infiles", out], capture_output=True, text=True)
        check(run.returncode == 0 and "IS GOOD" in run.stdout, *what, run.stdout, run.stderr)


for cls, by, endian, name in itertools.product(CLASSES, ["q", "s", "qs", ""], "<>",
                                               ["y.nii", "y.nii.gz"]):
    x, header = make(cls, "f8", endian, (6, 5, 4, 3), by)
    save(cls, x, header, (2, 1), path("x.nii"), False)
    rewritten(path("x.nii"), path(name), cls.__name__, by, endian, name)
    kind = nib.Nifti1Image if cls is nib.Nifti1Image else nib.Nifti2Image
    check(type(nib.load(path(name))) is kind, "version kept")

rewritten(path("surface.nii.gz"), path("y.nii"), "surface")  # 40000 does not fit NIfTI-1
check(isinstance(nib.load(path("y.nii")), nib.Nifti2Image), "NIfTI-2 for 40000")
ask("copy", path("x.nii"), path("y.nii"))
first = open(path("y.nii"), "rb").read()
ask("copy", path("x.nii"), path("y.nii"))
check(first == open(path("y.nii"), "rb").read(), "same bytes twice")
check(refused("copy", path("x.nii"), path("x.nii")) ==
      "x.nii is an input of this run, so it is not replaced; choose another output", "input")

# ---- cohorts --------------------------------------------------------------------------------

cohort = rng.normal(size=(6, 5, 4, 8)).astype("f4")
cohort[0, 0, 0] = 3          # constant
cohort[1, 0, 0, 4] = np.nan  # missing in one
cohort[2, 0, 0, 7] = np.inf
expected = np.ones((6, 5, 4), bool)
expected[:3, 0, 0] = False
os.makedirs(path("sub"), exist_ok=True)
with open(path("list.txt"), "w") as f:
    for i in range(8):
        nib.save(nib.Nifti1Image(cohort[..., i], OBLIQUE), path(f"sub/sub-{i:02}_ses-1_map.nii.gz"))
        f.write(f"sub/sub-{i:02}_ses-1_map.nii.gz\r\n")
nib.save(nib.Nifti1Image(cohort, OBLIQUE), path("cohort.nii.gz"))
nib.save(nib.Nifti1Image(cohort, OBLIQUE), path("cohort.nii"))
mask = rng.random((6, 5, 4)) > 0.5
nib.save(nib.Nifti1Image(mask.astype("u1"), OBLIQUE), path("mask.nii.gz"))
os.makedirs(path("fs"), exist_ok=True)
with open(path("fs.txt"), "w") as f:
    for i in range(8):
        nib.save(nib.MGHImage(cohort[..., i], OBLIQUE), path(f"fs/sub-{i:02}.mgz"))
        f.write(f"fs/sub-{i:02}.mgz\n")
nib.save(nib.MGHImage(cohort, OBLIQUE), path("cohort.mgz"))
nib.save(nib.MGHImage(mask.astype("u1"), OBLIQUE), path("mask.mgh"))
for source in ("list.txt", "cohort.nii.gz", "cohort.nii", "fs.txt", "cohort.mgz"):
    for m, inside in (("default", expected), (path("mask.nii.gz"), mask), (path("mask.mgh"), mask)):
        a = ask("images", path(source), m, path("out"))
        index = np.flatnonzero(inside.ravel(order="F"))
        check(a["voxels"] == len(index) and a["count"] == 8, source, m)
        same(np.fromfile(path("out"), "f4").reshape(8, -1),
             cohort.reshape(-1, 8, order="F")[index].T, source, m)
        check(a["ids"] == ([f"sub-{i:02}" for i in range(8)] if source.endswith(".txt") else []), "ids")
done()
