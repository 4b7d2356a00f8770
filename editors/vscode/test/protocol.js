"use strict";
// Activates the extension and speaks with the server that it starts, as VS Code does, about a file with an error.
//
//   node protocol.js FILE COMMAND [ARGUMENT ...]
//
// VS Code is replaced by what the extension asks of it, and the client by a connection of vscode-languageserver-protocol
// with the process that the extension describes. Prints what the server answers, as JSON.

const { spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const Module = require("node:module");
const { pathToFileURL } = require("node:url");
const protocol = require("vscode-languageserver-protocol/node");

const [file, ...command] = process.argv.slice(2);
const uri = pathToFileURL(file).href;
const text = readFileSync(file, "utf-8");
const said = { errors: [] };
const registered = {};

class Client {
  constructor(id, name, server, options) {
    Object.assign(this, { server, options });
  }

  async start() {
    this.process = spawn(this.server.command, this.server.args, { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((done, failed) => this.process.once("spawn", done).once("error", failed));
    const { stdout, stdin } = this.process;
    const connection = (this.connection = protocol.createProtocolConnection(stdout, stdin, null));
    const published = new Promise((done) => connection.onNotification("textDocument/publishDiagnostics", done));
    connection.listen();
    const { serverInfo } = await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    connection.sendNotification("initialized", {});
    const { language } = this.options.documentSelector.find((each) => uri.startsWith(`${each.scheme}:`));
    connection.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: language, version: 1, text } });
    const document = { textDocument: { uri } };
    const line = text.split("\n").findIndex((each) => each.includes("tirx.alloc"));
    said.server = serverInfo.name;
    said.diagnostics = (await published).diagnostics.map((each) => [each.range.start.line, each.message]);
    said.hover = (await connection.sendRequest("textDocument/hover", { ...document, position: { line, character: 3 } })).contents.value;
    said.symbols = (await connection.sendRequest("textDocument/documentSymbol", document)).map((each) => each.name);
  }

  async stop() {
    await this.connection.sendRequest("shutdown");
    const ended = new Promise((done) => this.process.once("exit", done));
    this.connection.sendNotification("exit");
    said.codes = [...(said.codes ?? []), await ended];
  }
}

const fakes = {
  vscode: {
    workspace: {
      getConfiguration: () => ({ get: () => command }),
      onDidChangeConfiguration: (listener) => (registered.changed = listener),
    },
    commands: { registerCommand: (name, run) => (registered[name] = run) },
    window: { showErrorMessage: (message) => said.errors.push(message) },
  },
  "vscode-languageclient/node": { LanguageClient: Client },
};
const load = Module._load;
Module._load = (name, ...rest) => fakes[name] ?? load(name, ...rest);

(async () => {
  const extension = require("../extension.js");
  const context = { subscriptions: [] };
  await extension.activate(context);
  said.subscriptions = context.subscriptions.length;
  if (!said.errors.length) await registered["tirx.restart"]();
  await extension.deactivate();
  console.log(JSON.stringify(said));
})();
