"""A browser without a window, driven by the DevTools protocol over a pipe
(https://chromedevtools.github.io/devtools-protocol): in real time, for with
virtual time a loaded machine reports before it has drawn."""

import json
import os
import re
import subprocess
import sys
import tempfile

SIZE = {"width": 1440, "height": 900}
SECONDS = 120  # for one answer of the browser


class Browser:
    """One page. `messages` is what it wrote to its console, `errors` what it
    threw."""

    def __init__(self, chromium, dark=False):
        self.messages, self.errors = [], []
        self._events, self._number, self._session, self._rest = [], 0, None, b""
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # each: (to read, to write)
        self._write, self._read = ours[1], theirs[0]
        # The browser reads descriptor 3 and writes descriptor 4.
        shell = f'exec "$0" "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        self._process = subprocess.Popen(
            ["timeout", str(SECONDS), "sh", "-c", shell, chromium, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--user-data-dir=" + self._folder.name, "about:blank"],
            pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        target = self._call("Target.createTarget", url="about:blank", **SIZE)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=False, **SIZE)
        self._call("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._call("Page.enable")
        self._call("Runtime.enable")

    def open(self, url):
        """Returns when the page was loaded and drawn."""
        self._call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._take()
        self.draw()

    def draw(self):
        """Returns when what was changed has been laid out and drawn."""
        self.run("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))")

    def run(self, script):
        """The value of a script, and of a promise when it is kept."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            self._see(answer["exceptionDetails"])
        return answer["result"].get("value")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)
        os.close(self._read)
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()

    def _see(self, exception):
        thrown = exception.get("exception", {})
        self.errors.append(thrown.get("description") or exception["text"])

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _take(self):
        """The next message; events are noted."""
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self._events.append(message)
        if message.get("method") == "Runtime.exceptionThrown":
            self._see(message["params"]["exceptionDetails"])
        if message.get("method") == "Runtime.consoleAPICalled":
            words = [str(word.get("value", word.get("description"))) for word in message["params"]["args"]]
            self.messages.append(message["params"]["type"] + ": " + " ".join(words))
        return message


def look(chromium, page, dark, script, report):
    """Opens a page of ppopt's, which needs nothing outside of it, runs `script` and then, in one go, `report`, whose value is
    a text; prints that after what the page complained of. (Between two calls the browser may send pointer events.)"""
    with open(page, encoding="utf-8") as file:
        if re.search(r"(src|href)=\"(?!data:)|https?://|url\(", file.read()):
            sys.exit("the page refers to something outside of it")
    with Browser(chromium, dark=dark) as browser:
        browser.open("file://" + os.path.abspath(page))
        text = browser.run("{" + script + "} " + report)
    for message in browser.messages:
        print("console:", message)
    print("errors:", "; ".join(browser.errors) or "none")
    print(text)
