"""Brain images of people, as the files that the library reads.

What is a file already goes by its path, and nothing of it is held here: the library reads values when it
fits or scores. Images that are in memory, or were changed there, are written to a temporary folder first,
one after the other and without loss; it lives as long as the data that are made of it.

An image belongs to the row of X that has its id, where a mapping gives ids or every path has one label
sub-XXX and X has ids, as the command `kronorm` matches them; else the first belongs to the first row. Images by a
pattern, in a list of files or by id may be of others than those in X too; of a list in memory everyone has to be.
"""
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
from ._room import temporary_folder
from ._session import Session, option_keys
from ._people_file import PeopleFile, file_of, people_file
from ._read_people import is_path

Pair = tuple[str, ...]  # the files of a row: one, or those of two hemispheres

SESSIONS = ("session", "session_id", "ses", "visit")  # columns that tell the visit that a path is labelled with

_UNLABELLED = "sub-a_sub-b"  # a folder with two labels: paths through it have no id of their own


def is_images(Y: Any) -> bool:
    """Are these responses images: a path, a pattern, an image, or some of them in a list or by id?"""
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
def image_people(session: Session, command: str, options: dict[str, Any], X: Any, images: Any,
                 mask: Any = None) -> Iterator[Handle]:
    """kn_data of people with images, for `command`. The options get what they lack for it: covariates,
    responses, mask, and columns that are categories. Values are read by the call that uses the data, with
    these options, which has to be made inside the block."""
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


def _read(session: Session, command: str, options: dict[str, Any], people: str, images: Any) -> Handle:
    """kn_data of these options. X says who: where a pattern, a list of files or a mapping by id has images of others
    too, and of everybody in X, those are left alone. The library speaks of people without an image first."""
    try:
        return session.work("data_read", session.options(command, options), makes=_abi.kn_data)  # type: ignore[no-any-return]
    except DataError as error:
        others = " not in " in str(error) and not str(error).startswith(f"{people}: ")
        if not others or not (is_path(images) or isinstance(_keyed(images), Mapping)) or "match" not in option_keys(command):
            raise
    options["match"] = "common"
    return session.work("data_read", session.options(command, options), makes=_abi.kn_data)  # type: ignore[no-any-return]


def _place(folder: _Folder, command: str, options: dict[str, Any], X: Any, images: Any) -> None:
    """Sets covariates and responses, and what has to be said of columns."""
    path = file_of(X)
    table = people_file(X, options.get("person") or options.get("id")) if path is None else None
    if images is None:
        pass  # people of whom something is expected
    elif is_path(images):
        options["responses"] = os.fspath(images)
    elif is_image(images) and volumes(images) != 1:
        options["responses"] = folder.file(images, "images")
    else:
        options["responses"] = folder.list(*_lines(folder, options, table, images))
    if table is None:
        options["covariates"] = path
        return
    if table.categories and "categorical" in option_keys(command):
        options["categorical"] = _joined(options.get("categorical"), table.categories)
    options["covariates"] = folder.table(table)


def _joined(given: Any, more: Sequence[str]) -> list[str]:
    first = given.split(",") if isinstance(given, str) else list(given or ())
    return first + [name for name in more if name not in first]


# ---- who has which image --------------------------------------------------------------------------


def _lines(folder: _Folder, options: Mapping[str, Any], table: PeopleFile | None,
           images: Any) -> tuple[list[str] | None, list[Pair], bool]:
    """Ids or None, files of each line in the order of X, and whether the library may take ids from their
    paths."""
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
    """Of a Series that does not go by id the index has to be that of X, or another altogether."""
    if not isinstance(_keyed(images), Mapping) and shuffled(X.index, getattr(images, "index", None)):
        raise DataError("X and images are not of the same people in the same order: their indexes have the same rows in another "
                        "order (images.loc[X.index] puts them in order)")


def _keyed(images: Any) -> Any:
    """A Series with an index of texts, which are ids, as a dict."""
    if hasattr(images, "iloc") and images.index.is_unique and all(isinstance(key, str) for key in images.index):
        return dict(images.items())
    return images


