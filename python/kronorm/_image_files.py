"""Brain images as files that the library reads.

Files are passed by their path and not held in memory: the library reads their values when it fits or scores. Images
that are in memory, or were changed there, are first written without loss to a temporary folder, one at a time. The
folder exists as long as the data made from it.

An image belongs to the row of X with its id if a mapping gives ids, or if every path has one label sub-XXX and X has
ids, as in the command `kronorm`. Otherwise images are in the order of X. A pattern, a list of files and a mapping may
include images of other participants; a list in memory may not."""
from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import re
from typing import Any, Iterator, Mapping, Sequence

from . import _abi
from ._covariates import Covariates, shuffled
from ._errors import DataError, FileError
from ._library import Handle
from ._nibabel_files import is_image, is_name, save, unchanged, volumes
from ._temporary import temporary_folder
from ._session import Session, option_keys
from ._table_file import TableFile, file_of, table_file
from ._read_table import is_path

Pair = tuple[str, ...]  # the files of a row: one, or those of two hemispheres

SESSIONS = ("session", "session_id", "ses", "visit")  # columns with the visit in the label of a path

_UNLABELLED = "sub-a_sub-b"  # a folder with two labels: paths through it have no id of their own


def is_images(Y: Any) -> bool:
    """Whether these responses are images: a path, a pattern, an image, or several of them in a list or by id."""
    if is_path(Y) or is_image(Y):
        return True
    if isinstance(Y, Mapping):
        return bool(Y) and all(_is_one(each) for each in Y.values())
    if isinstance(Y, (list, tuple)) or getattr(Y, "dtype", None) == object or _is_texts(Y):
        try:
            each = list(Y)
        except TypeError:
            return False
        return bool(each) and all(_is_one(one) for one in each)
    return False


def _is_texts(Y: Any) -> bool:
    kind = getattr(getattr(Y, "dtype", None), "kind", "")
    return kind == "U" or str(getattr(Y, "dtype", "")) == "string"


