"""GGUF files from a model hub: `hf:OWNER/REPO[:QUANT]`, fetched on demand, found again by their records.

The hub's client library keeps files in a folder that all its users share (`HF_HOME`). The library would restart an
interrupted download. This module therefore fetches the bytes itself, continues where it stopped, and compares them with
the hub's own checksum before it puts them in place. A hub's answers are hostile input: names, sizes and texts are
checked first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from fabula.base.errors import FabulaError, ModelUnavailableError, UnknownNameError, UsageError
from fabula.base.extras import require
from fabula.base.files import lock, make_folder, read_text, write_atomically
from fabula.models.gguf import read_metadata
from fabula.models.memory import free_memory, needed_memory, of_context

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    Report = Callable[[str], None]

PREFIX: Final = "hf:"
USUAL: Final = "Q4_K_M"
"""The default quantisation. It is small and hardly worse than the full model."""
_NAME: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})(?::([\w.-]{1,100}))?", re.ASCII)
_QUANT: Final = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?I?Q\d(?:_[A-Z0-9]{1,4}){0,3}|BF16|F16|F32|MXFP4(?:_MOE)?)(?![A-Za-z0-9])", re.IGNORECASE
)
_PART: Final = re.compile(r"-(\d{5})-of-(\d{5})\.gguf\Z")
_FILE: Final = re.compile(r"[\w.+-]{1,150}(?:/[\w.+-]{1,150}){0,3}", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_NO_TEXT: Final = ("mmproj", "imatrix")
_FOLDER: Final = "hub"
_LARGEST_RECORD: Final = 20_000
_MOST_FILES: Final = 500
_SPARE: Final = 200_000_000  # bytes that stay free on the disk
_GB: Final = 1e9
_PATIENCE: Final = 15.0  # seconds until the hub has said what a repository holds


class HubUnreachableError(ModelUnavailableError):
    """The hub itself does not answer or may not be asked, so that no other model is available there now."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's weights.

    Attributes:
        name: the name that a user types.
        file: the GGUF file, or the first one of several.
        size: the size of all files in bytes.
        sha256: the SHA-256 of the file.
        licence: the licence that the publisher states.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str


@dataclass(frozen=True, slots=True)
class HubModel(Weights):
    """A model that was fetched from a hub, with a name of the form `hf:OWNER/REPO:QUANT`.

    Attributes:
        revision: the revision of the repository.
        context: the tokens that it was trained for, according to its file.
    """

    revision: str
    context: int | None = None

    @property
    def here(self) -> bool:
        """Whether the file is still there."""
        return Path(self.file).is_file()


def fetched(home: Path) -> list[HubModel]:
    """The models that were fetched from a hub and are still there, in order of their names."""
    found = []
    for path in sorted((home / _FOLDER).glob("*.json"))[:_MOST_FILES]:
        with suppress(OSError, FabulaError, ValueError, TypeError):
            model = HubModel(**json.loads(read_text(path, _LARGEST_RECORD)))
            if model.here:
                found.append(model)
    return found


def fetched_file(name: str, home: Path) -> Path:
    """The file of a fetched model; `hf:OWNER/REPO` is enough if only one quantisation is there.

    Raises:
        UsageError: the name is not valid, or several quantisations are there.
        ModelUnavailableError: the model is not there.
    """
    owner, repository, quant = _parts(name)
    start = f"{PREFIX}{owner}/{repository}:".lower()
    here = [model for model in fetched(home) if model.name.lower().startswith(start)]
    if quant:
        here = [model for model in here if model.name.lower() == f"{start}{quant}".lower()]
    if len(here) > 1:
        raise UsageError(
            f"Several quantisations of {name} are available here. Choose one: "
            f"{', '.join(model.name for model in here)}."
        )
    if not here:
        raise ModelUnavailableError(
            f"{name} is not on this machine. To download it from the hub, run `fabula models pull {name}`.", model=name
        )
    return Path(here[0].file)


def _parts(name: str) -> tuple[str, str, str]:
    found = _NAME.fullmatch(name.removeprefix(PREFIX))
    if found is None or ".." in name or found[0].count("/") != 1:
        raise UsageError(f"{name!r} is not a hub model. Use the form hf:OWNER/REPO or hf:OWNER/REPO:{USUAL}.")
    return found[1], found[2], found[3] or ""


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a repository, as the hub's record has it."""

    name: str
    size: int
    sha256: str


