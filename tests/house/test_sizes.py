"""The one number of the house: a function can be read in one go."""

from __future__ import annotations

import ast

from tree import Module, length, modules

MOST = 80
REASON = "# long because "


def test_a_function_of_more_than_80_lines_says_why() -> None:
    found = [
        name
        for module in modules()
        for name, function in module.functions()
        if length(function) > MOST
        and REASON not in "\n".join(module.text.splitlines()[function.lineno - 1 : function.end_lineno])
    ]
    assert not found


def test_the_bound_sees_methods_and_inner_functions() -> None:
    text = "class A:\n    async def m(self, a, *, b, **c):\n        def inner(): pass\n        return inner\n"
    found = dict(Module("x", modules()[0].path, text, ast.parse(text)).functions())
    assert set(found) == {"x.A.m", "x.A.m.inner"}
    assert length(found["x.A.m"]) == 3
