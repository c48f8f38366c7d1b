"""What is taken out of story prose and notes, and what is left alone."""

# ruff: noqa: RUF001 - letters of other scripts are what is tested

from __future__ import annotations

import random

import pytest

from fabula.engine.replies import Cleaned, TextKind, clean_prose

LABELS = ("Exposition", "Rising Action", "Climax", "Setting", "Creative Writing Task")
STORY = (
    "Maren climbed the stairs of the tower with the oil can in her hand.\n\n"
    '"Sure, I will come," said Tor, but he stayed where he was. "Here is the story of my life."\n\n'
    "The lamp blinked twice, and far out on the water something blinked back."
)


def clean(text: str, *, last: bool = False, finish: str = "stop") -> Cleaned:
    return clean_prose(text, labels=LABELS, last=last, finish=finish, aids=True)


def kinds(cleaned: Cleaned) -> list[str]:
    return [dropped.kind for dropped in cleaned.dropped]


def test_ordinary_prose_comes_back_as_it_was() -> None:
    assert clean(STORY) == Cleaned(STORY, ())


@pytest.mark.parametrize(
    "text",
    [
        '"Sure, here is the story you wanted," said the clerk. He slid the file across.',
        "Sure, I had known him for years. He never paid.",
        "Certainly the sea was calm that day. Nobody drowned.",
        "Here is where he fell. The grass still lies flat.",
        "I hope she comes back. I hope it every night.",
        "Let me tell you about my brother. He was never on time.",
        "Note by note the song came back to her. She sang it.",
        "The end of the road lay in fog. He walked on.",
        "Setting the cup down, she sighed. It was late.",
        "This story begins with a fish. It was a large one.",
        "He wrote one word: Climax. She laughed at it.",
        '"No. No. No. No," he said. "No."',
        "Title deeds lay on the desk. None bore his name.",
        "A thousand words would not do. She said three.",
        'She read the letter. "Let me know if you come. Please."',
        "I ran. I ran and I did not look back. I ran until the road ended. Then I walked.",
    ],
)
def test_story_sentences_that_look_like_chatter_stay(text: str) -> None:
    assert clean(text, last=True).text == text


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ("Sure, here is the exposition of the story:\n\n", "chatter"),
        ("Certainly! Here's the rising action:\n\n", "chatter"),
        ("Certainly!\n\n", "chatter"),
        ("Of course! I'd be happy to continue the story.\n\n", "chatter"),
        ("Here is a continuation of the story, in the same style:\n", "chatter"),
        ("I'll continue this narrative from the previous section. ", "chatter"),
        ("Based on the scratchpad, I wrote this.\n\n", "chatter"),
        ("In this section, we meet the keeper.\n\n", "chatter"),
        ("The story is a poignant reminder of the power of light.\n\n", "chatter"),
        ("The story unfolds like a dream.\n\n", "chatter"),
        ("---\n\n", "chatter"),
        ("[Exposition]\n\n", "label"),
        ("[Exposition] ", "label"),
        ("**Exposition**\n\n", "label"),
        ("**Exposition:** ", "label"),
        ("## Rising Action\n\n", "label"),
        ("Exposition:\n", "label"),
        ("Climax: ", "label"),
        ("The rising action began: ", "label"),
        ("Part 1: Exposition\n\n", "label"),
        ("### The Rising Action Part\n", "label"),
        ("Title: The Lamp\n\n", "label"),
        ("# The Lamp\n\n", "label"),
        ("<<The Lamp That Answered>>\n\n", "label"),
        ("The Lamp That Answered\n\n", "label"),
        ("Chapter 2: The Tower\n\n", "label"),
        ("[Characters]\n\n", "label"),
        ("<|im_start|>assistant\n", "markup"),
        ("<think>I should write.\n\nYes.</think>\n", "markup"),
        ("Assistant: ", "markup"),
        ("```text\n", "markup"),
    ],
)
def test_what_stands_before_the_prose_goes(before: str, kind: str) -> None:
    cleaned = clean(before + STORY)
    assert cleaned.text == STORY
    assert kind in kinds(cleaned)


