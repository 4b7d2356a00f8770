"use strict";
// Starts `tirx-lsp`, the language server of tirx, for MLIR files.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("tirx").get("server.command");
  const documentSelector = ["file", "untitled"].map((scheme) => ({ scheme, language: "mlir" }));
  client = new LanguageClient("tirx", "tirx", { command, args }, { documentSelector });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const how = "Install it with pip install 'tirx-compiler[lsp]', or set tirx.server.command.";
    vscode.window.showErrorMessage(`${command} does not start: ${error.message}. ${how}`);
  }
}

async function stop() {
  await client?.stop();
  client = undefined;
}

async function restart() {
  await stop();
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("tirx.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("tirx.server") && restart()),
  );
  return start();
};

exports.deactivate = stop;
