"""Makes the files of this folder: small images with what is odd in the files that people have, and two
tables of what nibabel finds in them (tests/python/samples_oracle.py). The numbers are random.

    python3 tests/samples/make.py      writes everything anew
"""

import base64
import csv
import gzip
import os
import zlib

import nibabel as nib
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
rng = np.random.default_rng(2018)

OBLIQUE = np.array([[-2, 0, 0, 117.8551], [0, 1.97371149, -0.355528235, -35.7229],
                    [0, 0.323207617, 2.17108178, -7.2488], [0, 0, 0, 1]])
SHEARED = np.array([[1, 2, 3, -13], [2, 3, 1, -11.5], [3, 1, 2, -11.5], [0, 0, 0, 1.0]])


def scanner(x, y, z, origin):
    """An affine without rotation, the first axis to the left as most scanners have it."""
    return np.array([[-x, 0, 0, origin[0]], [0, y, 0, origin[1]], [0, 0, z, origin[2]], [0, 0, 0, 1]])


def put(name, content):
    if name.endswith(("gz", "mgz")):
        content = gzip.compress(content, mtime=0)
    with open(name, "wb") as f:
        f.write(content)


def volume(name, dtype, shape, affine, codes=(2, 2), scale=(1, 0), extension=0, version=1):
    """NIfTI in one file. codes: qform and sform; scale: slope and intercept as they stand in the
    header; extension: bytes of one; version 1 or 2."""
    dtype = np.dtype(dtype)
    cls = nib.Nifti1Image if version == 1 else nib.Nifti2Image
    header = cls.header_class(endianness=">" if dtype.byteorder == ">" else "<")
    header.set_data_dtype(dtype)
    header = cls(np.zeros(shape, dtype), affine, header).header
    header.set_qform(affine, codes[0])
    header.set_sform(affine, codes[1])
    header["scl_slope"], header["scl_inter"] = scale
    header["vox_offset"] = header.sizeof_hdr + 4 + extension
    more = b"\0\0\0\0"
    if extension:
        more = b"\1\0\0\0" + np.array([extension, 6], "i4").tobytes()
        more += b"a comment".ljust(extension - 8, b"\0")
    put(name, header.binaryblock + more + values(dtype, shape).tobytes(order="F"))


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (rng.normal(size=shape) * 1000).astype(dtype)
    info = np.iinfo(dtype)
    low, high = max(info.min, -30000), min(info.max, 30000)
    return rng.integers(low, high, size=shape, endpoint=True).astype(dtype)


def volumes():
    standard = scanner(2, 2, 2, (32, -40, -16))
    volume("anatomical_big.nii", ">i2", (5, 4, 3), standard)
    volume("oblique_big.nii", ">f4", (4, 5, 3), OBLIQUE)
    volume("nan_big.nii", ">f4", (4, 5, 3), standard)
    content = bytearray(open("nan_big.nii", "rb").read())
    for at in (0, 7, 59):
        content[352 + 4 * at:356 + 4 * at] = np.array(np.nan, ">f4").tobytes()
    put("nan_big.nii", bytes(content))
    volume("functional.nii", "<i2", (4, 3, 2, 5), scanner(4, 4, 8, (32, -40, 0)),
           scale=(0.0754069686, 3100.76172))
    volume("extension4d.nii.gz", "<i2", (4, 3, 2, 2), OBLIQUE, codes=(1, 1), extension=64)
    volume("extension_nifti2.nii.gz", "<i2", (4, 3, 2, 2), OBLIQUE, codes=(1, 1), extension=64,
           version=2)
    volume("scaled_uint8.nii.gz", "u1", (5, 4, 3), scanner(2.75, 2.75, 2.75, (78, -91, -91)),
           codes=(4, 4), scale=(0.352459043, 6.6783638))
    volume("intercept_int8.nii.gz", "i1", (5, 4, 3), np.diag([1.0, 1, 1, 1]), codes=(0, 1),
           scale=(1, 128))
    volume("int32.nii.gz", "<i4", (5, 4, 3), np.diag([4.0, 4, 4, 1]), codes=(2, 1))
    volume("sform_float64.nii.gz", "<f8", (4, 3, 2), standard, codes=(0, 2))
    volume("map_float32.nii.gz", "<f4", (5, 6, 4), scanner(3, 3, 3, (78, -112, -50)), codes=(0, 2))
    volume("slope_zero.nii.gz", "u1", (3, 4, 5), scanner(25, 25, 25, (62.5, -112.5, -112.5)),
           codes=(3, 3), scale=(0, 0), extension=2640)  # FSL: slope 0 is no scaling
    volume("anisotropic.nii.gz", "u1", (4, 5, 7), np.diag([1.0, 3, 2, 1]), codes=(0, 2))