@pytest.mark.parametrize(
    "after",
    [
        "\n\nI hope this section meets your requirements!",
        "\n\nI hope you enjoyed the story. Let me know if you would like any changes.",
        "\n\nLet me know what you think!",
        "\n\n(Word count: 312)",
        "\n\n**Word Count:** 312",
        "\n\n312 words",
        "\n\nNote: I kept the tone of the earlier parts.",
        "\n\n*Note: This part has 312 words.*",
        "\n\n---\n\nWould you like me to write the climax?",
        "\n\n[End of Exposition]",
        "\n\nThe story ends with a hopeful note.",
        "\n\nThe End.",
        "\n\nTHE END",
        "\n\n**The End**",
        " The End.",
        "\n\nFin.",
        "<|im_end|>",
        "<|im_end|>\n<|im_start|>user\nWrite more.",
        "\n\n### Human: Write more.",
        "\n```",
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_what_stands_after_the_prose_goes(after: str, last: bool) -> None:  # noqa: FBT001 - a parameter of the test
    cleaned = clean(STORY + after, last=last)
    assert cleaned.text == STORY
    assert len(cleaned.dropped) > 0


def test_the_end_in_the_middle_is_taken_out_or_ends_the_story() -> None:
    text = STORY + "\n\nThe End.\n\nIn the morning the boat was gone."
    assert clean(text).text.endswith("the boat was gone.")
    assert "The End" not in clean(text).text
    assert clean(text, last=True).text == STORY


def test_quotation_marks_around_the_whole_go_but_a_speech_keeps_its_own() -> None:
    whole = "The lamp turned. The sea rose. Nobody came that night."
    assert clean(f'"{whole}"').text == whole
    assert clean('"Come here."').text == '"Come here."'


def test_echoes_of_the_prompt_go() -> None:
    brief = "Write a story about a keeper called Maren whose light begins to answer her in the cold northern winter."
    earlier = "Tor rowed the last mile against the tide, with the letters dry under his coat and no light to steer by."
    text = f"[Creative Writing Task] {brief}\n\n{earlier} The oars were heavy.\n\n{earlier}\n\n{STORY}"
    cleaned = clean_prose(text, labels=LABELS, last=False, echo=[brief, earlier], aids=True)
    assert cleaned.text == "The oars were heavy.\n\n" + STORY
    assert kinds(cleaned).count("echo") == 3


def test_short_sentences_of_the_instruction_go_together_and_others_stay() -> None:
    told = "Now these events follow. Tell each of them, in this order, as it happens: what people do, say and see."
    text = f"Mara went down. Now these events follow. Tell each of them, in this order: 1. {STORY} Now these follow."
    cleaned = clean_prose(text, labels=LABELS, last=True, echo=[told], aids=True)
    assert cleaned.text == f"Mara went down. {STORY} Now these follow."
    assert kinds(cleaned) == ["echo", "echo"]


def test_a_sentence_that_the_brief_asks_for_stays() -> None:
    wished = "It was the best of lamps, and it was the worst of lamps, and it went out."
    brief = f'Write a story about a lamp. The story should begin with: "{wished}" Make it funny.'
    cleaned = clean_prose(f"{wished}\n\n{STORY}", labels=LABELS, last=False, echo=[brief], aids=True)
    assert cleaned.text == f"{wished}\n\n{STORY}"


FRESH = (
    "Odile opened the oven before dawn, as her mother had done. The mayor was the first at the door, and he took the "
    "smallest loaf. By noon three couples had parted and one had met."
)


@pytest.mark.parametrize(
    "loop",
    [
        "The robot laughed again. The child smiled again. " * 12,
        "I am not sure that I am ready to leave this town. " * 8,
        "and on " * 60,
        "ha" * 60,
        "No! " * 40,
        "".join(f"The old lamp in the tower shone {n} on the quiet water. " for n in ("red", "blue", "low") * 6),
        "".join(f"The day after that, the baker sold {n} loaves to the mayor.\n\n" for n in range(12)),
    ],
)
def test_loops_are_cut_where_they_begin(loop: str) -> None:
    cleaned = clean(f"{FRESH}\n\n{loop}")
    assert cleaned.text.startswith(FRESH)
    assert len(cleaned.text) <= len(FRESH) + 0.45 * len(loop)
    assert "loop" in kinds(cleaned)


def test_a_paragraph_told_again_with_small_changes_is_a_loop() -> None:
    again = FRESH.replace("three couples", "four couples").replace("smallest", "largest")
    assert clean(f"{FRESH}\n\n{again}\n\n{again}\n\n{FRESH}").text == FRESH


def test_one_long_sentence_told_twice_is_dropped_and_the_rest_stays() -> None:
    twice = "The mayor was the first at the door, and he took the smallest loaf of them all."
    rest = (
        "He ate it on the steps with his eyes shut. Then he told the priest what he had done with the money for the "
        "bells, and the priest told him what had become of the candles, and neither of them went home before dark."
    )
    cleaned = clean(f"It rained. {twice} {rest} {twice} {STORY}")
    assert cleaned.text == f"It rained. {twice} {rest} {STORY}"
    assert kinds(cleaned) == ["repeat"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The lamp turned. She looked out over the", "The lamp turned."),
        ('He stood up. "Come with me. We have no', 'He stood up. "Come with me."'),
        ("He stood up. “Come with me. We have no", "He stood up. “Come with me.”"),
        ("She went to see Mr.", ""),
        ("The lamp turned. She smiled and said:", "The lamp turned."),
        ("no end at all", ""),
    ],
)
def test_half_sentences_are_cut_and_open_quotations_closed(text: str, kept: str) -> None:
    cleaned = clean(text, finish="length")
    assert cleaned.text == kept


def test_a_reply_cut_by_length_on_a_whole_sentence_loses_nothing() -> None:
    assert clean(STORY, finish="length") == Cleaned(STORY, ())


NOTES = (
    "* **Maren**: keeper of the light, stubborn, talks to gulls\n* **Tor**: fisherman\n\n"
    "## Fears\n\n- the dark\n- The story ends with her fear of letters."
)


def test_notes_keep_bullets_headings_and_remarks_about_the_story() -> None:
    cleaned = clean_prose(f"Here are the characters:\n\n{NOTES}", labels=LABELS, last=True, kind="notes", aids=True)
    assert cleaned.text == NOTES


def test_notes_cut_off_lose_the_entry_that_was_begun() -> None:
    cleaned = clean_prose(
        f"[Setting]\n{NOTES}\n- She is afr", labels=LABELS, last=True, kind="notes", finish="length", aids=True
    )
    assert cleaned.text == NOTES


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a ",
        ". ",
        '"',
        '"Yes." ',
        "\n",
        "- \n",
        "# ",
        "[",
        "<|im_end|>",
        "Sure, ",
        "**",
        "<<",
        "ab\n\n",
        "Human: ",
        "<think>",
    ],
)
def test_hostile_text_does_not_hang(piece: str) -> None:
    cleaned = clean_prose(piece * (200_000 // len(piece)), labels=LABELS, last=False, echo=[piece * 1000], aids=True)
    assert len(cleaned.text) <= 200_000  # with quadratic work the test would not come to its end


def test_long_prose_without_repeats_is_left_whole() -> None:
    rng = random.Random(5)  # noqa: S311 - reproducible prose, no secret
    words = [f"w{n}" for n in range(4000)]
    text = " ".join(f"{' '.join(rng.choices(words, k=12)).capitalize()}." for _ in range(3000))
    assert clean(text).text == text


def test_remarks_on_the_story_are_taken_out_of_the_middle_where_there_are_several() -> None:
    shown = "Mara lit the lamp. {} The boat was late. {} She waited."
    remarks = ("The story features a girl named Elara.", "The next sentence adds a new twist to it.")
    cleaned = clean_prose(shown.format(*remarks), labels=(), last=False, aids=True)
    assert cleaned.text == "Mara lit the lamp. The boat was late. She waited."
    assert [dropped.text for dropped in cleaned.dropped] == list(remarks)


def test_one_sentence_about_a_story_or_a_character_who_speaks_of_stories_stays() -> None:
    text = "Mara lit the lamp. The story ended there, and the boy slept."
    text += ' "The story ends badly," she said. "The next part is worse."'
    assert clean_prose(text, labels=(), last=False, aids=True).text == text


# replies of capable models --------------------------------------------------------------------------------------------

LITERARY = (
    "The story began with a lamp.\n\n"
    "You climb the stairs. You do not count them. The sea does not answer.\n\n"
    "Yes. You said yes. You always say yes.\n\n"
    "- bread\n- oil\n- a letter for Tor\n\n"
    "Is it late?\n\nIt is late.\n\nThen come down.\n\nNot yet.\n\n"
    "Dear Tor,\n\nLet me know if you come. I hope you find it.\n\nMara\n\n"
    "The sea does not answer. "
    "You climb the stairs, and you do not count them, because nobody has ever counted them.\n\n"
    "You climb the stairs, and you do not count them, because nobody has ever counted them. "
    "The sea does not answer.\n\n"
    "Climax: that was his word for it. Human: that was hers.\n\n"
    "[Here the page is torn]\n\n**NO LANDING**\n\n## II\n\n"
    "The Lamp That Answered\n\n"
    "The End.\n\nOr so you thought, and the story ends with you on the stairs and no\n\n*"
)


@pytest.mark.parametrize("kind", ["prose", "notes"])
@pytest.mark.parametrize("last", [False, True])
def test_without_aids_a_literary_text_loses_nothing(last: bool, kind: TextKind) -> None:  # noqa: FBT001 - a parameter of the test
    echo = ["You climb the stairs, and you do not count them, because nobody has ever counted them."]
    cleaned = clean_prose(LITERARY, labels=LABELS, last=last, echo=echo, kind=kind, aids=False)
    assert cleaned == Cleaned(LITERARY, ())
    assert clean_prose(LITERARY, labels=LABELS, last=last, echo=echo, aids=True).text != LITERARY


@pytest.mark.parametrize(
    "text",
    [
        "This is the story of my brother. He was never on time.",
        "I have tried to write this story for years. Let me begin the story with the boat.",
        "Certainly the sea was calm. As you asked, I went.",
        "Sure.\n\nThat was all he ever said.",
        '"The lamp is lit. The boats are in. Go home."',
        "AI: Are you there?\n\nHuman: I am here.",
        "She wrote one line below the drawing.\n\nThank you for reading.",
        "The last letter was short.\n\nWould you like me to stay?\n\nMara",
        "He counted them.\n\nThe End",
    ],
)
def test_without_aids_what_might_be_story_stays(text: str) -> None:
    assert clean_prose(text, labels=LABELS, last=True, aids=False).text == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Sure! Here is the exposition of the story:\n\n", ""),
        ("Certainly!\n\n---\n\n", ""),
        ("Of course! I'd be happy to continue the story.\n\n", "\n\n---\n\nWould you like me to continue the story?"),
        ("Here's the continuation of the story:\n\n# The Lamp\n\n", "\n\n(Word count: 312)"),
        ("**The Lamp That Answered**\n\n", "\n\n*Note: I kept the tone of the earlier parts.*"),
        ("[Exposition] ", "\n\nI hope you enjoyed this story! Let me know what you think."),
        ("## Exposition\n\n", "\n\n[End of Exposition]"),
        ("<think>I should write.</think>\n\n", "<|im_end|>\n<|im_start|>user\nMore."),
        ("```text\n", "\n```"),
        ("", "\n\nLet me know if you would like any changes.\n\nThank you for reading."),
    ],
)
def test_without_aids_chatter_labels_and_marks_of_chat_templates_go(before: str, after: str) -> None:
    cleaned = clean_prose(before + LITERARY + after, labels=LABELS, last=True, aids=False)
    assert cleaned.text == LITERARY
    assert cleaned.dropped


