"""The text in a file that writers have: the one way in which stories and manuscripts are read, whatever reads them.

What a file is, is seen by how it begins; its name only says that one of a word processor is damaged. A file of somebody
else is hostile: what is read of it has a bound, and nothing of it is unpacked to the disk.
"""

# ruff: noqa: RUF001 - letters and signs of many languages

from __future__ import annotations

import io
import re
import zipfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import ParseError

from fabula.base.characters import binary_place, readable
from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.data.book_files import epub_text, odt_text, word_text
from fabula.data.chat_files import BEGINS, chat_text
from fabula.data.project_files import folder_text, novelwriter_text, scrivener_text
from fabula.data.rtf_files import rtf_text
from fabula.data.screenplay_files import fdx_text
from fabula.data.unpacked import Unpacked


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file in which writers keep stories. `KINDS` has all of them: a further one is added only there.

    Attributes:
        suffix: what the names of such files or folders end with.
        name: what it is, for lists.
        begins: what such a file begins with, in small letters, if it is neither text nor an archive.
        read: reads such a file.
        inside: the file by which an archive or folder is known; of a project, the end of that file's name.
        unpack: reads an archive or folder, given the place of that file.
        is_screenplay: whether its text is Fountain, and not Markdown.
        is_project: whether it is a folder, or an archive of one.
    """

    suffix: str
    name: str
    begins: tuple[bytes, ...] = ()
    read: Callable[[bytes, Counter[str]], str] | None = None
    inside: str = ""
    unpack: Callable[[Unpacked, str], str] | None = None
    is_screenplay: bool = False
    is_project: bool = False

    @property
    def what(self) -> str:
        """What it is, for messages."""
        return f"{'an' if self.name[0] in 'EO' else 'a'} {self.name} {'project' if self.is_project else 'file'}"

    def place_in(self, files: Unpacked) -> str:
        """The place of the file by which an archive or folder is of this kind; empty if it is of another."""
        if not self.is_project:
            return self.inside if self.inside in files.names and not files.is_folder else ""
        known = (name for name in files.names if name.endswith(self.inside) and name.count("/") <= 1)
        return min(known, key=lambda name: (name.count("/"), name), default="")


KINDS: Final = (
    Kind(".md", "Markdown"),
    Kind(".txt", "plain text"),
    Kind(".docx", "Word", inside="word/document.xml", unpack=word_text),
    Kind(".odt", "OpenDocument", inside="content.xml", unpack=odt_text),
    Kind(".rtf", "Rich Text", (b"{\\rtf",), rtf_text),
    Kind(".epub", "EPUB", inside="META-INF/container.xml", unpack=epub_text),
    Kind(".fountain", "Fountain", is_screenplay=True),
    Kind(".fdx", "Final Draft", (b"<finaldraft",), fdx_text, is_screenplay=True),
    Kind(".jsonl", "SillyTavern chat", BEGINS, chat_text),
    Kind(".scriv", "Scrivener", inside=".scrivx", unpack=scrivener_text, is_project=True),
    Kind(".nwx", "novelWriter", inside="nwProject.nwx", unpack=novelwriter_text, is_project=True),
)
SUFFIXES: Final = tuple(kind.suffix for kind in KINDS if not kind.is_project and kind.read is not chat_text)
"""What the files of stories may end with, for folders and forms."""
LINES: Final = (*(kind.suffix for kind in KINDS if not kind.unpack and not kind.read), "")
"""What files end with whose text is that of the file, so that its lines can be named."""
SCREENPLAYS: Final = tuple(kind.suffix for kind in KINDS if kind.is_screenplay)
"""What the files of screenplays end with."""
LISTED: Final = ", ".join(kind.name for kind in KINDS)
"""The kinds in words, for help and messages."""
_IN_FOLDERS: Final = (".md", ".txt")
_REFUSED: Final = {
    b"%pdf": "a PDF file",
    b"\xd0\xcf\x11\xe0": "an old Word file, or one with a password",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}
_BEGINS, _PIECE = 1_000, 64  # bytes
_LONGEST: Final = 20_000_000  # characters
_PROLOG: Final = re.compile(rb"\A(?:<\?xml[^>]*+>|<!--(?:(?!-->).)*+-->|\s)++", re.DOTALL)
_BROKEN: Final = (OSError, EOFError, LookupError, RuntimeError, ValueError, zlib.error, zipfile.BadZipFile, ParseError)
_PACKED: Final = b"PK\x03\x04"
_MARKS: Final = ((BOM_UTF8, "utf-8-sig"), (BOM_UTF16_LE, "utf-16"), (BOM_UTF16_BE, "utf-16"))
_UTF_16: Final = 0.3  # of the bytes at even or at odd places are 0 in a text that has no mark
_LOOKED_AT: Final = 20_000  # bytes
_MANY: Final = 0.3  # of the bytes lie above ASCII where the letters of a language do
# Older encodings, with the letters and signs that texts in them have.
_WESTERN: Final = {
    "cp1252": "äöüßÄÖÜéèêëàâçñáíóúìòùãõîôûïøåæœ“”‘’„«»–—…¿¡€°§ª\u00a0",
    "mac_roman": "äöüßÄÖÜéèêëàâçñáíóúìòùãõîôûïøåæœ“”‘’„«»–—…¿¡°§ª\u00a0",
    "cp1250": "ąćęłńóśźżĄĆĘŁŃŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűăâîșțöüä“”‘’„«»–—…\u00a0",
}
_OTHERS: Final = {
    "cp1251": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ",
    "koi8_r": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфё",
    "gb18030": "的一是不了在人有我他这中大来上个到说们为子你地出会也时要就可以生下过后天去能，。“”：？！、",
    "big5": "的一是不了在人有我他這中大來上個到說們為子你地出會也時要就可以生下過後天去能，。「」：？！、",
    "shift_jis": "のにはをたがでてとしれさあいうるなもらこまかすりくよ、。「」",
    "euc_jp": "のにはをたがでてとしれさあいうるなもらこまかすりくよ、。「」",
    "cp949": "이다는을가의에한고하지그나도로를은사아",
    "cp1253": "αοιετσνηυρπκμλςίάόέήύώγδφθχβωξζ",
}
_LIKELY: Final = 0.25  # of the signs beyond ASCII are such letters in the right encoding


def text_of(file: Path, most: int) -> str:
    """The text in a file or folder of one of the `KINDS`; text may be in any usual encoding.

    Headings and emphasis of word processors are Markdown's. The texts of a folder of files are in the order of their
    names, each a scene with fabula's mark.

    Raises:
        UsageError: it cannot be read, is larger than `most` bytes, is damaged, or is of another kind; says what to do.
    """
    return reading_of(file, most).text


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a file, and what its author should know about how it was read.

    Attributes:
        text: the text.
        encoding: its encoding if that was guessed, else an empty text.
        left_out: how many things of each kind the file has that its text has not, such as "footnote"; may be 0.
    """

    text: str
    encoding: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)

    def notices(self, file: str) -> tuple[str, ...]:
        """What the author should know, as sentences about the `file`."""
        said = said_of_left_out(self.left_out)
        guessed = self.encoding and (
            f"{file} is not UTF-8. It was read as {self.encoding}, which fits its letters best. If letters are wrong, "
            "save it as UTF-8 and use that file."
        )
        return tuple(filter(None, [guessed, said]))


