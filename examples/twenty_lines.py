"""Two stories, judged; one of them checked; and a line to its character. FABULA_MODEL names a model, or model= does."""

import fabula


def heard(event: fabula.events.Event) -> None:
    """Show who is asked, and the words as they come."""
    if isinstance(event, fabula.events.CallStarted):
        print(f"\n[{event.role}: {event.path}]")
    elif isinstance(event, fabula.events.TextArrived):
        print(event.text, end="", flush=True)


brief = "Write a story of about 150 words about Mara, who keeps a lighthouse, and Tobias, who brings her a letter."
once, twice = (fabula.write(brief, name, system=name, on_event=heard) for name in ("end-to-end", "chosen-draft"))
better = fabula.judge(once, twice, on_event=heard).better
print(f"\n{once.words} and {twice.words} words, by {twice.model}. The better one: {better}")
for finding in fabula.check(twice, on_event=heard).findings:
    print(f'"{finding["quote_x"]}" against "{finding["quote_y"]}"')
print("\nMara:", fabula.chat(twice, "Mara", system="vanilla", on_event=heard).say("What does the letter say?"))
