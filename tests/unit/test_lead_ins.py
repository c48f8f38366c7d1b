"""What models say before a text in its new version goes, also without aids; what belongs to a story stays."""

from __future__ import annotations

import pytest

from fabula.engine.replies import clean_prose

BODY = "The lamp was dark when Mara came home. Nobody had climbed the stairs in a week.\n\nShe went up and lit it."
LEADS = (
    "Here is the revised text:",
    "Here's the revised text:",
    "Here is the revised version:",
    "Here is the revised passage:",
    "Here is your revised scene:",
    "Here is the rewritten text:",
    "Here's a revised draft:",
    "Here is the text, revised as you asked:",
    "Here is the edited text:",
    "Here is the updated text:",
    "Here's the updated version of the scene:",
    "Here is the corrected text:",
    "Here is the shortened text:",
    "Here's the polished text:",
    "Here is the final text:",
    "Here is the full revised text:",
    "Here is the complete text:",
    "Below is the revised text:",
    "Below is the revised piece:",
    "Below you will find the revised text:",
    "Sure! Here is the revised text:",
    "Certainly! Here's the revised text with the changes:",
    "Of course. Here is the new text:",
    "Okay, here's the rewritten text:",
    "Revised text:",
    "Revised version:",
    "**Revised text:**",
    "**Revised Version**",
    "### Revised Text",
    "## Revised version",
    "Rewritten text:",
    "Updated text:",
    "New version:",
    "Final version:",
    "Edited text:",
    "The revised text:",
    "The revised text is as follows:",
    "The revised text reads as follows:",
    "The following is the revised text:",
    "This is the revised text:",
    "I have revised the text as requested:",
    "I've revised the text to make it darker:",
    "I've rewritten the passage as follows:",
    "Understood. Here is the revised text:",
    "Absolutely! Here is the darker text:",
    "Here it is, revised:",
    "Here is the revised text without the dog:",
    "Here is the revised text, with the storm moved to the morning:",
    "Revised:",
)
OF_A_STORY = (
    "Here is the lamp:",
    "Here is the text of the letter that she found in the drawer:",
    "Here is what the letter said:",
    "Here is the note he left:",
    "This is the text on the stone:",
    "I have written to the harbour master as follows:",
    "He read the text aloud:",
    "The letter reads as follows:",
    "I have revised my opinion of him:",
    "The final version of the truth was shorter:",
    "Revised orders came at dawn:",
    "New orders:",
    "The list on the door:",
    "Here are the names of the drowned:",
    "Here is the chart he drew:",
    "The revised timetable hung by the door:",
    "Sure, here is the key:",
    "Here is my text of the treaty, he said:",
    "This is the piece of the wreck she kept:",
    "I've changed, she wrote:",
    "The following is all that I remember of that night:",
    "Below is the harbour:",
    "The text of the telegram:",
    "The corrected proofs lay on the desk:",
    "I have rewritten the will, he said:",
    "Here is the final letter:",
)


def without(lead: str) -> str:
    return clean_prose(f"{lead}\n\n{BODY}", labels=(), last=True, aids=False).text


@pytest.mark.parametrize("lead", LEADS)
def test_an_announcement_of_the_new_version_goes(lead: str) -> None:
    assert without(lead) == BODY


@pytest.mark.parametrize("lead", OF_A_STORY)
def test_a_first_line_of_a_story_stays(lead: str) -> None:
    assert without(lead).startswith(lead)
