"""A whole client of Pilothouse: prompt, stream, approval, abort. Usage: client.py FOLDER MODEL TEXT"""

import itertools
import json
import os
import signal
import subprocess
import sys


class Client:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.ids = itertools.count(1)
        self.session = None

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        # One unbuffered write, so that the signal handler never lands in the middle of another message.
        os.write(self.process.stdin.fileno(), b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def read(self):
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self.process.stdout.read(length)
        if not body:
            sys.exit("the server has ended")
        return json.loads(body)

    def ask(self, method, **params):
        """Send a request; serve events and the server's own requests until its answer is there."""
        wanted = next(self.ids)
        self.send(id=wanted, method=method, params=params)
        while True:
            message = self.read()
            if "method" in message:
                self.take(message)
            elif message.get("id") == wanted:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']['message']}")
                return message["result"]

    def take(self, message):
        method, params = message["method"], message.get("params")
        if method == "agent/event":
            self.show(params)
        elif method == "agent/requestApproval":
            self.send(id=message["id"], result={"optionId": self.approve(params)})
        elif "id" in message:
            self.send(id=message["id"], error={"code": -32601, "message": "not known here"})

    def show(self, event):
        if event["type"] == "message_update" and event["delta"]["kind"] == "text":
            print(event["delta"]["text"], end="", flush=True)
        elif event["type"] == "tool_execution_start":
            print(f"\n[{event['title']}]", flush=True)

    def approve(self, params):
        print(f"\n{params['title']}?")
        for diff in params.get("diffs", []):
            for hunk in diff["hunks"]:
                print("".join(hunk["lines"]), end="")
        options = {option["label"]: option["id"] for option in params["options"]}
        print(" / ".join(options), flush=True)
        return options.get(sys.stdin.readline().strip(), options["Reject"])

    def abort(self, *_):
        self.send(id=next(self.ids), method="agent/abort", params={"sessionId": self.session})


def main(folder, model, text):
    client = Client(["pilothouse", "serve"])
    about = {"pilothouse": {"approvals": True}}
    client.ask("initialize", processId=os.getpid(), capabilities={}, initializationOptions=about)
    client.send(method="initialized", params={})
    client.session = client.ask("session/new", cwd=os.path.abspath(folder), model=model)["sessionId"]
    signal.signal(signal.SIGINT, client.abort)
    result = client.ask("agent/prompt", sessionId=client.session, text=text)
    print(f"\n{result['stopReason']}")
    client.ask("shutdown")
    client.send(method="exit")


main(*sys.argv[1:])