def said_of_left_out(counts: Mapping[str, int]) -> str:
    """A sentence that lists things of several kinds: "Left out: 3 footnotes, 1 picture."; empty if there are none."""
    shown = [f"{number:,} {kind if number == 1 else _several(kind)}" for kind, number in counts.items() if number > 0]
    return f"Left out: {', '.join(shown)}." if shown else ""


def _several(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith("x") else f"{kind}s"


def reading_of(file: Path, most: int) -> Reading:
    """The text of `text_of`, with what its author should know about how it was read.

    Raises:
        UsageError: as for `text_of`.
    """
    if folder := project_in(file):
        found = _inside(folder, Unpacked.of_folder(folder, most))
    else:
        found = _in_data(file, read_bytes(file, most, kind=f"a manuscript ({LISTED})"))
    if len(found.text) > _LONGEST:  # what was packed
        raise UsageError(f"{file} has more than {_LONGEST:,} characters, which is too much for a text. Split it.")
    return found


def project_in(place: Path) -> Path | None:
    """The folder to be read if a folder is given, or the file by which the project of a writing program is known."""
    if place.is_dir():
        return place
    known = tuple(kind.inside for kind in KINDS if kind.is_project)
    return place.parent if place.name.endswith(known) and place.is_file() else None


def is_chat(file: Path) -> bool:
    """Whether a file is a chat, and not a table of stories."""
    if file.suffix != ".jsonl" or not file.is_file():
        return False
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(_PIECE).startswith(BEGINS)
    return False


def is_project(folder: Path) -> bool:
    """Whether a folder is the project of a writing program."""
    return any(kind.is_project and any(folder.glob(f"*{kind.inside}")) for kind in KINDS)


def _in_data(file: Path, data: bytes) -> Reading:
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    begins = (data[:_BEGINS].decode("utf-16", "replace").encode() if wide else data[:_BEGINS]).lower()
    begins = begins.removeprefix(BOM_UTF8).lstrip()
    for sign, what in _REFUSED.items():
        if begins.startswith(sign):
            raise UsageError(f"{file} is {what}. Save it as DOCX, Markdown or plain text, and use that file.")
    named = next((kind for kind in KINDS if kind.suffix == file.suffix.casefold() and (kind.read or kind.unpack)), None)
    if data.startswith(_PACKED):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return _inside(file, Unpacked.of_archive(file, archive, len(data)))
        except _BROKEN as error:
            raise _damaged(file, named.what if named else "an archive") from error
    content = _PROLOG.sub(b"", begins)
    for kind in KINDS:
        if kind.read and content.startswith(kind.begins):
            try:
                counts: Counter[str] = Counter()
                return Reading(readable(kind.read(data, counts)), left_out=counts)
            except _BROKEN as error:
                raise _damaged(file, kind.what) from error
    if data and named:
        raise _damaged(file, named.what)
    return _plain(file, data)


def _plain(file: Path, data: bytes) -> Reading:
    text, guessed = _decoded(file, data)
    if place := binary_place(text):
        raise UsageError(f"{file} contains binary data ({place}). Use a plain text file, or remove that character.")
    return Reading(readable(text), guessed)


def _inside(file: Path, files: Unpacked) -> Reading:
    """The text in an archive or a folder."""
    for kind in KINDS:
        if kind.unpack and (place := kind.place_in(files)):
            try:
                return Reading(readable(kind.unpack(files, place)), left_out=files.left_out)
            except _BROKEN as error:
                raise _damaged(file, kind.what) from error
    if names := [name for name in files.names if name.casefold().endswith(_IN_FOLDERS)]:
        found = {name: _plain(file / name, files.data(name)) for name in names}
        text = folder_text({name: one.text for name, one in found.items()})
        files.left_out["other file"] += sum(not name.endswith("/") for name in files.names) - len(names)
        return Reading(text, next((one.encoding for one in found.values() if one.encoding), ""), files.left_out)
    what = "a folder" if files.is_folder else "an archive"
    raise UsageError(
        f"{file} is {what}, but no manuscript: it has no Markdown or text files, and is none of {LISTED}. "
        "Give a file or folder with the whole manuscript."
    )


def _damaged(file: Path, what: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read as {what}: it is damaged or has another format. Save it again as DOCX or plain text."
    )


def _decoded(file: Path, data: bytes) -> tuple[str, str]:
    """The text by its mark, as UTF-8, as UTF-16, or in the older encoding whose letters it has, which is named then.

    Raises:
        UsageError: it is in none of them.
    """
    looked_at = data[:_LOOKED_AT]
    zeros = [looked_at[n::2].count(0) for n in (0, 1)]
    names = [name for mark, name in _MARKS if data.startswith(mark)]
    if not names and 2 * max(zeros) >= _UTF_16 * len(looked_at) > 0:
        names = ["utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"]
    if not names:
        above = sum(byte > 127 for byte in looked_at)  # noqa: PLR2004 - the last of ASCII
        letters = (_OTHERS if above > _MANY * len(looked_at) else {}) | _WESTERN
        shares = {name: _likely(looked_at, name, known) for name, known in letters.items()}
        names = ["utf-8", *sorted((name for name in shares if shares[name] >= _LIKELY), key=lambda name: -shares[name])]
    for name in names:
        try:
            return data.decode(name), name if name in _WESTERN or name in _OTHERS else ""
        except UnicodeDecodeError:
            continue
    if 0 in looked_at:
        raise UsageError(f"{file} is not a text file. Give a text, Markdown, Word or story file.")
    raise UsageError(f"{file} is text in an unknown encoding. Save it as UTF-8 text.")


def _likely(data: bytes, encoding: str, letters: str) -> float:
    """The share of a language's letters among the signs beyond ASCII, as an encoding has them."""
    signs = [sign for sign in data.decode(encoding, "replace") if not sign.isascii()]
    return sum(sign in letters for sign in signs) / len(signs) if signs else 0.0
