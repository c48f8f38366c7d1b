"""`fabula lsp` on a book of 100,000 words, as a process of its own: the whole story in one file, open in an editor.

*Open* is from the start of the process until the findings are underlined; *lens* is until it is said which texts are
stale, which an editor asks for as it opens a file; *edit* is from a change of the text until the findings are
underlined in it, with the pause in which the server waits for more keys. The last check is made up: each finding says
of two sentences that they clash.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from benchmarks.books import ENVIRON, Book
from benchmarks.table import Row, Table
from fabula.project.sample import copy_sample
from fabula.story.sentences import spans

if TYPE_CHECKING:
    from fabula.project.folder import ProjectFolder

TITLE: Final = "a book of 100,000 words in an editor: until findings are underlined, and memory"
_OPEN, _EDIT, _MEMORY = 3000.0, 200.0, 300.0  # milliseconds, milliseconds, megabytes
_MS: Final = 1000.0
_LIMIT: Final = 120.0  # seconds
_REST: Final = 3.0  # seconds, in which the server returns freed memory
_REPORT: Final = "evaluation/atlas.json"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Scenes of the book, findings of its last check, processes that are started, and edits in each."""

    scenes: int = 300
    findings: int = 200
    rounds: int = 3
    edits: int = 20
    folder: str = ""  # where the book is kept from one time to the next


def bench(sizes: Sizes | None = None) -> Table:
    """Open the story and edit it, in some processes."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sizes.folder or temporary)
        project = Book("end-to-end", sizes.scenes).write(folder / "book")
        _check(project, folder, sizes.findings)
        uri, text = project.story_file.as_uri(), project.story_file.read_text(encoding="utf-8")
        runs = [asyncio.run(_edited(uri, text, sizes.edits)) for _ in range(sizes.rounds)]
    opened, lenses, edits, memory = zip(*runs, strict=True)
    each = f"{sizes.findings} findings"
    return Table(
        "editors",
        TITLE,
        (
            Row("open", opened, "ms", each, _OPEN),
            Row("lens", lenses, "ms", "a dry run of the book"),
            Row("edit", tuple(one for run in edits for one in run), "ms", each, _EDIT),
            Row("memory after the edits", memory, "MB", "", _MEMORY),
        ),
        (f"The server and its client share {os.cpu_count()} cores.",),
    )


def _check(project: ProjectFolder, folder: Path, count: int) -> None:
    """The report of a check that found so many contradictions, each between two sentences of two parts."""
    if not (folder / "sample").exists():
        copy_sample(folder / "sample")
    report = json.loads((folder / "sample" / _REPORT).read_text(encoding="utf-8"))
    (story,) = report["details"]["stories"]
    chance, parts = random.Random(1), sorted((project.folder / "story").glob("*.md"))  # noqa: S311 - not secrets
    texts = [part.read_text(encoding="utf-8") for part in parts]
    model, story["findings"] = story["findings"][0], []
    for number in range(count):
        finding = deepcopy(model) | {"key": f"{number:08x}-0000"}
        for side in "xy":
            scene = chance.randrange(len(texts))
            start, end = chance.choice(spans(texts[scene]))
            text = texts[scene][start:end]
            finding[f"passage_{side}"] = {"scene": scene + 1, "start": start, "text": text, "focus": [0, len(text)]}
        story["findings"].append(finding)
    file = project.folder / _REPORT
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(report), encoding="utf-8")


async def _edited(uri: str, text: str, edits: int) -> tuple[float, float, list[float], float]:
    """The milliseconds until findings are shown, until stale texts are, and after each edit; the server's megabytes."""
    client, shown = LanguageClient("benchmark", "1"), asyncio.Queue[Any]()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator] # pygls's own
    def show(params: lsp.PublishDiagnosticsParams) -> None:
        shown.put_nowait(params)

    began = time.perf_counter()
    await client.start_io(sys.executable, "-m", "fabula", "lsp", env=dict(os.environ) | ENVIRON)
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), process_id=os.getpid()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(uri, "markdown", 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    wanted = client.text_document_code_lens_async(lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri)))  # as editors do
    await asyncio.wait_for(shown.get(), _LIMIT)
    opened, times = (time.perf_counter() - began) * _MS, list[float]()
    await asyncio.wait_for(wanted, _LIMIT)
    lens = (time.perf_counter() - began) * _MS
    for number in range(edits):
        middle = len(text) // 2
        text, began = f"{text[:middle]}x{text[middle:]}", time.perf_counter()
        version = lsp.VersionedTextDocumentIdentifier(uri=uri, version=number + 2)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(version, [change]))
        await asyncio.wait_for(shown.get(), _LIMIT)
        times.append((time.perf_counter() - began) * _MS)
    await asyncio.sleep(_REST)
    memory = _resident(client)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call] # pygls's own
    return opened, lens, times, memory


def _resident(client: LanguageClient) -> float:
    status = Path(f"/proc/{client._server.pid}/status").read_text(encoding="utf-8")  # type: ignore[union-attr] # noqa: SLF001 - it has no other way
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000
