# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, through its debugging pipe: what a page did, and how it looks."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Chromium:
    """One page in one browser. `problems` are script errors, console errors and requests other than for the file."""

    def __init__(self, program):
        self.to_browser, self.from_browser = os.pipe(), os.pipe()
        self.directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

        def descriptors():  # the browser reads from 3 and writes to 4
            here, there = os.dup(self.to_browser[0]), os.dup(self.from_browser[1])
            os.dup2(here, 3)
            os.dup2(there, 4)

        # --no-sandbox: Chromium refuses to run as root with one.
        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--disable-dev-shm-usage',
             '--disable-background-networking', '--disable-component-update', '--no-first-run',
             '--user-data-dir=' + self.directory.name, 'about:blank'],
            close_fds=False, preexec_fn=descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(self.to_browser[0])
        os.close(self.from_browser[1])
        self.problems, self.answers, self.rest, self.next_id, self.session, self.page = [], {}, b'', 1, None, None
        page = next(it for it in self.call('Target.getTargets')['targetInfos'] if it['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.directory.cleanup()

    def call(self, method, **params):
        message = {'id': self.next_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        self.next_id += 1
        os.write(self.to_browser[1], json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + 60
        while message['id'] not in self.answers:
            self.read(deadline)
        answer = self.answers.pop(message['id'])
        if 'error' in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer['result']

    def read(self, deadline):
        ready, _, _ = select.select([self.from_browser[0]], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise RuntimeError('Chromium does not answer')
        data = os.read(self.from_browser[0], 1 << 20)
        if not data:
            raise RuntimeError('Chromium ended')
        *messages, self.rest = (self.rest + data).split(b'\0')
        for message in map(json.loads, messages):
            if 'id' in message:
                self.answers[message['id']] = message
            else:
                self.note(message['method'], message['params'])

    def note(self, method, params):
        if method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.problems.append('script error: ' + details.get('exception', {}).get('description', details['text']))
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning', 'assert'):
            self.problems.append('console: ' + json.dumps(params['args']))
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.problems.append('log: ' + params['entry']['text'])
        elif method == 'Network.requestWillBeSent' and params['request']['url'] != self.page:
            self.problems.append('request for ' + params['request']['url'])
        elif method == 'Page.javascriptDialogOpening':
            self.problems.append('a dialog: ' + params['message'])

    def open(self, path):
        self.page = 'file://' + os.path.abspath(path)
        self.call('Page.navigate', url=self.page)
        deadline = time.monotonic() + 60
        while self.evaluate('document.readyState') != 'complete':
            if time.monotonic() > deadline:
                raise RuntimeError('the page does not finish loading')
            time.sleep(0.05)

    def evaluate(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def look(self, width, height=900, scheme='light', media='screen'):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', media=media, features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        time.sleep(0.3)

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def screenshot(self, path, whole=True):
        """The whole page, or what is in the window."""
        picture = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole)
        with open(path, 'wb') as file:
            file.write(base64.b64decode(picture['data']))