def pairs():
    image = nib.Nifti1Pair(values("i2", (4, 3, 5)) / 4, scanner(3, 3, 3, (94.5, -94.5, -73.5)))
    image.set_data_dtype("i2")
    image.header.set_slope_inter(0.430768758, 0)
    image.to_filename("pair.hdr")
    header = nib.Spm2AnalyzeImage.header_class(endianness=">")  # as SPM2 wrote on a Sun
    header.set_data_dtype(">f4")
    image = nib.Spm2AnalyzeImage(values(">f4", (4, 5, 3, 1)), None, header)
    image.header.set_zooms((3.4375, 3.4375, 4.5, 1))
    image.header["origin"][:3] = 2, 4, 1
    image.to_filename("spm2_big.hdr")
    put("alone_analyze.hdr", image.header.binaryblock)  # headers whose images are not there
    for name, cls in (("alone_nifti1.hdr", nib.Nifti1Pair), ("alone_nifti2.hdr", nib.Nifti2Pair)):
        put(name, cls(np.zeros((3, 3, 3), "f4"), np.eye(4)).header.binaryblock)


def cifti(name, image):
    image.update_headers()
    image.to_filename(name)


def ciftis():
    brain = nib.cifti2.BrainModelAxis.from_surface(np.arange(0, 40, 2), 42, "CortexLeft")
    cifti("rows.dconn.nii", nib.Cifti2Image(values("f4", (20, 20)), (brain, brain)))
    scalar = nib.cifti2.ScalarAxis(["thickness"])
    cifti("surface.dscalar.nii", nib.Cifti2Image(values("f4", (1, 20)), (scalar, brain)))


def freesurfer():
    for name, shape, affine in (("sheared.mgz", (3, 4, 5, 2), SHEARED),
                                ("thickness.mgh", (50, 1, 1), None)):
        image = nib.MGHImage(values("f4", shape), affine)
        put(name, image.to_bytes())


HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE GIFTI SYSTEM "http://www.nitrc.org/frs/download.php/115/gifti.dtd">
<GIFTI Version="1.0"  NumberOfDataArrays="{}">
   <MetaData>
      <MD>
         <Name><![CDATA[date]]></Name>
         <Value><![CDATA[a day in 2007 <&>]]></Value>
      </MD>
   </MetaData>
   {}
"""
MATRIX = """      <CoordinateSystemTransformMatrix>
         <DataSpace><![CDATA[NIFTI_XFORM_UNKNOWN]]></DataSpace>
         <TransformedSpace><![CDATA[NIFTI_XFORM_UNKNOWN]]></TransformedSpace>
         <MatrixData>1.000000 0.000000 0.000000 0.000000
         0.000000 1.000000 0.000000 0.000000
         0.000000 0.000000 1.000000 0.000000
         0.000000 0.000000 0.000000 1.000000</MatrixData>
      </CoordinateSystemTransformMatrix>
"""
ARRAY = """   <DataArray Intent="NIFTI_INTENT_{intent}"
              DataType="NIFTI_TYPE_{kind}"
              ArrayIndexingOrder="{order}"
              Dimensionality="{n}"
              {dims}
              Encoding="{encoding}"
              Endian="{endian}"
              ExternalFileName="{file}"
              ExternalFileOffset="{offset}">
      <MetaData>
      </MetaData>
{matrix}      <Data>{data}</Data>
   </DataArray>