def pull_from_hub(
    name: str,
    home: Path,
    environ: Mapping[str, str],
    report: Report,
    *,
    bar: bool = False,
    licences: Collection[str] = (),
) -> HubModel:
    """The model, which is fetched if needed; an interrupted fetch continues where it stopped.

    Args:
        name: `hf:OWNER/REPO` or `hf:OWNER/REPO:QUANT`; the quantisation may also be the name of a file.
        home: the folder of models, which records what was fetched.
        environ: the environment, of which `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and `HF_HUB_CACHE` are used.
        report: gets a sentence for each step.
        bar: whether the client library shows a progress bar.
        licences: the licences that are accepted; without any, every licence is.

    Raises:
        UsageError: the name is not valid, or the extra `hub` is not installed.
        UnknownNameError: the repository has no such quantisation.
        ModelUnavailableError: the repository does not exist, is gated or has another licence, there is no connection or
            no space, the checksum is wrong, or the model is too large for this machine's memory; the message says what
            to do.
    """
    owner, repository, quant = _parts(name)
    hub = _Hub(f"{owner}/{repository}", environ, bar=bar)
    with hub.in_words():
        about = hub.about()
        groups = _groups(hub.repository, about.siblings or ())
        chosen = _chosen(hub.repository, groups, quant, report)
        size = sum(file.size for file in groups[chosen])
        revision, licence = str(about.sha), _licence(about)
        if not _COMMIT.fullmatch(revision):
            raise hub.unavailable("the hub names no revision of it. Try again, or another repository")
        if licences and licence.lower() not in licences:
            allowed = " or ".join(licences)
            raise hub.unavailable(f"its licence is {licence}, and only {allowed} is accepted unless you name the model")
        title = f"{PREFIX}{hub.repository}:{chosen}"
        report(f"{title}: {size / _GB:,.2f} GB, licence {licence}, revision {revision[:12]}")
        paths = [hub.fetch(file, revision, report) for file in groups[chosen]]
    said = read_metadata(paths[0], before="tokenizer.")
    context = of_context(said)
    model = HubModel(title, str(paths[0]), size, groups[chosen][0].sha256, licence, revision, context)
    make_folder(home / _FOLDER)
    record = home / _FOLDER / f"{owner}--{repository}--{chosen}.json"
    write_atomically(record, json.dumps(asdict(model), indent=1) + "\n")
    needed, free = needed_memory(paths[0], context or 0, size=size), free_memory()
    if needed is not None and free is not None and needed > free:
        report(f"It needs about {needed / _GB:,.1f} GB of memory, but only {free / _GB:,.1f} GB are free now.")
    return model


