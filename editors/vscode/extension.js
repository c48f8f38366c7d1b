// Starts `fabula lsp`, shows its suggestions as a list, and saves a text before something is suggested for it.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** The number of the suggestion that the author picks; null for none. */
async function choose({ texts }) {
  const items = texts.map((text, number) => ({ label: `${number + 1}`, detail: text, number }));
  const picked = await vscode.window.showQuickPick(items, { title: "Suggestions", matchOnDetail: true });
  return picked ? picked.number : null;
}

/** Ask for suggestions for the selection, or for what follows the cursor. */
function suggest(kind, amount, count) {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const range = client.code2ProtocolConverter.asRange(editor.selection);
  return vscode.commands.executeCommand("fabula.suggest", editor.document.uri.toString(), range, kind, amount, count, "");
}

async function activate(context) {
  const [command, ...args] = vscode.workspace.getConfiguration("fabula").get("command");
  client = new LanguageClient("fabula", "fabula", { command, args }, {
    documentSelector: ["markdown", "plaintext", "fountain"].map((language) => ({ scheme: "file", language })),
    initializationOptions: { chooses: true },
    middleware: {
      executeCommand: async (name, given, next) => {
        const open = vscode.workspace.textDocuments.find((one) => name === "fabula.suggest" && one.uri.toString() === given[0]);
        if (open && open.isDirty) await open.save();
        return next(name, given);
      },
    },
  });
  client.onRequest("fabula/choose", choose);
  context.subscriptions.push(
    vscode.commands.registerCommand("fabula.continueHere", () => suggest("continue", "sentence", 1)),
    vscode.commands.registerCommand("fabula.rewordSelection", () => suggest("reword", "sentence", 3)),
  );
  await client.start();
}

exports.activate = activate;
exports.deactivate = () => client && client.stop();
