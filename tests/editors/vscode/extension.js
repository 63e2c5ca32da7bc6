// A client of Pilothouse as anyone would write it in twenty lines: no approvals, no views, no commands of its own.
const http = require("http");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

exports.activate = async () => {
  const ended = [];
  const client = new LanguageClient("pilothouse", "Pilothouse", JSON.parse(process.env.TEST_SERVER), {
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    middleware: {
      handleWorkDoneProgress: (token, value, next) => { if (value.kind === "end") ended.push(value.message ?? ""); next(token, value); },
    },
  });
  await client.start();
  // What a test does besides keys and clicks: one body of an async function a request.
  http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const run = new Function("vscode", "client", "ended", `return (async () => { ${body} })()`);
    const told = await run(vscode, client, ended).then((value) => ({ value }), (error) => ({ error: `${error?.message ?? error}` }));
    response.end(JSON.stringify(told));
  }).listen(Number(process.env.TEST_PORT), "127.0.0.1");
};
