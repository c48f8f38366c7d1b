"""What one version of a text has and the next one lacks."""

from __future__ import annotations

from fabula.engine.replies.loops import words_of
from fabula.story.sentences import sentences


def left_out(before: str, after: str) -> list[str]:
    """The sentences of `before` that `after` does not have, as often as they are missing.

    Only words count, not the marks around them, nor a name with a colon before a speech.
    """
    left = f" {' '.join(words_of(after))} "
    missing: list[str] = []
    for sentence in sentences(before):
        for said in (sentence, sentence.partition(":")[2]):
            words = f" {' '.join(words_of(said))} "
            if words.strip() and words in left:
                left = left.replace(words, " \n ", 1)
                break
        else:
            if words_of(sentence):
                missing.append(sentence)
    return missing
