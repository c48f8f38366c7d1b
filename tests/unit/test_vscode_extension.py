"""The extension for Visual Studio Code, in Node with stand-ins for the editor and its client of language servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
DRIVER = """
const Module = require("module"), did = [], commands = {}, original = Module._load;
const text = { isDirty: true, uri: { toString: () => "file:///a.md" }, save: async () => did.push("saved") };
class LanguageClient {
  constructor(id, name, server, client) { Object.assign(this, { server, client }); }
  code2ProtocolConverter = { asRange: (one) => one };
  onRequest(name, answer) { this.choose = answer; did.push(name); }
  async start() { did.push(this.server.command, ...this.server.args); made = this; }
  stop() { did.push("stopped"); }
}
let made;
const vscode = {
  window: { activeTextEditor: { selection: "chosen", document: text }, showQuickPick: async (items) => items[1] },
  workspace: { textDocuments: [text], getConfiguration: () => ({ get: () => setting.default }) },
  commands: {
    registerCommand: (name, does) => { commands[name] = does; },
    executeCommand: (name, ...given) => made.client.middleware.executeCommand(name, given, (...sent) => did.push(sent)),
  },
};
const stand = { vscode, "vscode-languageclient/node": { LanguageClient } };
Module._load = (name, ...rest) => stand[name] ?? original(name, ...rest);
const manifest = require(process.argv[1] + "/package.json"), extension = require(process.argv[1] + "/extension.js");
const setting = manifest.contributes.configuration.properties["fabula.command"];
(async () => {
  await extension.activate({ subscriptions: [] });
  for (const { command } of manifest.contributes.commands) await commands[command]();
  did.push(await made.choose({ texts: ["a", "b"] }));
  extension.deactivate();
  console.log(JSON.stringify(did));
})();
"""


def test_its_commands_keys_and_program_belong_together() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    commands = {one["command"] for one in manifest["contributes"]["commands"]}
    assert {one["command"] for one in manifest["contributes"]["keybindings"]} == commands
    setting = manifest["contributes"]["configuration"]["properties"]["fabula.command"]
    assert setting["scope"] == "machine", "a folder from somebody else may not say which program runs"
    assert (EXTENSION / "LICENSE").read_bytes() == (EXTENSION.parents[1] / "LICENSE").read_bytes()


@pytest.mark.skipif(shutil.which("node") is None, reason="There is no Node here.")
def test_it_starts_the_server_saves_the_text_and_shows_what_can_be_chosen() -> None:
    ran = subprocess.run(
        [shutil.which("node") or "", "-e", DRIVER, str(EXTENSION)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    asked = [
        ["fabula.suggest", ["file:///a.md", "chosen", *more, ""]]
        for more in (("continue", "sentence", 1), ("reword", "sentence", 3))
    ]
    expected = ["fabula/choose", "fabula", "lsp", "saved", asked[0], "saved", asked[1], 1, "stopped"]
    assert json.loads(ran.stdout) == expected