def _bare(label: str | None, prefix: str) -> str:
    told = (label or "").strip()
    return told[len(prefix):] if told.startswith(prefix) else told


def _check_order(ids: Sequence[str], visits: Sequence[str | None] | None, files: list[Pair]) -> None:
    """Images that go by their order have no labels of other rows of X: not of others, nor of other visits."""
    for rows, prefix in ((ids, "sub-"), (visits, "ses-")):
        labels = _labels(files, prefix)
        if rows is None or labels is None or len(rows) != len(labels):
            continue
        told, own = ([_bare(each, prefix) for each in texts] for texts in (rows, labels))
        wrong = [i for i, (a, b) in enumerate(zip(told, own)) if a != b]
        if wrong and set(own) <= set(told):
            i = wrong[0]
            raise DataError(f"images[{i}] is {files[i][0]}, row {i} of X is {prefix}{told[i]}: of several visits give the images "
                            "in the order of X")


def in_rows(X: Covariates, images: Any) -> Any:
    """Images in the order of X, for whoever takes them so; a file or an image of all is as it is. Not so a pattern, whose
    files have an order of their own and may be of others too."""
    matched = is_path(images) and _is_pattern(os.fspath(images))
    if matched:
        images = _matching(os.fspath(images))
    if is_path(images) and os.fspath(images).lower().endswith(".txt"):
        raise DataError(f"{os.fspath(images)}: a masker takes no list of images in a file: give the paths in a list, or in a "
                        "dict by id")
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
            _check_order(X.ids, people_file(X).column(SESSIONS), files)
    if own is None:
        return each
    if X.ids is None:
        raise DataError(_NO_IDS)
    if len(set(X.ids)) != X.n:
        twice = next(who for who in X.ids if X.ids.count(who) > 1)
        raise DataError(f"the images are given by id, and X has id {twice} on several rows: of several visits give the images "
                        "in the order of X")
    others = [] if matched or isinstance(images, Mapping) else [who for who in own if who not in X.ids]
    lacking = [who for who in X.ids if who not in own] or others
    if lacking:
        raise DataError(f"X and images are not of the same people: {len(lacking)} of {len(own)} ids have no match, the "
                        f"first is {lacking[0]}")
    return [each[own.index(who)] for who in X.ids]


def _is_pattern(path: str) -> bool:
    """As the library tells."""
    return any(mark in path for mark in "*?[") and not os.path.exists(path)


def _matching(pattern: str) -> list[str]:
    """The files, in the order of the library."""
    found = sorted(glob.glob(pattern), key=os.fsencode)
    if not found:
        raise FileError(f"{pattern}: no file has such a name")
    return found


_NO_IDS = "the images are given by id, and X has no ids: expected a column or an index participant_id"


def _by_id(table: PeopleFile | None, own: list[str], files: list[Pair]) -> tuple[list[str], list[Pair], bool]:
    if table is None:
        return own, files, False
    if table.ids is None:
        raise DataError(_NO_IDS)
    order = _order(table.ids, own)
    return [own[i] for i in order], [files[i] for i in order], False


def _order(keys: Sequence[str], own: Sequence[str]) -> list[int]:
    """Places of `own` in the order of `keys`; those of nobody come last, for the library to speak of."""
    place = {key: i for i, key in enumerate(keys)}
    return sorted(range(len(own)), key=lambda i: (place.get(own[i], len(place)), i))


def _labels(files: list[Pair], prefix: str) -> list[str] | None:
    """The one label of each line's first path, as the library finds it; None: not every one has one."""
    found = []
    for paths in files:
        labels = set(re.findall(rf"(?<![A-Za-z0-9]){prefix}[A-Za-z0-9]+", paths[0]))
        if len(labels) != 1:
            return None
        found.append(labels.pop())
    return found or None


