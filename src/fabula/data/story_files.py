"""The text in a file that writers have: the one way in which stories and manuscripts are read, whatever reads them.

What a file is, is seen by how it begins; its name only says that one of a word processor is damaged. A file of somebody
else is hostile: what is read of it has a bound, and nothing of it is unpacked to the disk.
"""

# ruff: noqa: RUF001 - letters and signs of many languages

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError

from fabula.base.characters import binary_place, readable
from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.data.book_files import epub_text, odt_text
from fabula.data.rtf_files import rtf_text
from fabula.data.word_files import Unpacked, word_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUFFIXES: Final = (".md", ".txt", ".docx", ".odt", ".rtf", ".epub", ".fountain")
"""What the files of stories may end with, for folders and forms."""
LINES: Final = (".md", ".txt", ".fountain", "")
"""What files end with whose text is that of the file, so that its lines can be named."""
_REFUSED: Final = {
    b"%pdf": "a PDF file",
    b"\xd0\xcf\x11\xe0": "an old Word file, or one with a password",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}
_RTF: Final = b"{\\rtf"
_PACKED: Final = b"PK\x03\x04"
_PACKED_KINDS: Final = {".docx": "Word file", ".odt": "OpenDocument file", ".epub": "EPUB"}
_KINDS: Final[dict[str, tuple[str, Callable[[Unpacked], str]]]] = {
    "word/document.xml": ("Word file", word_text),
    "META-INF/container.xml": ("EPUB", epub_text),
    "content.xml": ("OpenDocument file", odt_text),
}
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
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
    """The text in a file: Markdown or plain text in any usual encoding, or Word, OpenDocument, Rich Text or EPUB.

    Headings and emphasis of word processors are Markdown's.

    Raises:
        UsageError: it cannot be read, is larger than `most` bytes, is damaged, or is of another kind; says what to do.
    """
    return text_and_encoding(file, most)[0]


def said_of_encoding(file: str, encoding: str) -> str:
    """A sentence on the older encoding that a file's text was taken to be in; empty where nothing had to be guessed."""
    return encoding and (
        f"{file} is no UTF-8: it was read as {encoding}, which its letters fit best. Where letters are wrong, save it "
        "as UTF-8 and give that."
    )


def text_and_encoding(file: Path, most: int) -> tuple[str, str]:
    """As `text_of`, and the encoding where that was guessed; else an empty text.

    Raises:
        UsageError: as of `text_of`.
    """
    data = read_bytes(file, most)
    begins = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for sign, what in _REFUSED.items():
        if begins.startswith(sign):
            raise UsageError(f"{file} is {what}. Save it as DOCX, Markdown or plain text, and give that.")
    if data.startswith(_PACKED):
        return readable(_unpacked(file, data)), ""
    if begins.startswith(_RTF):
        try:
            return readable(rtf_text(data)), ""
        except ValueError as error:
            raise _damaged(file, "Rich Text file (.rtf)") from error
    if data and (known := _PACKED_KINDS.get(file.suffix.casefold())):
        raise _damaged(file, known)
    text, guessed = _decoded(file, data)
    if place := binary_place(text):
        raise UsageError(f"{file} holds binary data ({place}). Give a plain text file, or take that character out.")
    return readable(text), guessed


def _unpacked(file: Path, data: bytes) -> str:
    what = "Word, OpenDocument or EPUB file"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.filename = str(file)
            inside = Unpacked(archive)
            for name, (what, read) in _KINDS.items():  # noqa: B007 - the message names the kind
                if name in inside.names:
                    return read(inside)
    except (OSError, EOFError, RuntimeError, ValueError, zlib.error, zipfile.BadZipFile, ParseError) as error:
        raise _damaged(file, what) from error
    raise UsageError(
        f"{file} is packed, but no Word, OpenDocument or EPUB file. Give one of these, Markdown or plain text."
    )


def _damaged(file: Path, what: str) -> UsageError:
    shown = f"{'an' if what[0] in 'EO' else 'a'} {what}"
    return UsageError(
        f"{file} cannot be read as {shown}: it is damaged or of another kind. Save it anew as DOCX or as plain text."
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
    raise UsageError(f"{file} is text in an encoding that is not known. Save it as UTF-8 text.")


def _likely(data: bytes, encoding: str, letters: str) -> float:
    """The share of a language's letters among the signs beyond ASCII, as an encoding has them."""
    signs = [sign for sign in data.decode(encoding, "replace") if not sign.isascii()]
    return sum(sign in letters for sign in signs) / len(signs) if signs else 0.0