class _Hub:
    """A repository at a hub, through the hub's client library."""

    def __init__(self, repository: str, environ: Mapping[str, str], *, bar: bool) -> None:
        self.repository = repository
        require("huggingface_hub", "hub", "Downloading a model from a hub")
        import huggingface_hub  # noqa: PLC0415 - comes with an extra
        from huggingface_hub import errors, file_download, utils  # noqa: PLC0415 - the same

        library: tuple[Any, Any, Any, Any] = (huggingface_hub, file_download, errors, utils)
        self._library, self._files, self._errors, self._utilities = library
        self.endpoint = environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
        self._token = environ.get("HF_TOKEN", "").strip() or None  # without one, the library's own
        self.cache = _cache(environ)
        (self._utilities.enable_progress_bars if bar else self._utilities.disable_progress_bars)()

    def about(self) -> Any:  # noqa: ANN401 - the library's type
        """What the hub says of the repository, with sizes and checksums."""
        return self._library.HfApi(endpoint=self.endpoint, token=self._token).model_info(
            self.repository, files_metadata=True, timeout=_PATIENCE
        )

    def fetch(self, file: _File, revision: str, report: Report) -> Path:
        """The file in the library's folder, fetched first where it is not there."""
        given = {"endpoint": self.endpoint, "revision": revision}
        url = self._files.hf_hub_url(self.repository, file.name, **given)
        folder = self.cache / f"models--{self.repository.replace('/', '--')}"
        blob, found = folder / "blobs" / file.sha256, folder / "snapshots" / revision / file.name
        make_folder(blob.parent)
        if not blob.is_file():
            self._fetch(url, file, blob, report)
        make_folder(found.parent)
        if not (found.exists() and found.samefile(blob)):
            found.unlink(missing_ok=True)
            _link(found, blob)
        return found

    def _fetch(self, url: str, file: _File, blob: Path, report: Report) -> None:
        part = blob.with_name(f"{blob.name}.fabula.part")
        with part.open("ab") as out:
            try:
                lock(out.fileno())
            except BlockingIOError as error:
                raise self.unavailable("another process is fetching it. Wait until it has finished") from error
            begun = out.tell()
            if begun > file.size:
                out.truncate(begun := 0)
            self._check_space(file.size - begun, part.parent)
            report(f"{file.name}: {'continuing at' if begun else 'fetching'} {_size(begun or file.size)}")
            headers = self._utilities.build_hf_headers(token=self._token) | {"Accept-Encoding": "identity"}
            bounded: Any = _Bounded(out, file.size)
            self._files.http_get(url, bounded, resume_size=begun, headers=headers, expected_size=file.size)
            out.flush()
            os.fsync(out.fileno())
        with part.open("rb") as came:
            actual = hashlib.file_digest(came, "sha256").hexdigest()
        if actual != file.sha256:
            part.unlink()
            raise self.unavailable(
                f"{file.name} has the SHA-256 {actual[:12]}…, but the hub's record has {file.sha256[:12]}…. The "
                "download was discarded. Pull it again"
            )
        part.replace(blob)

    def _check_space(self, missing: int, folder: Path) -> None:
        free = shutil.disk_usage(folder).free
        if free < missing + _SPARE:
            raise self.unavailable(
                f"{_size(missing)} are missing, but {folder} has {_size(free)} free. Free space, set HF_HOME to a "
                "folder on another disk, or take a smaller quantisation (hf:OWNER/REPO:QUANT)"
            )

    def unavailable(self, why: str, kind: type[ModelUnavailableError] = ModelUnavailableError) -> ModelUnavailableError:
        """The error that says why the model cannot be had."""
        name = f"{PREFIX}{self.repository}"
        return kind(f"{name} could not be downloaded: {why}.", model=name)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Errors of the library as ours."""
        try:
            yield
        except self._errors.GatedRepoError:
            raise self.unavailable(
                f"it is gated. Accept its terms at {self.endpoint}/{self.repository}, and set HF_TOKEN to a token of "
                "that account"
            ) from None
        except self._errors.RepositoryNotFoundError:
            raise self.unavailable(
                f"{self.endpoint} does not have this repository, or the repository is private. Check its name. For a "
                "private repository, set HF_TOKEN"
            ) from None
        except self._errors.OfflineModeIsEnabled:
            raise self.unavailable("HF_HUB_OFFLINE is set. Unset it and pull again", HubUnreachableError) from None
        except self._errors.HfHubHTTPError as error:
            status = getattr(error.response, "status_code", "")
            why = f"{self.endpoint} answered with {status}. Pull again later"
            raise self.unavailable(why, HubUnreachableError) from None
        except (OSError, ValueError, self._errors.HTTPError) as error:
            said = getattr(error, "strerror", None)
            what = f"{said} ({getattr(error, 'filename', None) or self.cache})" if said else str(error)
            what = what.rstrip(".") or type(error).__name__
            raise self.unavailable(
                f"{what}. Pull again when you can reach {self.endpoint}. The downloaded part is kept, and the "
                "download continues from there",
                HubUnreachableError,
            ) from None


def _link(found: Path, blob: Path) -> None:
    """Give the bytes the name that the repository has for them, as the library does.

    The library itself would ask the hub once more which bytes that name has, and believe it.
    """
    try:
        found.symlink_to(os.path.relpath(blob, found.parent))
    except OSError:  # some disks have hard links only
        os.link(blob, found)


class _Bounded:
    """A file that takes no more bytes than the hub's record says."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most, self.mode = file, most, "ab"

    def write(self, data: bytes) -> int:
        """Write, within the bound."""
        if self._file.tell() + len(data) > self._most:
            raise OSError("the hub sends more bytes than its record says")
        return self._file.write(data)

    def tell(self) -> int:
        """Where it stands."""
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._file.seek(offset, whence)

    def truncate(self, size: int | None = None) -> int:
        """Cut it off."""
        return self._file.truncate(size)


def _cache(environ: Mapping[str, str]) -> Path:
    """The folder in which the hub's client library keeps files."""
    if said := environ.get("HF_HUB_CACHE", "").strip():
        return Path(said).expanduser()
    home = environ.get("HF_HOME", "").strip()
    cache = environ.get("XDG_CACHE_HOME", "").strip() or Path(environ.get("HOME") or Path.home()) / ".cache"
    return (Path(home).expanduser() if home else Path(cache) / "huggingface") / "hub"