def _with_sessions(files: list[Pair], labels: list[str], wanted: bool) -> list[str]:
    visits = _labels(files, "ses-") if wanted else None
    return [f"{who}_{visit}" for who, visit in zip(labels, visits)] if visits else labels


# ---- the temporary folder -------------------------------------------------------------------------


class _Folder:
    """Files for one call. What the library says of them is told in the caller's words."""

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
        """The library's sentence without the names of this folder; None: it is of no interest."""
        table, listed = (re.escape(os.path.join(self._path, name)) for name in ("participants.tsv", "images.txt"))
        if re.match(rf"{table} and .* have no ids to match by", sentence):
            return None  # rows of X and of images are in one order by agreement
        for path, name in self._names.items():
            sentence = sentence.replace(path, name)
        sentence = re.sub(rf"{table} line (\d+)", lambda m: f"X row {int(m[1]) - 1}", sentence)
        sentence = re.sub(rf"{listed} line (\d+)", lambda m: self._lines[int(m[1]) - 1], sentence)
        sentence = re.sub(r"^(images\[[^]]*\]: )\1", r"\1", sentence)
        return re.sub(table, "X", re.sub(listed, "images", sentence))

    def table(self, table: PeopleFile) -> str:
        path = self._new("participants.tsv")
        table.write(path)
        return path

    def list(self, ids: Sequence[str] | None, files: list[Pair], labelled: bool) -> str:
        """The list of images: with ids, or without any, that of paths included unless `labelled`."""
        self._lines = [self._rows[paths] for paths in files]
        if ids is None and not labelled and _labels(files, "sub-"):
            files = [(self._unlabelled(files[0][0]), *files[0][1:]), *files[1:]]
        lines = [([] if ids is None else [ids[i]]) + [*paths] for i, paths in enumerate(files)]
        for cells, name in zip(lines, self._lines):
            for cell in cells:
                if cell != cell.strip() or not cell or re.search(r"[\t\r\n]", cell):
                    raise DataError(f"{name}: {cell!r} cannot stand in a list of images: a tab, a line break, or a space "
                                    "at an end")
        path = self._new("images.txt")
        text = "".join("\t".join(cells) + "\n" for cells in lines)
        pathlib.Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")
        return path

    def _unlabelled(self, path: str) -> str:
        where = os.path.dirname(os.path.join(self._path, path))
        if not os.path.isdir(where):
            return path  # the library says that it is not there
        link = self._new(_UNLABELLED)
        os.symlink(where, link)
        self._names[link] = where
        return os.path.join(_UNLABELLED, os.path.basename(path))

    def mask(self, mask: Any) -> str:
        if isinstance(mask, (list, tuple)):
            return ",".join(self.file(part, f"mask_{k}", "the mask") for k, part in enumerate(mask))
        return self.file(mask, "mask", "the mask")

    def files(self, one: Any, i: int, name: str) -> Pair:
        """Of a row: its file, or its two. Those here go by what is theirs: the path of the folder may have labels."""
        parts = one if isinstance(one, (list, tuple)) else (one,)
        paths = (self.file(part, f"{i}_{k}" if k else str(i), name) for k, part in enumerate(parts))
        out = tuple(path[len(self._path) + 1:] if path.startswith(self._path + os.sep) else path for path in paths)
        self._rows[out] = name
        return out

    def file(self, one: Any, place: str, name: str | None = None) -> str:
        """The path of an image: its own, or one here that it is written to."""
        if is_path(one):
            path: str = os.fspath(one)
            return path if name is None or "," in path else os.path.abspath(path)
        if not is_image(one):
            raise DataError(f"{name or place}: of type {type(one).__name__}, expected a path or an image of nibabel")
        own = unchanged(one)
        if own:
            return own
        before = getattr(one, "get_filename", lambda: None)()
        base = re.sub(r"[^\w.+-]", "_", os.path.basename(before)) if isinstance(before, str) else ""
        saved = save(one, self._new(place, base or "image.nii"), name or place)
        self._names[saved] = name or place
        return saved