"""


def array(x, intent, encoding, data, order="RowMajorOrder", endian="LittleEndian", file="", offset=""):
    dims = " ".join(f'Dim{k}="{n}"' for k, n in enumerate(x.shape))
    return ARRAY.format(intent=intent, kind=str(x.dtype).upper(), order=order, n=x.ndim, dims=dims,
                        encoding=encoding, endian=endian, file=file, offset=offset,
                        matrix=MATRIX if intent == "POINTSET" else "", data=data)


def gifti(name, arrays, labels="<LabelTable/>"):
    put(name, (HEAD.format(len(arrays), labels) + "".join(arrays) + "</GIFTI>\n").encode())


def ascii_rows(x):
    return "\n" + "\n".join(" ".join(f"{v:.8g}" for v in row) for row in x) + "\n      "


def ascii_line(x):
    return " ".join(f"{v:.8g}" for v in x.ravel())


def base64_lines(x):
    """76 characters a line, as mail has them."""
    return base64.encodebytes(x.tobytes()).decode()


def zipped(x):
    return base64.b64encode(zlib.compress(x.tobytes())).decode()


def giftis():
    points = (values("f4", (8, 3)) / 20).astype("f4")
    triangles = rng.integers(0, 8, (12, 3)).astype("i4")
    for name, text in (("ascii_rows.gii", ascii_rows), ("ascii_line.gii", ascii_line)):
        gifti(name, [array(points, "POINTSET", "ASCII", text(points)),
                     array(triangles, "TRIANGLE", "ASCII", text(triangles))])
    gifti("base64.gii", [  # gifti_clib's names of encoding and order
        array(points, "POINTSET", "GIFTI_ENCODING_B64BIN", base64_lines(points),
              endian="GIFTI_ENDIAN_LITTLE"),
        array(triangles, "TRIANGLE", "GIFTI_ENCODING_B64BIN", base64_lines(triangles),
              endian="GIFTI_ENDIAN_LITTLE")])
    put("external.dat", points.tobytes() + triangles.tobytes())
    for name in ("external.gii", "external.gii.gz"):
        gifti(name, [array(points, "POINTSET", "ExternalFileBinary", "", file="external.dat", offset=0),
                     array(triangles, "TRIANGLE", "ExternalFileBinary", "", file="external.dat",
                           offset=points.nbytes)])
    thickness = np.abs(values("f4", (60,)) / 500)
    gifti("thickness.gii", [array(thickness, "NONE", "Base64Binary",
                                  base64.b64encode(thickness.tobytes()).decode(),
                                  order="ColumnMajorOrder")])
    keys = np.array([1639705, 2647065, 14474380], "i4")
    labels = "<LabelTable>\n" + "".join(
        f'      <Label Key="{k}" Red="0.1" Green="0.4" Blue="0.2" Alpha="1"><![CDATA[area {k}]]></Label>\n'
        for k in keys) + "   </LabelTable>"
    areas = rng.choice(keys, 60)
    gifti("labels.gii", [array(areas, "LABEL", "GZipBase64Binary", zipped(areas))], labels)
    series = [values("f4", (42,)) for _ in range(4)]
    gifti("series.func.gii", [array(x, "TIME_SERIES", "GZipBase64Binary", zipped(x)) for x in series])


def number(v):
    return repr(float(v))


def describe_volumes():
    names = sorted(n for n in os.listdir() if ".nii" in n or n.endswith((".img", ".mgh", ".mgz")))
    with open("expected_volumes.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow("file dtype dims affine_row_major n_nan n_nonzero min max mean sum first_value "
                     "middle_value".split())
        for name in names:
            image = nib.load(name)
            x = np.asarray(image.dataobj, "f8")
            flat = x.ravel(order="F")
            finite = flat[np.isfinite(flat)]
            affine = getattr(image, "affine", None)
            out.writerow([name, image.get_data_dtype().newbyteorder("=").name,
                          " ".join(map(str, x.shape)),
                          "" if affine is None else " ".join(map(number, affine.ravel())),
                          np.isnan(flat).sum(), np.count_nonzero(flat), number(finite.min()),
                          number(finite.max()), number(finite.mean()), number(finite.sum()),
                          number(flat[0]), number(flat[flat.size // 2])])


def describe_giftis():
    with open("expected_gifti.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow("file array intent datatype encoding dims min max mean".split())
        for name in sorted(n for n in os.listdir() if ".gii" in n):
            for k, a in enumerate(nib.load(name).darrays):
                x = np.asarray(a.data, "f8")
                out.writerow([name, k, nib.nifti1.intent_codes.label[a.intent], a.data.dtype.name,
                              nib.gifti.gifti.gifti_encoding_codes.specs[a.encoding],
                              " ".join(map(str, x.shape)), number(x.min()), number(x.max()),
                              number(x.mean())])


volumes()
pairs()
ciftis()
freesurfer()
giftis()
describe_volumes()
describe_giftis()
