"""The language server: findings, names, facts, stale texts and suggestions of a project in any editor.

It reads texts as they are in the editor, and everything else from the project's folder. It calls a model only for a
suggestion that the author chooses, and changes a text only through the editor, so that the editor can undo it.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from fabula.app.codex import ProjectCodex, codex_of
from fabula.app.editing import written_again
from fabula.app.saving import BRIEF
from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import read_text
from fabula.base.version import __version__
from fabula.craft.quoting import places, same_length
from fabula.craft.suggesting import Amount, put
from fabula.engine.events import Event, TextArrived
from fabula.project.folder import MAX_STORY, STORY
from fabula.server.tidying import tidy
from fabula.story import one_line, slug
from fabula.story.codex import FILE as CODEX_FILE
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from pygls.workspace.position_codec import PositionCodec

    from fabula.app.facts_shown import ProjectWorld
    from fabula.app.findings import FindingPlace


T = TypeVar("T")

NAME: Final = "fabula"
INTENDED: Final = "fabula.intended"
SUGGEST: Final = "fabula.suggest"
CHOOSE: Final = "fabula/choose"
"""The request to a client that shows suggestions itself; its answer is the number of one, from 0."""
_INTENDED: Final = "On purpose: dismiss this finding"
_AGREES: Final = "This contradicts another passage, which stays as it is: “{}” Change only what has to change."
_REWORD: Final = {"Suggest three other wordings": ("reword", "sentence", 3)}
_CONTINUE: Final = {
    "Continue: a sentence": ("continue", "sentence", 1),
    "Continue: a paragraph": ("continue", "paragraph", 1),
    "Continue: to the end of the scene": ("continue", "scene", 1),
}
REASON: Final = "The author marked it as intended in an editor."
_PAUSE: Final = 0.03  # seconds without a change after which a text is looked at
_EVERY: Final = 2.0  # seconds between two looks for changes by commands
_FINDINGS, _FACTS = 500, 12  # the most that are shown of each
_EXPORTED: Final = (".txt", ".fountain")  # a file next to `story.md` with the whole story
_AROUND: Final = 200  # characters of a text that are shown while it is written
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

    def saved(self) -> str:
        """The text as its file has it."""
        return _uniform(read_text(self.project.folder / self.file, MAX_STORY))

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
                holds = bool(related) or other.artefact == CODEX_FILE
                shown.append(
                    lsp.Diagnostic(
                        range=here.range,
                        message=said if holds else f"{said} The other passage has changed since the check.",
                        severity=lsp.DiagnosticSeverity.Warning if holds else lsp.DiagnosticSeverity.Information,
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
        said = self.codex.said_at(self.document.text, at, self.scene(self.codex.world, at))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, "\n\n".join(said))) if said else None

    def definition(self, position: lsp.Position) -> list[lsp.Location]:
        """The sentences that tell what is known about a name by the end of this scene, the newest first."""
        at = self.document.place(position)
        world, names = self.codex.world, self.codex.named_at(self.document.text, at)
        views = [self.codex.view(self.scene(world, at), name=name) for name in names]
        rows = [row for view in views for row in view.entries[0].facts[:_FACTS]]
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

    def actions(self, chosen: lsp.Range, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
        """The fixes of each finding, and suggestions for the selection or the cursor.

        If the author asks for them, the suggestions are there with what they would cost.
        """
        made = [action for one in context.diagnostics if one.source == NAME for action in self._fixes(one)]
        place, asked = self.selected(chosen), context.trigger_kind == lsp.CodeActionTriggerKind.Invoked
        for title, (kind, amount, count) in (_CONTINUE if chosen.start == chosen.end else _REWORD).items():
            if place is not None:
                cost = f" ({self._cost(place, kind, amount, count)})" if asked else ""
                arguments = [self.document.uri, chosen, kind, amount, count, ""]
                made.append(_action(title + cost, lsp.CodeActionKind.RefactorRewrite, SUGGEST, arguments))
        return [one for one in made if not context.only or (one.kind or "").startswith(tuple(context.only))]

    def _fixes(self, found: lsp.Diagnostic) -> Iterator[lsp.CodeAction]:
        key, fix = str(found.code), lsp.CodeActionKind.QuickFix
        finding = next((one for one in self.project.last_check().findings if one.key == key), None)
        here = self.document.text[slice(*map(self.document.place, (found.range.start, found.range.end)))]
        related = found.related_information or ()
        others = (
            (one for one in finding.places if same_length(one.sentence).strip() != same_length(here)) if finding else ()
        )
        for there, other in zip(related, others, strict=False):
            at = there.location
            sides = (("here", self.document.uri, found.range, other.sentence), ("there", at.uri, at.range, here))
            for where, uri, span, stays in sides:
                arguments = [uri, span, "reword", "sentence", 3, _AGREES.format(one_line(stays))]
                yield _action(f"Change {where}: suggest three other wordings", fix, SUGGEST, arguments, found)
        yield _action(_INTENDED, fix, INTENDED, [self.document.uri, key, REASON], found)

    def selected(self, chosen: lsp.Range) -> Selected | None:
        """What is selected in a text of the story; `None` elsewhere."""
        start, end = self.document.place(chosen.start), self.document.place(chosen.end)
        name, low = self.name if self.file.startswith("story/") else "", 0
        if self.file == STORY:
            scenes = reversed(self.document.scenes.items())
            label, low = next(((label, at) for label, at in scenes if at <= start), ("", 0))
            name = next((part.name for part in self.project.known_facts().parts if slug(part.label) == label), "")
        ends = (_as_kept(self.document.text[low:at]) for at in (start, end))
        return Selected(self, name, start, end, *ends) if name else None

    def _cost(self, place: Selected, kind: str, amount: str, count: int) -> str:
        try:
            said = self.project.dry_run("suggest", **place.arguments(kind, amount, count, ""))
        except FabulaError as error:
            return one_line(str(error))[:_AROUND]
        return f"about {said.tokens:,} tokens" + f", ${said.cost:.4f}" * bool(said.cost)


@dataclass(frozen=True)
class Selected:
    """A selection in a text, or a cursor.

    Attributes:
        opened: the document.
        name: the name of the text.
        start, end: its place in the document.
        low, high: its place in the text, as the project has it.
    """

    opened: Opened
    name: str
    start: int
    end: int
    low: int
    high: int

    def arguments(self, kind: str, amount: str, count: int, note: str) -> dict[str, Any]:
        """The arguments of `suggest`.

        Raises:
            UsageError: the text in the editor is not saved.
        """
        opened = self.opened
        if opened.document.text != opened.saved():
            raise UsageError(f"{opened.file} is not saved. Save it, then ask for suggestions.")
        place = {"passage": f"{self.low + 1}-{self.high}"} if self.high > self.low else {"at": self.low}
        return {"artefact": self.name, "kind": kind, "amount": amount, "count": count, "note": note, **place}

    def put(self, words: str, amount: Amount) -> str:
        """The words as they are put into the document: apart from what stands before a cursor."""
        text = self.opened.document.text
        return words if self.end > self.start else put(words, text[: self.start], text[self.end :], amount)


def _action(
    title: str, kind: lsp.CodeActionKind, command: str, arguments: list[Any], of: lsp.Diagnostic | None = None
) -> lsp.CodeAction:
    return lsp.CodeAction(title, kind, [of] if of else None, command=lsp.Command(title, command, None, arguments))


def _as_kept(text: str) -> int:
    """The length of a beginning of a text as the project keeps it, without blanks at ends of lines."""
    *lines, last = text.lstrip("\ufeff").split("\n")
    return len("\n".join([*map(str.rstrip, lines), last]).lstrip("\n"))


def _uniform(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# the server ---------------------------------------------------------------------------------------------------------


@dataclass
class Session:
    """What the server knows of the editor: its open texts and their projects; `shown` removes secrets from texts."""

    server: LanguageServer
    environ: Mapping[str, str]
    shown: Callable[[str], str]
    projects: dict[Path, Project] = field(default_factory=dict)
    seen: dict[Path, object] = field(default_factory=dict)
    chooses: bool = False  # whether the client shows suggestions itself
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
                    names, file = project.names(), path.relative_to(folder).as_posix()
                    if file.startswith("story/") and file not in names:  # a file of the author's own
                        names = {one.file: one.name for one in project.rows(marks=False)}
                    return Opened(project, file, self._read(path, uri), names, cache(self._read))
        return None

    def _read(self, path: Path, uri: str = "") -> Document:
        workspace, uri = self.server.workspace, uri or from_fs_path(str(path)) or ""
        there = workspace.text_documents.get(uri)
        text = read_text(path, MAX_STORY) if there is None else there.source
        return Document(uri, _uniform(text) if len(text) <= MAX_STORY else "", workspace.position_codec)

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

    async def suggest(self, uri: str, chosen: lsp.Range, wanted: tuple[str, Amount, int, str]) -> None:
        """Have suggestions made, and put the one that the author chooses into the text."""
        try:
            await self._suggest(uri, chosen, wanted)
        except FabulaError as error:
            said = lsp.ShowMessageParams(lsp.MessageType.Warning, self.shown(str(error)))
            self.server.window_show_message(said)

    async def _suggest(self, uri: str, chosen: lsp.Range, wanted: tuple[str, Amount, int, str]) -> None:
        opened = await asyncio.to_thread(self.opened, uri)
        if opened is None or (place := opened.selected(chosen)) is None:
            raise UsageError("Suggestions are for the texts of a story: the files in story/, and story.md.")
        texts = await self._made(place, place.arguments(*wanted))
        if not texts or (number := await self._choice(texts)) is None:
            return
        now, end = self.opened(uri), place.end
        if now is None or now.document.text[:end] != opened.document.text[:end]:
            raise UsageError("The text before the cursor has changed. Ask again; the same suggestion costs nothing.")
        edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(chosen, place.put(texts[number], wanted[1]))]})
        await self.server.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit, "Suggestion"))

    async def _made(self, place: Selected, given: dict[str, Any]) -> list[str]:
        """The suggestions, whose words the editor shows as they come; empty if the author cancels them."""
        progress, token, texts = self.server.work_done_progress, str(uuid4()), dict[str, str]()

        def heard(event: Event) -> None:
            if isinstance(event, TextArrived):
                texts[event.path] = texts.get(event.path, "") + event.text
                progress.report(token, lsp.WorkDoneProgressReport(message=one_line(texts[event.path])[-_AROUND:]))

        made = asyncio.ensure_future(place.opened.project.suggest_async(**given, on_event=heard))
        if shows := get_capability(self.server.client_capabilities, "window.work_done_progress", default=False):
            await progress.create_async(token)
            progress.begin(token, lsp.WorkDoneProgressBegin("Suggestions", cancellable=True))
            progress.tokens[token].add_done_callback(lambda _: made.cancel())
        try:
            return list((await made).texts)
        except asyncio.CancelledError:
            return []
        finally:
            if shows:
                progress.end(token, lsp.WorkDoneProgressEnd())

    async def _choice(self, texts: list[str]) -> int | None:
        """The number of the suggestion that the author chooses."""
        if len(texts) == 1:
            return 0
        if self.chooses:
            number: int | None = await self.server.protocol.send_request_async(CHOOSE, {"texts": texts})
            return number
        names = [f"Use {number}" for number in range(1, len(texts) + 1)]
        said = "\n\n".join(f"{number}. {one_line(text)}" for number, text in enumerate(texts, 1))
        items = [lsp.MessageActionItem(name) for name in names]
        asked = lsp.ShowMessageRequestParams(lsp.MessageType.Info, said, items)
        answer = await self.server.window_show_message_request_async(asked)
        return names.index(answer.title) if answer is not None and answer.title in names else None

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

    @offered.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        session.chooses = bool(isinstance(options, dict) and options.get("chooses"))

    @offered.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await asyncio.gather(session.watch(), tidy())

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
    asked(lsp.TEXT_DOCUMENT_CODE_ACTION, lambda opened, params: opened.actions(params.range, params.context))

    @offered.command(INTENDED)
    async def intended(uri: str, key: str, reason: str) -> None:
        await session.look(uri, lambda opened: opened.project.dismiss(key, reason))
        session.changed(uri)

    @offered.command(SUGGEST)
    async def suggest(uri: str, chosen: lsp.Range, kind: str, amount: Amount, count: int, note: str) -> None:
        await session.suggest(uri, chosen, (kind, amount, count, note))

    return offered
