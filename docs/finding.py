"""What the site's search finds besides the words of a page: a hook of mkdocs.

Each section of the index gets an unseen field with the words by which readers call what its heading is about. So
"kindle" finds the section on EPUB files. The search still shows which words of a question a section lacks.
docs/assets/search.js ranks what is found.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mkdocs.config.defaults import MkDocsConfig

WEIGHTS: Final = {"title": 10, "text": 1, "tags": 1, "also": 6}
"""How much a word counts by the field in which it is found; the theme's own are 1000 for headings and 1 for text."""

# Beginnings of words of headings: words of readers.
SYNONYMS: Final = {
    "agreement|alpha|kappa": "annotator consistent inter-rater irr reliability",
    "api key|keys?": "account apikey credential login password signup subscription",
    "baseline": "control naive plain single vanilla",
    "brief": "idea input instructions pitch premise synopsis",
    "budget|limit of|limit the cost": "bills cap ceiling dollars expensive maximum money overspend spending",
    "cancel|stop": "abort halt kill pause quit stop terminate",
    "card|persona": "biography sillytavern tavern",
    "chapter": "book instalment part section",
    "character": "antagonist cast heroine people person protagonist role villain",
    "cite|citation": "bibliography bibtex doi publication reference",
    "cluster|several servers": "concurrent distributed gpus hpc kubernetes machines scale slurm throughput",
    "comment|review": "advice beta criticism critique feedback improve notes opinion suggestions",
    "compared with other": "alternatives chatgpt competitors difference",
    "concepts": "basics explained introduction overview",
    "contradict|plot hole": "continuity detector errors inconsistencies inconsistent mistakes proofread wrong",
    "copyright|rights": "commercially legal licence license ownership publish royalties sell",
    "cost|price": "afford bill charge cheaper dollars expensive fee money pay pricing spend subscription",
    "csv|parquet": "dataframe excel numbers pandas spreadsheet table",
    "data set|corpus|public data": "benchmark dataset huggingface prompts",
    "declin": "censor content explicit filter nsfw policy refused violence",
    "dismiss|false alarm": "accept alarms disagree false ignore incorrect positives silence spurious suppress "
    "verdict wrong",
    "docker": "container image kubernetes podman",
    "docx|word": "googledocs libreoffice microsoft odt",
    "editors|lsp": "emacs neovim obsidian plugin scrivener vim vscode",
    "edit|chang": "alter amend correct fix modify replace revise swap tweak",
    "epub": "amazon convert ebooks ereader kindle kobo nook pdf print publish reader",
    "experiment": "ab benchmark compare evaluate improvement test trial versus vs",
    "export": "convert download format pdf print publish save",
    "fine-tun|train": "learn lora qlora weights",
    "first story": "beginner quickstart started tutorial walkthrough",
    "folder|project": "directory location path saved stored where workspace",
    "from python": "call jupyter library module notebook package script sdk",
    "glossary": "definition meaning terms",
    "gpu": "amd card cuda graphics hardware metal mps nvidia rocm vram",
    "http|api/v1": "backend csharp curl embed frontend golang javascript js language nodejs php remote rest ruby "
    "rust typescript web webhook",
    "import|manuscript": "book draft existing finish input read unfinished upload written",
    "install": "chromebook hardware linux macos pc prerequisites requirements setup ubuntu windows wsl",
    "interrupt|resume|killed|lost journal": "cache continue crashes died halfway lose lost outage reboot recovery "
    "shutdown",
    "interval|signific|power": "ci test confidence enough many power pvalue sample significance significant size "
    "statistically",
    "journal|versions": "backup git history log",
    "judge|rank|better|compare": "best preferred quality score stronger superior versus vs winner wins worse",
    "language|german": "chinese italian japanese multilingual spanish translation",
    "learn": "adapt imitate mimic my taste writer",
    "length|longer|shorter|words": "brief count cut expand extend long pages short size trim",
    "long stories|novel": "book epic novella saga series",
    "mcp": "agent assistant claude copilot cursor tool",
    "measur|repetit": "boring cliches count metrics phrases repeats repetitive statistics",
    "memory|disk|laptop": "computer drive gigabytes hardware machine minimum ram requirements space specs storage",
    "model": "ai bot chatgpt claude gemini gpt llama llm mistral",
    "network|offline|telemetry": "airplane internet local online wifi",
    "ollama|vllm|own server": "endpoint gguf huggingface llama lmstudio localhost mistral qwen",
    "orders? of time|timeline|pictures of time": "calendar chronological dates flashback",
    "own (?:agent|evaluator|metric|model|system)|of my own|plug-in": "addon custom extend plugin subclass",
    "paragraph|passage": "bit lines sentences snippet",
    "parallel": "batch concurrency faster simultaneously speed",
    "people rate|human eval|study": "annotators crowd mturk participants prolific questionnaire raters readers "
    "survey user",
    "pin|stop it from|never rewrit": "clobber destroy freeze keep lock lose overwritten preserve protect ruin safe "
    "unchanged untouched touch",
    "plan": "beats outline plot storyboard structure",
    "privacy|sent to": "cloud collect confidentiality gdpr leak private secret share spy steal track uploaded",
    "prompt": "instructions templates",
    "remember": "context forget memory window",
    "report an error": "broken bugs contact crash help issue support traceback",
    "reproduc|seed|replay": "deterministic different random repeatable replicate same",
    "retake|rewrit": "again another better different overwrite redo regenerate replace reroll variation",
    "role": "agents job",
    "safe|trust": "danger malicious malware security stranger trust untrusted virus",
    "scene": "episode moment part",
    "screenplay|script with|fountain": "film movie play stage theatre tv",
    "settings|fabula.toml": "config defaults options preferences variables",
    "slow|speed|how long|timeout": "duration faster forever hangs hours minutes performance quick stuck time wait",
    "small models": "cheap garbage local nonsense quality tiny weak",
    "studio|browser": "app buttons desktop graphical gui interface mobile mouse phone ui visual website",
    "style|voice|tense": "author dialogue humour mood narrator pov robotic sound tone",
    "system|algorithm": "approach architecture method pipeline technique workflow",
    "talk|chat": "conversation interview roleplay speak",
    "test (?:my|it)": "mock stub unit",
    "trust the judge|believe": "accurate reliability reliable validity",
    "undo|restore": "back earlier mistake previous revert rollback yesterday",
    "uninstall|delet": "clean delete erase forget remove rid wipe",
    "which files": "layout structure",
    "who know|witness|world": "believes canon knowledge lore memory remembers secret track worldbuilding",
}
_ROWS: Final = [
    (re.compile(rf"(?<![\w/-])(?:{docs})", re.IGNORECASE), frozenset(readers.split()))
    for docs, readers in SYNONYMS.items()
]
_HYPHENATED: Final = re.compile(r"(?<![\w-])[a-z]+(?:-[a-z]+)+(?![\w-])")
_TAG: Final = re.compile(r"<[^>]*>")


def on_post_build(config: MkDocsConfig) -> None:
    """Add the words of readers to the index that the search plug-in has made."""
    file = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(file.read_text(encoding="utf-8"))
    index["config"]["fields"] = {field: {"boost": weight} for field, weight in WEIGHTS.items()}
    index["docs"] = list(known_by(index["docs"]))
    file.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def known_by(sections: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Sections of an index with the words of readers for what their headings are about."""
    for section in sections:
        yield section | {"also": readers(_TAG.sub("", section["title"]))}


def readers(text: str) -> str:
    """The words by which readers call what a heading is about."""
    joined = {word.replace("-", "") for word in _HYPHENATED.findall(text.lower())}  # readers write "plugin", too
    return " ".join(sorted(joined.union(*(words for docs, words in _ROWS if docs.search(text)))))
