"""Two stories, judged; one of them checked; and a line to its character. FABULA_MODEL names a model, or model= does."""

import fabula


def heard(event: fabula.events.Event) -> None:
    """Show the words as they come, and what is finished."""
    if isinstance(event, fabula.events.TextArrived):
        print(event.text, end="", flush=True)
    elif isinstance(event, fabula.events.Kept):
        print(f"\n[{event.folder}: {event.path}]")


brief = "Write a story of about 150 words about Mara, who keeps a lighthouse, and Tobias, who brings her a letter."
once, twice = (fabula.write(brief, name, system=name, on_event=heard) for name in ("end-to-end", "reviewed-draft"))
print(f"{once.words} and {twice.words} words, by {twice.model}. The better one: {fabula.judge(once, twice).better}")
for finding in fabula.check(twice).findings:
    print(f'"{finding["quote_x"]}" against "{finding["quote_y"]}"')
print("Mara:", fabula.chat(twice, "Mara", system="vanilla").say("What does the letter say?"))
