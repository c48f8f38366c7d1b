"""A graph as GraphML or a Mermaid diagram; whatever is in a name, the output is well-formed."""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.story.world.graph import Edge, Graph, Node

MAX_DRAWN: Final = 60
_LABEL: Final = 60
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_TURNING: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ATTRIBUTES: Final = ("value", "scene", "modality", "source", "denied")
_TYPES: Final = {"scene": "int", "denied": "boolean"}


def graphml(graph: Graph) -> str:
    """The graph as GraphML, as Gephi, yEd and networkx read it; a value is in the form that JSON gives it."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'  <key id="{name}" for="node" attr.name="{name}" attr.type="string"/>' for name in ("kind", "label")]
    lines.append('  <key id="relation" for="edge" attr.name="relation" attr.type="string"/>')
    lines += [
        f'  <key id="{name}" for="all" attr.name="{name}" attr.type="{_TYPES.get(name, "string")}"/>'
        for name in _ATTRIBUTES
    ]
    lines.append('  <graph id="world" edgedefault="directed">')
    for node in graph.nodes:
        data = _data({"kind": node.kind, "label": node.label}, node.attributes)
        lines.append(f'    <node id="{_xml(node.id)}">{data}</node>')
    for number, edge in enumerate(graph.edges):
        data = _data({"relation": edge.relation}, edge.attributes)
        ends = f'source="{_xml(edge.source)}" target="{_xml(edge.target)}"'
        lines.append(f'    <edge id="e{number}" {ends}>{data}</edge>')
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _data(own: Mapping[str, str], attributes: Mapping[str, Any]) -> str:
    pairs = [(name, text) for name, text in own.items()]
    pairs += [(name, _plain(name, attributes[name])) for name in _ATTRIBUTES if name in attributes]
    return "".join(f'<data key="{name}">{_xml(text)}</data>' for name, text in pairs)


def _plain(name: str, value: object) -> str:
    if name == "value":
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml(text: str) -> str:
    """`text` as XML may hold it: control characters become U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text))


def mermaid(graph: Graph, most: int = MAX_DRAWN) -> str:
    """The graph as a Mermaid flowchart of at most `most` edges; a comment says how many were left out.

    The world itself and its edges to what it contains are left out first: they say nothing to a reader.
    """
    edges = [edge for edge in graph.edges if edge.relation != "contains"]
    drawn, nodes = edges[:most], {node.id: node for node in graph.nodes}
    used = dict.fromkeys(number for edge in drawn for number in (edge.source, edge.target))
    if not drawn:
        used = dict.fromkeys([node.id for node in graph.nodes][:most])
    names = {number: f"n{count}" for count, number in enumerate(used)}
    lines = ["flowchart LR", *(f"  {names[number]}{_shape(nodes[number])}" for number in used)]
    lines += [f"  {names[e.source]} -->|{_quoted(_relation(e))}| {names[e.target]}" for e in drawn]
    if len(edges) > most:
        lines.append(f"  %% {len(edges) - most} more edges are left out")
    return "\n".join([*lines, ""])


def _relation(edge: Edge) -> str:
    return f"not {edge.relation}" if edge.attributes.get("denied") else edge.relation


def _shape(node: Node) -> str:
    if node.kind != "state":
        return f"({_quoted(node.label)})"
    value = node.attributes.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"[{_quoted(f'{node.label}: {text}')}]"


def _quoted(text: str) -> str:
    """A label in quotes; all but letters, digits and harmless marks stand as numbers, which Mermaid shows as signs."""
    line = " ".join(_TURNING.sub("", _NOT_XML.sub("\ufffd", text)).split())
    short = line if len(line) <= _LABEL else line[: _LABEL - 1] + "…"
    return '"' + "".join(_signs(short)) + '"'


def _signs(text: str) -> Iterator[str]:
    for sign in text or " ":
        yield sign if sign.isalnum() or sign in " .,_-…" else f"#{ord(sign)};"
