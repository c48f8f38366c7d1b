"""The language server: the findings, names, facts and stale texts of a project in any editor.

It reads texts as they are in the editor, and everything else from the project's folder. It never calls a model, and
writes only the dismissal of a finding, if the author chooses that action.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace.position_codec import PositionCodec

from fabula.app.codex import codex_of
from fabula.app.editing import written_again
from fabula.app.saving import BRIEF
from fabula.base.errors import FabulaError
from fabula.base.files import read_text
from fabula.base.version import __version__
from fabula.craft.quoting import places, same_length
from fabula.project.folder import MAX_STORY, STORY
from fabula.story import slug
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.app.codex import ProjectCodex
    from fabula.app.facts_shown import ProjectWorld
    from fabula.app.findings import FindingPlace

T = TypeVar("T")

NAME: Final = "fabula"
INTENDED: Final = "fabula.intended"
_TITLE: Final = "This is intended"
REASON: Final = "The author marked it as intended in an editor."
_PAUSE: Final = 0.03  # seconds without a change after which a text is looked at
_EVERY: Final = 2.0  # seconds between two looks for changes by commands
_FINDINGS, _FACTS = 500, 12  # the most that are shown of each
_EXPORTED: Final = (".txt", ".fountain")  # a file next to `story.md` with the whole story
_NEAR: Final = 5_000  # characters within which a sentence is looked for first
_MARK: Final = re.compile(r"<!-- scene: ([^\n<]{1,200}) -->\n")


@dataclass(frozen=True)
class Document:
    """A text as an editor has it, or as its file has it, with uniform line ends."""

    uri: str
    text: str
    codec: PositionCodec

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    @cached_property
    def _alike(self) -> str:
        return same_length(self.text)

    @cached_property
    def scenes(self) -> dict[str, int]:
        """Where the scenes of a manuscript begin, by the slugs of their labels."""
        return {slug(mark[1]): mark.end() for mark in _MARK.finditer(self.text)}

    def _position(self, at: int) -> lsp.Position:
        line = bisect_right(self._starts, at) - 1
        before = self.text[self._starts[line] : at]
        short = before.isascii() or (self.codec.encoding == lsp.PositionEncodingKind.Utf16 and max(before) <= "\uffff")
        return lsp.Position(line, len(before) if short else self.codec.client_num_units(before))

    def place(self, position: lsp.Position) -> int:
        """The number of characters before a position of the editor."""
        found = self.codec.position_from_client_units(self._lines, position)
        return min(self._starts[found.line] + found.character, len(self.text))

    def find(self, sentence: str, near: int) -> lsp.Location | None:
        """The place of a sentence, nearest to a place; kinds of quotation marks and dashes do not count."""
        sentence = same_length(sentence).strip()
        low, high = max(near - _NEAR, 0), near + len(sentence) + _NEAR
        found = [low + at for at in places(self._alike[low:high], sentence)] or places(self._alike, sentence)
        if not found:
            return None
        start = min(found, key=lambda at: abs(at - near))
        return lsp.Location(self.uri, lsp.Range(self._position(start), self._position(start + len(sentence))))


@dataclass(frozen=True)
class Opened:
    """A document in a project.

    Attributes:
        file: its file in the project.
        names: the names of the project's texts, by file.
        read: reads another file of the project, as it is in the editor.
    """

    project: Project
    file: str
    document: Document
    names: Mapping[str, str]
    read: Callable[[Path], Document]

    @property
    def name(self) -> str:
        """The name of the text; empty for `story.md` and for files that are not texts of the project."""
        return self.names.get(self.file, "")

    @property
    def is_whole(self) -> bool:
        """Whether the file holds the whole story."""
        return self.file == STORY or ("/" not in self.file and self.file.endswith(_EXPORTED))

    def scene(self, world: ProjectWorld, at: int) -> int | None:
        """The number of the scene at a place; `None` if the place is in no scene."""
        if not self.is_whole:
            return next((part.number for part in world.parts if part.name and part.name == self.name), None)
        label = next((label for label, start in reversed(self.document.scenes.items()) if start <= at), "")
        return next((part.number for part in world.parts if slug(part.label) == label), None)

    def find(self, file: str, sentence: str, near: int) -> lsp.Location | None:
        """The place of a sentence in a file of the project; `None` if it is not there."""
        with suppress(FabulaError):  # a file that is gone has no sentence
            return (self.document if file == self.file else self.read(self.project.folder / file)).find(sentence, near)
        return None

    def diagnostics(self) -> list[lsp.Diagnostic]:
        """The findings of the last check at their passages in this text, each with the other passage."""
        if not (self.is_whole or self.name):
            return []
        shown: list[lsp.Diagnostic] = []
        for finding in self.project.last_check().of(STORY if self.is_whole else self.name).left[:_FINDINGS]:
            x, y = finding.places
            x_at, y_at = self._spot(x), self._spot(y)
            for here, there, other in ((x_at, y_at, y), (y_at, x_at, x)):
                if here is None or here.uri != self.document.uri:
                    continue
                said = f"{finding.head}. {finding.why}"
                related = (
                    [] if there is None else [lsp.DiagnosticRelatedInformation(there, f"{other.where}: {other.says}")]
                )
                shown.append(
                    lsp.Diagnostic(
                        range=here.range,
                        message=said
                        if related or other.artefact
                        else f"{said} The other passage has changed since the check.",
                        severity=lsp.DiagnosticSeverity.Warning
                        if related or other.artefact
                        else lsp.DiagnosticSeverity.Information,
                        source=NAME,
                        code=finding.key,
                        related_information=related,
                    )
                )
        return shown

    def _spot(self, place: FindingPlace) -> lsp.Location | None:
        near = place.quoted.start if place.quoted else 0
        if self.is_whole:
            near += self.document.scenes.get(slug(place.quoted.part.label), 0) if place.quoted else 0
            return self.document.find(place.sentence, near)
        name = place.artefact or place.was_in
        file = next((file for file, one in self.names.items() if name in (one, file)), STORY)
        return self.find(file, place.sentence, near)

    def hover(self, position: lsp.Position) -> lsp.Hover | None:
        """Who a name is, and what is known about it by the end of this scene."""
        at = self.document.place(position)
        if not (name := self.codex.named_at(self.document.text, at)):
            return None
        said = self.codex.about(name, self.scene(self.codex.world, at))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, "\n\n".join(said)))

    def definition(self, position: lsp.Position) -> list[lsp.Location]:
        """The sentences that tell what is known about a name by the end of this scene, the newest first."""
        at = self.document.place(position)
        if not (name := self.codex.named_at(self.document.text, at)):
            return []
        world = self.codex.world
        rows = self.codex.view(self.scene(world, at), name=name).entries[0].facts[:_FACTS]
        told = [one for row in rows if (one := world.sentence(row.id)) is not None]
        found = [self.find(one.part.file, one.sentence, one.start) for one in told]
        return [one for number, one in enumerate(found) if one is not None and one not in found[:number]]

    def completion(self) -> list[lsp.CompletionItem]:
        """The names of people, places and things."""
        return [
            lsp.CompletionItem(name, detail=one.kind, kind=lsp.CompletionItemKind.Text)
            for one in self.codex.view().entries
            for name in (one.name, *one.aliases)
        ]

    @property
    def codex(self) -> ProjectCodex:
        """Everyone and everything with a name in the project."""
        return codex_of(self.project)

    def lenses(self) -> list[lsp.CodeLens]:
        """Above a stale text: the calls with which a run would rewrite it."""
        expected = self.project.expected()
        again = written_again(expected, {name: file for file, name in self.names.items()})
        own = (self.name, f"drafts/{self.name}")
        stale = [one for one in again if one.name in expected.stale and (one.name in own or self.is_whole)]
        if not stale:
            return []
        calls, tokens = sum(one.calls for one in stale), sum(one.tokens for one in stale)
        title = f"stale: {calls:,} call{'s' * (calls != 1)}, about {tokens:,} tokens"
        return [lsp.CodeLens(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), lsp.Command(title, ""))]

    def actions(self, found: Sequence[lsp.Diagnostic]) -> list[lsp.CodeAction]:
        """The quick fix for each finding: to dismiss it."""
        return [
            lsp.CodeAction(
                _TITLE, lsp.CodeActionKind.QuickFix, [one], command=lsp.Command(_TITLE, INTENDED, None, arguments)
            )
            for one in found
            if one.source == NAME and (arguments := [self.document.uri, str(one.code), REASON])
        ]


# the server ---------------------------------------------------------------------------------------------------------


@dataclass
class Session:
    """What the server knows of the editor: its open texts and their projects; `shown` removes secrets from texts."""

    server: LanguageServer
    environ: Mapping[str, str]
    shown: Callable[[str], str]
    projects: dict[Path, Project] = field(default_factory=dict)
    seen: dict[Path, object] = field(default_factory=dict)
    coming: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def opened(self, uri: str) -> Opened | None:
        """The text with that address, with its project; `None` if it belongs to no project."""
        path = Path(to_fs_path(uri) or "") if uri.startswith("file:") else Path()
        with suppress(OSError, ValueError):  # a name that no file can have
            for folder in path.parents:
                if (folder / BRIEF).is_file() and (folder / ".fabula").is_dir():
                    if (project := self.projects.get(folder)) is None:
                        project = self.projects[folder] = Project.open(folder, self.environ)
                        self.seen[folder] = project.stamp()
                    names = {one.file: one.name for one in project.rows(marks=False)}
                    file = path.relative_to(folder).as_posix()
                    return Opened(project, file, self._read(path, uri), names, cache(self._read))
        return None

    def _read(self, path: Path, uri: str = "") -> Document:
        workspace, uri = self.server.workspace, uri or from_fs_path(str(path)) or ""
        there = workspace.text_documents.get(uri)
        text = read_text(path, MAX_STORY) if there is None else there.source
        text = text.replace("\r\n", "\n").replace("\r", "\n") if len(text) <= MAX_STORY else ""
        return Document(uri, text, workspace.position_codec)

    async def look(self, uri: str, what: Callable[[Opened], T]) -> T | None:
        """Something about a text; nothing if the text is in no project, or if the project cannot be read."""

        def looked() -> T | None:
            opened = self.opened(uri)
            return None if opened is None else what(opened)

        try:
            return await asyncio.to_thread(looked)
        except FabulaError as error:
            said = lsp.LogMessageParams(lsp.MessageType.Warning, self.shown(str(error)))
            self.server.window_log_message(said)
            return None

    def changed(self, uri: str) -> None:
        """Show the findings of a text soon; an earlier look at it that has not ended is given up."""
        self.forget(uri)
        self.coming[uri] = asyncio.create_task(self._show(uri))

    def forget(self, uri: str) -> None:
        """Give up a look at a text."""
        if before := self.coming.pop(uri, None):
            before.cancel()

    async def _show(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        if (found := await self.look(uri, Opened.diagnostics)) is not None:
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))

    async def watch(self) -> None:
        """Show again what commands and other programs change."""
        while True:
            await asyncio.sleep(_EVERY)
            for folder, project in list(self.projects.items()):
                if (now := await asyncio.to_thread(project.stamp)) != self.seen[folder]:
                    self.seen[folder] = now
                    self.show_again(folder)

    def show_again(self, folder: Path) -> None:
        """Show the findings and the stale texts of the open texts of a project again."""
        for uri in list(self.server.workspace.text_documents):
            if folder in Path(to_fs_path(uri) or "").parents:
                self.changed(uri)
        if get_capability(self.server.client_capabilities, "workspace.code_lens.refresh_support", default=False):
            self.server.workspace_code_lens_refresh(None)


def server(environ: Mapping[str, str], shown: Callable[[str], str]) -> LanguageServer:
    """The server; `shown` removes secrets, such as keys, from texts."""
    offered = LanguageServer(NAME, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    session = Session(offered, environ, shown)

    @offered.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await session.watch()

    @offered.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    @offered.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    @offered.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def changed(params: Any) -> None:  # noqa: ANN401 - one of three kinds
        session.changed(params.text_document.uri)

    @offered.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        session.forget(params.text_document.uri)
        offered.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    def asked(feature: str, what: Callable[[Opened, Any], object]) -> None:
        @offered.feature(feature)
        async def answered(params: Any) -> object:  # noqa: ANN401 - as above
            return await session.look(params.text_document.uri, lambda opened: what(opened, params))

    asked(lsp.TEXT_DOCUMENT_HOVER, lambda opened, params: opened.hover(params.position))
    asked(lsp.TEXT_DOCUMENT_DEFINITION, lambda opened, params: opened.definition(params.position))
    asked(lsp.TEXT_DOCUMENT_COMPLETION, lambda opened, _: opened.completion())
    asked(lsp.TEXT_DOCUMENT_CODE_LENS, lambda opened, _: opened.lenses())
    asked(lsp.TEXT_DOCUMENT_CODE_ACTION, lambda opened, params: opened.actions(params.context.diagnostics))

    @offered.command(INTENDED)
    async def intended(uri: str, key: str, reason: str) -> None:
        await session.look(uri, lambda opened: opened.project.dismiss(key, reason))
        session.changed(uri)

    return offered