def _is_one(one: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return len(one) == 2 and all(is_path(part) or is_image(part) for part in one)
    return is_path(one) or is_image(one)


@contextlib.contextmanager
def image_data(session: Session, command: str, options: dict[str, Any], X: Any, images: Any,
                 mask: Any = None) -> Iterator[Handle]:
    """kn_data of participants with images, for `command`. The function adds options for covariates, responses, mask and
    categorical columns. The call that uses the data reads the values with these options, inside the block."""
    with temporary_folder(options.get("scratch")) as path:
        folder = _Folder(path)
        before, session.told = session.told, folder.told
        try:
            _place(folder, command, options, X, images)
            if mask is not None:
                options["mask"] = folder.mask(mask)
            yield _read(session, command, options, "X" if file_of(X) is None else str(file_of(X)), images)
        finally:
            session.told = before


def _read(session: Session, command: str, options: dict[str, Any], table: str, images: Any) -> Handle:
    """kn_data of these options. X defines the participants: images of others in a pattern, a list of files or a mapping
    are ignored. The library reports participants without an image first."""
    try:
        return session.work("data_read", session.options(command, options), makes=_abi.kn_data)  # type: ignore[no-any-return]
    except DataError as error:
        others = " not in " in str(error) and not str(error).startswith(f"{table}: ")
        if not others or not (is_path(images) or isinstance(_keyed(images), Mapping)) or "match" not in option_keys(command):
            raise
    options["match"] = "common"
    return session.work("data_read", session.options(command, options), makes=_abi.kn_data)  # type: ignore[no-any-return]


def _place(folder: _Folder, command: str, options: dict[str, Any], X: Any, images: Any) -> None:
    """Set covariates and responses, and declare columns if necessary."""
    path = file_of(X)
    table = table_file(X, options.get("participant") or options.get("id")) if path is None else None
    if images is None:
        pass  # predictions need no responses
    elif is_path(images):
        options["responses"] = os.fspath(images)
    elif is_image(images) and volumes(images) != 1:
        options["responses"] = folder.file(images, "images")
    else:
        options["responses"] = folder.list(*_lines(folder, options, table, images))
    if table is None:
        options["covariates"] = path
        return
    if "use" in option_keys(command):  # the caller chose the columns of X
        options.setdefault("use", "all")
    if table.categories and "categorical" in option_keys(command):
        options["categorical"] = _joined(options.get("categorical"), table.categories)
    options["covariates"] = folder.table(table)


def _joined(given: Any, more: Sequence[str]) -> list[str]:
    first = given.split(",") if isinstance(given, str) else list(given or ())
    return first + [name for name in more if name not in first]


# ---- which image belongs to which row --------------------------------------------------------------------------


def _lines(folder: _Folder, options: Mapping[str, Any], table: TableFile | None,
           images: Any) -> tuple[list[str] | None, list[Pair], bool]:
    """Ids or None, the files of each line in the order of X, and whether the library may take ids from the paths."""
    if table is None or table.ids is not None:
        images = _keyed(images)
    by_id = isinstance(images, Mapping)
    each = [images] if is_image(images) else list(images.values() if by_id else images)
    names = [f"images[{key!r}]" for key in (images if by_id else range(len(each)))]
    files = [folder.files(one, i, name) for i, (one, name) in enumerate(zip(each, names))]
    if by_id:
        return _by_id(table, [str(key) for key in images], files)
    if table is None:
        return None, files, True
    if table.ids is None:
        return None, files, False
    ids, session = table.ids, options.get("session") or options.get("visit")
    labels = _labels(files, "sub-")
    if labels:
        if session in ("first", "last"):
            return None, files, True
        keys, own = table.keys(session), _with_sessions(files, labels, bool(session) or "_ses-" in ids[0])
        if len(set(own)) == len(own) and keys is not None:
            order = _order(keys, own)
            return None, [files[i] for i in order], True
    _check_order(ids, table.column(SESSIONS), files)
    plain = len(set(ids)) == len(ids) == len(files) and not session and not any(map(is_name, ids))
    return (ids if plain else None), files, False


def refuse_shuffled(X: Covariates, images: Any) -> None:
    """The index of a Series that is not matched by id must be that of X, or unrelated to it."""
    if not isinstance(_keyed(images), Mapping) and shuffled(X.index, getattr(images, "index", None)):
        raise DataError("X and images have the same rows in different order: use images.loc[X.index]")


def _keyed(images: Any) -> Any:
    """A Series with an index of texts, which are ids, as a dict."""
    if hasattr(images, "iloc") and images.index.is_unique and all(isinstance(key, str) for key in images.index):
        return dict(images.items())
    return images


def _bare(label: str | None, prefix: str) -> str:
    text = (label or "").strip()
    return text[len(prefix):] if text.startswith(prefix) else text


def _check_order(ids: Sequence[str], visits: Sequence[str | None] | None, files: list[Pair]) -> None:
    """Images in the order of X must not have labels of other rows of X, neither of participants nor of visits."""
    for rows, prefix in ((ids, "sub-"), (visits, "ses-")):
        labels = _labels(files, prefix)
        if rows is None or labels is None or len(rows) != len(labels):
            continue
        expected, own = ([_bare(each, prefix) for each in texts] for texts in (rows, labels))
        wrong = [i for i, (a, b) in enumerate(zip(expected, own)) if a != b]
        if wrong and set(own) <= set(expected):
            i = wrong[0]
            raise DataError(f"images[{i}] is {files[i][0]}, row {i} of X is {prefix}{expected[i]}: if there are several visits, give "
                            "the images in the order of X")


def in_rows(X: Covariates, images: Any) -> Any:
    """Images in the order of X, for a masker. A single file or image is returned as it is. A pattern is resolved by id,
    because its files have their own order and may include other participants."""
    matched = is_path(images) and _is_pattern(os.fspath(images))
    if matched:
        images = _matching(os.fspath(images))
    if is_path(images) and os.fspath(images).lower().endswith(".txt"):
        raise DataError(f"{os.fspath(images)}: a masker cannot read a list of images in a file: pass a list of paths, or a dict "
                        "from id to path")
    if is_path(images) or is_image(images):
        return images
    refuse_shuffled(X, images)
    images = _keyed(images) if X.ids is not None else images
    own = list(map(str, images)) if isinstance(images, Mapping) else None
    each = list(images.values() if isinstance(images, Mapping) else images)
    if own is None and X.ids is not None and all(map(is_path, each)):
        files: list[Pair] = [(os.fspath(one),) for one in each]
        labels = _labels(files, "sub-")
        own = _with_sessions(files, labels, "_ses-" in X.ids[0]) if labels else None
        own = own if own and len(set(own)) == len(own) and len(set(X.ids)) == X.n else None
        if own is None:
            _check_order(X.ids, table_file(X).column(SESSIONS), files)
    if own is None:
        return each
    if X.ids is None:
        raise DataError(_NO_IDS)
    if len(set(X.ids)) != X.n:
        twice = next(name for name in X.ids if X.ids.count(name) > 1)
        raise DataError(f"the images are given by id, but id {twice} has several rows in X: if there are several visits, give the "
                        "images in the order of X")
    others = [] if matched or isinstance(images, Mapping) else [name for name in own if name not in X.ids]
    lacking = [name for name in X.ids if name not in own] or others
    if lacking:
        raise DataError(f"X and images have different ids: {len(lacking)} of {len(own)} have no match, the first is "
                        f"{lacking[0]}")
    return [each[own.index(name)] for name in X.ids]


def _is_pattern(path: str) -> bool:
    """Whether the library treats the path as a pattern."""
    return any(mark in path for mark in "*?[") and not os.path.exists(path)


def _matching(pattern: str) -> list[str]:
    """The files of a pattern, in the order of the library."""
    found = sorted(glob.glob(pattern), key=os.fsencode)
    if not found:
        raise FileError(f"{pattern}: no file matches")
    return found


_NO_IDS = "the images are given by id, but X has no ids: add a column or an index participant_id"


def _by_id(table: TableFile | None, own: list[str], files: list[Pair]) -> tuple[list[str], list[Pair], bool]:
    if table is None:
        return own, files, False
    if table.ids is None:
        raise DataError(_NO_IDS)
    order = _order(table.ids, own)
    return [own[i] for i in order], [files[i] for i in order], False


def _order(keys: Sequence[str], own: Sequence[str]) -> list[int]:
    """Positions of `own` in the order of `keys`; ids without a key come last, so that the library reports them."""
    place = {key: i for i, key in enumerate(keys)}
    return sorted(range(len(own)), key=lambda i: (place.get(own[i], len(place)), i))


def _labels(files: list[Pair], prefix: str) -> list[str] | None:
    """The label of each line's first path, as the library finds it; None if a path has no single label."""
    found = []
    for paths in files:
        labels = set(re.findall(rf"(?<![A-Za-z0-9]){prefix}[A-Za-z0-9]+", paths[0]))
        if len(labels) != 1:
            return None
        found.append(labels.pop())
    return found or None


def _with_sessions(files: list[Pair], labels: list[str], wanted: bool) -> list[str]:
    visits = _labels(files, "ses-") if wanted else None
    return [f"{name}_{visit}" for name, visit in zip(labels, visits)] if visits else labels


# ---- the temporary folder -------------------------------------------------------------------------


class _Folder:
    """Temporary files of one call. Sentences of the library about them are rewritten in the caller's terms."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._names: dict[str, str] = {}  # of files here, as the caller knows them
        self._rows: dict[Pair, str] = {}  # of the files of a row
        self._lines: list[str] = []  # of each line of the list

    def _new(self, *names: str) -> str:
        path = os.path.join(self._path, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def told(self, sentence: str) -> str | None:
        """A sentence of the library without the paths of this folder; None if it is irrelevant."""
        table, listed = (re.escape(os.path.join(self._path, name)) for name in ("participants.tsv", "images.txt"))
        if re.match(rf"{table} and .* have no ids to match by", sentence):
            return None  # rows of X and of images are in one order by agreement
        for path, name in self._names.items():
            sentence = sentence.replace(path, name)
        sentence = re.sub(rf"{table} line (\d+)", lambda m: f"X row {int(m[1]) - 1}", sentence)
        sentence = re.sub(rf"{listed} line (\d+)", lambda m: self._lines[int(m[1]) - 1], sentence)
        sentence = re.sub(r"^(images\[[^]]*\]): \1(:? )", r"\1\2", sentence)
        return re.sub(table, "X", re.sub(listed, "images", sentence))

    def table(self, table: TableFile) -> str:
        path = self._new("participants.tsv")
        table.write(path)
        return path

    def list(self, ids: Sequence[str] | None, files: list[Pair], labelled: bool) -> str:
        """Write the list of images: with ids, or without; also without those of the paths unless `labelled`."""
        self._lines = [self._rows[paths] for paths in files]
        if ids is None and not labelled and _labels(files, "sub-"):
            files = [(self._unlabelled(files[0][0]), *files[0][1:]), *files[1:]]
        lines = [([] if ids is None else [ids[i]]) + [*paths] for i, paths in enumerate(files)]
        for cells, name in zip(lines, self._lines):
            for cell in cells:
                if cell != cell.strip() or not cell or re.search(r"[\t\r\n]", cell):
                    raise DataError(f"{name}: {cell!r} is not allowed in a list of images: it has a tab, a line break, or "
                                    "a space at one end")
        path = self._new("images.txt")
        text = "".join("\t".join(cells) + "\n" for cells in lines)
        pathlib.Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")
        return path

    def _unlabelled(self, path: str) -> str:
        where = os.path.dirname(os.path.join(self._path, path))
        if not os.path.isdir(where):
            return path  # the library reports that it does not exist
        link = self._new(_UNLABELLED)
        os.symlink(where, link)
        self._names[link] = where
        return os.path.join(_UNLABELLED, os.path.basename(path))

    def mask(self, mask: Any) -> str:
        if isinstance(mask, (list, tuple)):
            return ",".join(self.file(part, f"mask_{k}", "the mask") for k, part in enumerate(mask))
        return self.file(mask, "mask", "the mask")

    def files(self, one: Any, i: int, name: str) -> Pair:
        """The file or pair of files of a row. Files of this folder get relative paths, since its own path may have
        labels."""
        parts = one if isinstance(one, (list, tuple)) else (one,)
        paths = (self.file(part, f"{i}_{k}" if k else str(i), name) for k, part in enumerate(parts))
        out = tuple(path[len(self._path) + 1:] if path.startswith(self._path + os.sep) else path for path in paths)
        self._rows[out] = name
        return out

    def file(self, one: Any, place: str, name: str | None = None) -> str:
        """The path of an image: its own, or that of a temporary copy."""
        if is_path(one):
            path: str = os.fspath(one)
            return path if name is None or "," in path else os.path.abspath(path)
        if not is_image(one):
            raise DataError(f"{name or place}: of type {type(one).__name__}, expected a path or a nibabel image")
        own = unchanged(one)
        if own:
            return own
        before = getattr(one, "get_filename", lambda: None)()
        base = re.sub(r"[^\w.+-]", "_", os.path.basename(before)) if isinstance(before, str) else ""
        saved = save(one, self._new(place, base or "image.nii"), name or place)
        self._names[saved] = name or place
        return saved