def _groups(repository: str, siblings: Sequence[Any]) -> dict[str, list[_File]]:
    """The files of each quantisation, in order; `mmproj` and the like are none.

    Raises:
        ModelUnavailableError: there is no GGUF file.
    """
    found: dict[str, list[_File]] = {}
    for sibling in siblings[: _MOST_FILES * 4]:
        file = _File(str(sibling.rfilename), sibling.size, str(getattr(sibling.lfs, "sha256", "")))
        if _is_model(file):
            found.setdefault(_PART.sub("", file.name), []).append(file)
    whole = [files for group in found.values() if (files := _whole(group))]
    if not whole:
        raise ModelUnavailableError(
            f"{PREFIX}{repository} has no GGUF file with a checksum. Look for a repository of this model whose name "
            "ends in -GGUF.",
            model=f"{PREFIX}{repository}",
        )
    said = Counter(_quant(files[0].name) for files in whole)
    return {quant if said[quant := _quant(files[0].name)] == 1 else _stem(files[0].name): files for files in whole}


def _is_model(file: _File) -> bool:
    """Whether a file holds a model, and what the hub says of it can be."""
    name = file.name.lower()
    named = name.endswith(".gguf") and _FILE.fullmatch(file.name) and ".." not in name
    sized = type(file.size) is int and file.size > 0 and _SHA256.fullmatch(file.sha256)
    return bool(named and sized and not any(word in name for word in _NO_TEXT))


def _quant(name: str) -> str:
    """The quantisation that a file's name says; else the name without its ending."""
    said = _QUANT.findall(_stem(name))
    return said[-1].upper() if said else _stem(name)


def _stem(name: str) -> str:
    """The name of a file without its folder, the number of a part, and its ending."""
    return _PART.sub("", name.rpartition("/")[2]).removesuffix(".gguf")


def _whole(files: list[_File]) -> list[_File]:
    """The parts of one model in order; nothing where some are missing."""
    files = sorted(files, key=lambda file: file.name)
    found = _PART.search(files[0].name)
    return files if len(files) == (int(found[2]) if found else 1) else []


def _chosen(repository: str, groups: Mapping[str, list[_File]], quant: str, report: Report) -> str:
    """The quantisation that is named; else the usual one, or the largest that fits into memory.

    Raises:
        UnknownNameError: there is no such quantisation.
        ModelUnavailableError: none fits into memory.
    """
    sizes = {name: sum(file.size for file in files) for name, files in groups.items()}
    if quant:
        wanted = quant.removesuffix(".gguf").upper()
        named = [name for name, files in groups.items() if wanted in {name.upper(), _stem(files[0].name).upper()}]
        if named:
            return named[0]
        raise UnknownNameError(f"quantisation of {PREFIX}{repository}", quant, sizes)
    free = free_memory()
    fits = {name: size for name, size in sizes.items() if free is None or size * 1.2 < free}
    if not fits:
        name = min(sizes, key=lambda name: sizes[name])
        raise ModelUnavailableError(
            f"{PREFIX}{repository} is too large: its smallest quantisation, {name}, has {_size(sizes[name])}, but "
            f"only {_size(free or 0)} of memory are free. Use a smaller model. To download this one anyway, run "
            f"`fabula models pull {PREFIX}{repository}:{name}`.",
            model=f"{PREFIX}{repository}",
        )
    chosen = USUAL if USUAL in fits else max(fits, key=lambda name: fits[name])
    if len(sizes) > 1:
        others = ", ".join(sorted(set(sizes) - {chosen}))
        why = "the usual one" if chosen == USUAL else "the largest that fits into memory"
        report(f"Downloading {chosen} of {len(sizes)} quantisations ({why}). The others are: {others}.")
    return chosen


def _licence(about: Any) -> str:  # noqa: ANN401 - the library's type
    """The licence that the repository states."""
    card = getattr(about, "card_data", None)
    said = getattr(card, "license_name", None) or getattr(card, "license", None)
    said = said[0] if isinstance(said, list) and said else said
    return said[:100] if isinstance(said, str) and said.isprintable() else "not stated"


def _size(count: float) -> str:
    return f"{count / _GB:,.2f} GB" if count >= _GB else f"{count / 1e6:,.1f} MB"