def test_without_aids_only_a_reply_that_was_cut_off_loses_its_half_sentence() -> None:
    text = "The lamp turned. She looked out over the"
    assert clean_prose(text, labels=(), last=True, aids=False).text == text
    assert clean_prose(text, labels=(), last=True, aids=False, finish="length").text == "The lamp turned."


@pytest.mark.parametrize("aids", [True, False])
@pytest.mark.parametrize(
    "preface",
    [
        "Sure! Here is the text you asked for:",
        "Here's the letter you requested:",
        "Certainly! Here is a revised version of your text.",
        "Here is the memory you asked for:",
    ],
)
def test_a_preface_goes_whatever_the_model(preface: str, aids: bool) -> None:  # noqa: FBT001 - a column of the table
    text = "The lamp is lit, and nobody comes. She counts the steps."
    cleaned = clean_prose(f"{preface}\n\n{text}", labels=(), last=True, aids=aids)
    assert cleaned.text == text
    assert " ".join(one.text for one in cleaned.dropped) == preface


@pytest.mark.parametrize(
    "text",
    [
        "Here is the letter you asked for, and it is the last that I shall write.",
        "The night is over.\n\n*",
        "*She coils the line.* Nobody speaks.\n\n* * *\n\nIn the morning the boat is gone.",
        "She said nothing for about as long as it takes to coil a line.",
        "Sure, here is the boat. Take it, and the letter with it.",
    ],
)
def test_a_capable_models_text_stays_as_it_is(text: str) -> None:
    assert clean_prose(text, labels=("Climax",), last=True, echo=[text], aids=False).text == text


