"""Write a story from Python, change a character sheet, and see that only what depends on it is written again.

    python examples/write_from_python.py

A script stands in for the model here, so the example needs none; put `model="smollm2"` in its place for a real one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import fabula

HERE = Path(__file__).parent
MODEL = f"scripted:{HERE / 'scripts' / 'room.toml'}"


def main(folder: Path) -> list[str]:
    """Paths of the calls that a changed character sheet costs."""
    brief = "A keeper's lamp is to be switched off. It ends with hope."
    story = fabula.write(brief, folder=folder, model=MODEL, system="agents-room", config={"final_reading": False})
    print(f"{story.words} words in {len(story.scenes)} parts; it begins: {story.text[:60]}...")

    characters = folder / "plan" / "characters.md"
    characters.write_text(characters.read_text(encoding="utf-8") + "* Mara is afraid of the dark.\n", encoding="utf-8")

    expected = fabula.dry_run(folder)
    print(f"Changed: {', '.join(one.file for one in expected.changed)}")
    print(f"To be asked again: {len(expected.calls)} calls, {expected.replayed} come from the journal.")

    fabula.write(folder)
    return [call.path for call in expected.calls]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "story")
