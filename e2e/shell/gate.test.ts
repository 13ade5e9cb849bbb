import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { browserMissing } from '../harness/chromium.ts';
import {
  BLOB_DOCUMENT,
  DATA_DOCUMENT,
  FRAME,
  FRAMES,
  leaveFor,
  POISON,
  page,
  RAW_ATTEMPTS,
} from './attack-pages.ts';
import { type Screen, screenMissing, startScreen } from './screen.ts';
import { descendants, openShellStage, SECRET, STORY_BACKENDS, webviewMissing } from './shell-stage.ts';

const missing = screenMissing() ?? browserMissing() ?? webviewMissing();

describe.skipIf(missing !== null)(`a real page and the gate${missing ? ` (${missing})` : ''}`, () => {
  let screen: Screen;
  beforeAll(async () => {
    screen = await startScreen();
  });
  afterAll(() => screen?.[Symbol.asyncDispose]());

  describe.each(STORY_BACKENDS)('%s', (backend) => {
    test('R8: an allowed call is answered, a denied one is refused, and an unsupported one says so', async () => {
      const stage = await openShellStage(screen, backend, {
        '/': page(`
          (async () => {
            await attempt('allowed', 'core:app:version');
            await attempt('denied', 'core:window:close');
            await attempt('of-another-window', 'core:app:identifier', { window: 'admin' });
            await attempt('unknown', 'core:app:no-such-thing');
            await attempt('unsupported', 'core:menu:new');
            await attempt('done', 'core:window:set-title', { value: 'Told by the page' });
            await attempt('title', 'core:window:title');
          })();
        `),
      });
      await stage.openMain('/');
      expect(await stage.report({ as: 'allowed' })).toEqual({ as: 'allowed', ok: '"0.2.0"' });
      expect((await stage.report({ as: 'denied' })).error).toMatch(
        /^Command "?core:window:close"? not allowed by ACL$/,
      );
      expect((await stage.report({ as: 'of-another-window' })).error).toMatch(/not allowed by ACL$/);
      expect((await stage.report({ as: 'unknown' })).error).toMatch(/not allowed by ACL$/);
      expect((await stage.report({ as: 'unsupported' })).error).toBe(
        `Command core:menu:new is not supported on this backend (${backend})`,
      );
      expect((await stage.report({ as: 'done' })).ok).toBe('null');
      expect((await stage.report({ as: 'title' })).ok).toBe('"Told by the page"');
      expect(stage.shell.windows.windows()).toEqual(['main']);
      expect(stage.log.join('')).toMatch(
        /\[SECURITY\] \[shell\] call_refused command=core:window:close window=main/,
      );
      const windows = [...descendants('child-main.ts'), ...descendants('--remote-debugging-pipe')];
      expect(windows).not.toEqual([]);
      for (const pid of windows)
        expect(readFileSync(`/proc/${pid}/environ`, 'utf8'), 'the environment of the windows').not.toContain(
          SECRET,
        );
      // The window may still be drawing when the page has answered.
      const colours = () => screen.picture(`gate-${backend}`).colours;
      await expect.poll(colours, { message: 'a page with text was drawn' }).toBeGreaterThan(10);
    });

    test('calls of frames are ignored: of the same origin, srcdoc, sandboxed, data:, blob: or foreign', async () => {
      const foreign = await startForeign();
      const stage = await openShellStage(screen, backend, { '/': FRAMES, '/frame': FRAME });
      await stage.openMain(`/?foreign=${encodeURIComponent(foreign.url)}`);
      expect((await stage.report({ as: 'after' })).ok).toBe('"0.2.0"');
      expect(stage.requests, 'a frame made a call').toEqual([]);
      expect(foreign.visits(), 'a page of another host was loaded').toBe(0);
      // Without a frame that tried, this would prove nothing.
      expect(stage.reports).toContainEqual({ frame: 'same-origin', how: 'tried' });
      expect(stage.log.join('')).toMatch(
        /message_dropped webview=main cause=(wrong_key|not_the_top_document)/,
      );
    });

    test.each([
      // The engine may refuse these itself, without an event.
      ['a data: document', DATA_DOCUMENT, /(navigation_blocked webview=main url="?data:)?/],
      ['a blob: document', BLOB_DOCUMENT, /navigation_blocked webview=main url="?blob:/],
    ])('calls of %s in place of the page are ignored', async (_, document, blocked) => {
      const stage = await openShellStage(screen, backend, { '/': document });
      await stage.openMain('/');
      expect((await stage.report({ as: 'before' })).ok).toBe('"0.2.0"');
      // Either the page stayed, or it was loaded again and reports "before" once more.
      await expect
        .poll(() => stage.reports.filter(({ as }) => as === 'still-here' || as === 'before').length)
        .toBeGreaterThan(1);
      expect(stage.requests).toEqual([]);
      await expect.poll(() => stage.log.join('')).toMatch(blocked);
    });

    test('another host is never loaded, neither in place of the page nor in a window', async () => {
      const foreign = await startForeign();
      const stage = await openShellStage(screen, backend, {
        '/': leaveFor(`(window.open('${foreign.url}'), '${foreign.url}')`),
      });
      await stage.openMain('/');
      expect((await stage.report({ as: 'still-here' })).ok).toBe('"0.2.0"');
      expect(foreign.visits()).toBe(0);
      await expect.poll(() => stage.log.join('')).toContain('navigation_blocked webview=main');
      expect(stage.shell.windows.windows()).toEqual(['main']);
    });

    test('after a navigation only the new document is answered', async () => {
      const stage = await openShellStage(screen, backend, {
        '/': page(`
          sessionStorage.visits = Number(sessionStorage.visits ?? 0) + 1;
          tidegate.invoke('core:app:version').then((value) => tell({ as: 'first', value }));
          location.href = '/second';
        `),
        '/second': page(`
          const delivered = [];
          attempt('second', 'core:app:version');
          ${RAW_ATTEMPTS.replace('parent.postMessage', 'void')}
        `),
      });
      await stage.openMain('/');
      expect((await stage.report({ as: 'second' })).ok).toBe('"0.2.0"');
    });

    test('a page that replaces builtins does not get the key of the bridge', async () => {
      const stage = await openShellStage(screen, backend, { '/': POISON });
      await stage.openMain('/');
      expect(await stage.report({ as: 'poison' })).toMatchObject({
        answer: expect.stringContaining('core:app:version: args'),
        stolen: '0',
        pinned: '2',
      });
    });
  });
});

describe.skipIf(missing !== null)(`several webviews in a window${missing ? ` (${missing})` : ''}`, () => {
  test('R8: each has the capabilities of its own label, and those of its window', async () => {
    await using screen = await startScreen();
    const stage = await openShellStage(screen, 'webview', {
      '/': page(`
        (async () => {
          await attempt('made', 'core:webview:create-webview',
            { label: 'side', path: '/side', x: 450, y: 0, width: 450, height: 600 });
          await attempt('main-name', 'core:app:name');
        })();
      `),
      '/side': page(`
        document.body.style.background = 'teal';
        (async () => {
          await attempt('side-name', 'core:app:name');
          await attempt('side-version', 'core:app:version');
          await attempt('side-identifier', 'core:app:identifier');
        })();
      `),
    });
    await stage.openMain('/');
    expect((await stage.report({ as: 'made' })).ok).toBe('null');
    expect((await stage.report({ as: 'main-name' })).error).toMatch(/not allowed by ACL$/);
    expect((await stage.report({ as: 'side-name' })).ok).toBe('"Tidegate"');
    // A capability of the window "main" applies to all its webviews.
    expect((await stage.report({ as: 'side-version' })).ok).toBe('"0.2.0"');
    expect((await stage.report({ as: 'side-identifier' })).error).toMatch(/not allowed by ACL$/);
    expect(stage.log.join('')).toContain('call_refused command=core:app:identifier window=main webview=side');
    await expect.poll(() => screen.picture('two-webviews').colours).toBeGreaterThan(20);
  });
});

/** A page of another host, which tries every way in. */
async function startForeign() {
  let visits = 0;
  const server = createServer((_request, response) => {
    visits += 1;
    response.setHeader('content-type', 'text/html').end(`<script>${RAW_ATTEMPTS}</script>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return { url: `http://127.0.0.1:${address.port}/`, visits: () => visits };
}