BRIEF = "Write a story about Mara, who counts under her breath when she is afraid, and her friend 李雷."


def clean_for(text: str, brief: str = BRIEF, kind: TextKind = "prose") -> Cleaned:
    return clean_prose(text, labels=LABELS, last=True, echo=[brief], kind=kind, aids=True)


@pytest.mark.parametrize(
    ("other", "brief"),
    [
        ("She counts when her 她 is afraid.", BRIEF),
        ("Она считает про себя.", BRIEF),
        ("The lamp ランプ went off.", BRIEF),
        ("Die Lampe 灯 ging aus.", "Schreibe eine Geschichte über Mara, die den Leuchtturm hütet."),
        ("She counts the waves and says nothing.", "写一个关于玛拉的故事，她害怕时会数数。"),
    ],
)
def test_a_sentence_in_another_script_than_the_text_goes_and_is_recorded(other: str, brief: str) -> None:
    before, after = ("The wind rose over the cape.", "Tobias came up the stairs with bread.")
    if brief.startswith("写"):
        before, after = ("风在海角上呼啸着，灯塔里很安静。", "托比亚斯带着面包走上了楼梯。")
    cleaned = clean_for(f"{before} {other} {after}", brief)
    assert cleaned.text == f"{before} {after}"
    assert [(one.kind, one.text) for one in cleaned.dropped] == [("script", other)]


