"""Sentences and paragraphs of prose, aware of dialogue.

The work is done in `fabula.replies.sentences`: reading replies needs it too, and stands below this layer.
"""

from __future__ import annotations

from fabula.replies.sentences import ends_whole, paragraph_spans, paragraphs, sentences, spans

__all__ = ["ends_whole", "paragraph_spans", "paragraphs", "sentences", "spans"]
