import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RegisterAnswer, TokenPair } from '@tidegate/protocol/agent-api';
import { CreatedApiToken } from '@tidegate/protocol/api-tokens-api';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startChild } from '../harness/child.ts';
import { browserMissing } from '../harness/chromium.ts';
import { type ConsoleStage, openConsoleStage } from '../harness/console-stage.ts';
import { expectAnswer } from '../harness/operator.ts';
import { OPERATOR } from '../harness/server-process.ts';
import { type Picture, type Screen, screenMissing, startScreen } from './screen.ts';
import { webviewMissing } from './shell-stage.ts';

const missing = screenMissing() ?? browserMissing() ?? webviewMissing();
const MAIN = join(import.meta.dirname, '../../apps/shell/src/main.ts');
/** More than a caret, less than a word. */
const TYPED_PIXELS = 80;
/** How long a window may take to draw what was typed, and how often the screen is looked at: more than two frames. */
const DRAWING = { timeout: 10_000, interval: 100 };
/** How long the first keys may take to be drawn; a new window loses some. Each try waits twice as long, up to `DRAWING`. */
const FIRST_TRY_MS = 1_000;

describe.skipIf(missing !== null)(`the console in the shell${missing ? ` (${missing})` : ''}`, () => {
  let screen: Screen;
  let stage: ConsoleStage;
  beforeAll(async () => {
    screen = await startScreen();
    stage = await openConsoleStage({ hosts: 2 });
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
    await screen?.[Symbol.asyncDispose]();
  });

  /** Starts the shell as a process with its own home directory. */
  function startShell(backend: string, args: readonly string[], { input = '' } = {}) {
    const home = tmpDir('tidegate-shell-home-');
    const tools = join(home.path, 'bin');
    mkdirSync(tools);
    const notices = join(home.path, 'notices');
    writeFileSync(join(tools, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$@" >> ${notices}\n`);
    chmodSync(join(tools, 'notify-send'), 0o755);
    const child = startChild(process.execPath, [MAIN, '--backend', backend, '--no-sandbox', ...args], {
      env: { PATH: `${tools}:${SYSTEM_PATH}`, HOME: home.path, DISPLAY: screen.display, LANG: 'C.UTF-8' },
      input,
    });
    onTestFinished(async () => {
      child.signal('SIGTERM');
      await child.ended;
      home.remove();
    });
    return {
      child,
      home: home.path,
      notices: () => (existsSync(notices) ? readFileSync(notices, 'utf8') : ''),
    };
  }

  /** The titles of the windows on the screen. */
  function titles(): string[] {
    const tree = execFileSync('xwininfo', ['-root', '-tree', '-display', screen.display], {
      encoding: 'utf8',
    });
    return [...tree.matchAll(/^\s+0x\w+ "(.*)": \(/gm)].map(([, title = '']) => title);
  }
  const keys = (...args: string[]) =>
    execFileSync('xdotool', args, { env: { ...process.env, DISPLAY: screen.display } });

  /**
   * Types over what the focused field has until the screen follows: a new window takes keys only after a while, and draws them
   * later still. The text must come, go and come again, because a page that is still drawing changes the screen by itself.
   */
  async function typeInto(field: string, text: string) {
    const clear = () => keys('key', 'ctrl+a', 'BackSpace');
    const type = () => {
      keys('key', 'ctrl+a');
      keys('type', '--delay', '5', text);
    };
    let nextMs = FIRST_TRY_MS;
    const follows = async () => {
      const timeout = nextMs;
      nextMs = Math.min(2 * nextMs, DRAWING.timeout);
      clear();
      const empty = await stillPicture(field);
      const isShown = () => screen.picture(field).differsFrom(empty) > TYPED_PIXELS;
      const becomes = (shown: boolean) => vi.waitUntil(() => isShown() === shown, { ...DRAWING, timeout });
      type();
      await becomes(true);
      clear();
      await becomes(false);
      type();
      await becomes(true);
      await stillPicture(field);
    };
    await vi.waitFor(follows, { timeout: 90_000 });
  }

  /** Waits until two pictures of the screen are alike but for a caret. */
  async function stillPicture(name: string): Promise<Picture> {
    let last = screen.picture(name);
    const isStill = () => {
      const before = last;
      last = screen.picture(name);
      return last.differsFrom(before) <= TYPED_PIXELS;
    };
    await vi.waitUntil(isStill, DRAWING);
    return last;
  }

  /** Waits for a drawn page: its text has many shades of colour, an empty window has few. */
  const untilDrawn = (name: string, colours: number) =>
    expect.poll(() => screen.picture(name).colours).toBeGreaterThan(colours);

  async function apiToken(label: string): Promise<string> {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { label, role: 'approver', expires_at };
    return expectAnswer(
      await stage.operator.call('POST', '/api/v1/admin/api-tokens', body),
      201,
      CreatedApiToken,
    ).token;
  }

  describe.each(['webview', 'chromium'])('%s', (backend) => {
    test('an operator logs in on the page, and the session stays in the shell', async () => {
      const { child, home } = startShell(backend, ['--server', stage.server.url]);
      await child.line(/window open/);
      await expect.poll(titles).toContainEqual(expect.stringContaining('Tidegate (http://'));
      keys('mousemove', '640', '400');
      await untilDrawn(`login-${backend}`, 100);
      await typeInto(`username-${backend}`, OPERATOR.username);
      keys('key', 'Tab');
      await typeInto(`password-${backend}`, OPERATOR.password);
      keys('key', 'Return');
      await expect.poll(titles).toContainEqual(expect.stringContaining('Overview · Tidegate'));
      const secrets = join(home, '.local/share/tidegate-shell/sessions.json');
      expect(statSync(secrets).mode & 0o777).toBe(0o600);
      expect(Object.keys(JSON.parse(readFileSync(secrets, 'utf8')))).toEqual([stage.server.url]);
      // The number of pending updates is before the title.
      await expect.poll(titles).toContainEqual(expect.stringMatching(/^\(12\) Overview · Tidegate/));
      await untilDrawn(`overview-${backend}`, 1_200);
      expect([...child.stdout, ...child.stderr].join('\n')).not.toMatch(/eyJ|password/);
    });

    test('a link opens its update with an API token, and a critical event is notified', async () => {
      const [update] = await stage.operator.updates();
      if (!update) throw new Error('no update');
      const token = await apiToken(`shell-${backend}`);
      const args = ['--server', stage.server.url, '--token', '-', `tidegate://update/${update.id}`];
      const { child, notices } = startShell(backend, args, { input: `${token}\n` });
      await child.line(/window open/);
      await expect.poll(titles).toContainEqual(expect.stringContaining(update.name));
      await untilDrawn(`update-${backend}`, 1_200);
      expect(notices()).toBe('');
      await reuseRefreshToken(stage, `stolen-${backend}`);
      await expect.poll(notices).toContain('Tidegate: REFRESH_TOKEN_REUSE');
      expect([...child.stdout, ...child.stderr].join('\n')).not.toContain(token);
    });
  });
});

/** R3, critical: a host presents a refresh token whose successor was used. */
async function reuseRefreshToken({ operator, server }: ConsoleStage, machineId: string): Promise<void> {
  const send = async (path: string, body: object, bearer?: string) => {
    const response = await fetch(`${server.url}/api/v1/agents${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-machine-id': machineId,
        ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  const os = { family: 'linux', arch: 'amd64', id: 'debian', version_id: '12' };
  const registration = { hostname: machineId, os, agent_version: '0.1.0' };
  const registered = await send('/register', registration, await operator.registrationToken());
  const first = expectAnswer(registered, 201, RegisterAnswer).refresh_token;
  const renew = (token: string) => send('/renew', { refresh_token: token });
  const second = expectAnswer(await renew(first), 200, TokenPair).refresh_token;
  expectAnswer(await renew(second), 200, TokenPair);
  expect((await renew(first)).status).toBe(401);
}