@pytest.mark.parametrize(
    "text",
    [
        "李雷 came up the stairs with bread. Mara counted the waves.",
        "The letter α stood over the door. Nobody knew why.",
        "Zoë and Łukasz had coffee at 5 °C, 3 µm from the edge. Señor Núñez laughed.",
        "玛拉看着DVD和OpenAI的标志。她什么也没说。",
        "Мара смотрела на лампу Philips. Она молчала.",
    ],
)
def test_names_of_the_brief_and_signs_in_another_script_stay(text: str) -> None:
    assert clean_for(text) == Cleaned(text, ())


def test_a_capable_model_may_have_a_person_speak_in_another_script() -> None:
    text = '"Спасибо," she said. The wind rose over the cape.'
    assert clean_prose(text, labels=LABELS, last=True, echo=[BRIEF], aids=False) == Cleaned(text, ())


def test_a_bold_name_before_speech_is_no_note_on_the_text() -> None:
    text = "**Mara:** I will not go.\n\n**Tobias:** Then I will stay, too."
    assert clean_for(text).text == text


def test_what_a_small_model_offers_behind_its_story_goes() -> None:
    story = "The piano was stuck. She turned around and took it down again."
    offer = (
        "I have written this text for you to help me refine my writing. I'm ready to help you refine your writing. "
        "I can assist with your creative writing tasks. Just share whatever's here. In my next response, I'll "
        "provide feedback. I'm here to help with any creative writing task you need. Feel free to share whatever you'd "
        "like to discuss. I'm ready when you are."
    )
    assert clean_for(f"{story} {offer}").text == story
    said = 'She sat down on the lid. "I am here to help," he said.'
    assert clean_for(said).text == said
