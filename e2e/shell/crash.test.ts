import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserMissing } from '../harness/chromium.ts';
import { page } from './attack-pages.ts';
import { type Screen, screenMissing, startScreen } from './screen.ts';
import { descendants, openShellStage, webviewMissing } from './shell-stage.ts';

const missing = screenMissing() ?? browserMissing() ?? webviewMissing();
const ALIVE = page(`attempt('alive', 'core:app:version');`);

describe.skipIf(missing !== null)(`the shell survives crashes${missing ? ` (${missing})` : ''}`, () => {
  let screen: Screen;
  beforeAll(async () => {
    screen = await startScreen();
  });
  afterAll(() => screen?.[Symbol.asyncDispose]());

  test.each([
    ['webview', 'WebKitWebProcess'],
    ['chromium', '--type=renderer'],
  ] as const)('%s: a page whose process is killed is loaded again', async (backend, program) => {
    const stage = await openShellStage(screen, backend, { '/': ALIVE });
    await stage.openMain('/');
    await stage.report({ as: 'alive' });
    for (const pid of descendants(program)) process.kill(pid, 'SIGKILL');
    await expect.poll(() => stage.reports.filter(({ as }) => as === 'alive').length).toBeGreaterThan(1);
    await expect
      .poll(() => stage.log.join(''))
      .toContain('page loaded again webview=main cause="the page crashed"');
  });

  test('webview: a page makes the library abort, and the shell opens its windows again', async () => {
    // A known fault of the library (wry 0.55.1): an address longer than 64 kB, then any message.
    const abort = `history.pushState(null, '', '/' + 'a'.repeat(70000)); window.webkit.messageHandlers.ipc.postMessage('x');`;
    let loads = 0;
    const stage = await openShellStage(screen, 'webview', {
      '/': page(`
        attempt('alive', 'core:app:version');
        fetch('/script').then((answer) => answer.text()).then((text) => (0, eval)(text));
      `),
      get '/script'() {
        return ++loads === 1 ? abort : '';
      },
    });
    await stage.openMain('/');
    await expect.poll(() => loads).toBe(2);
    await expect
      .poll(() => stage.log.join(''))
      .toMatch(/page loaded again webview=main cause="the process of the windows ended \(SIGABRT\)"/);
    expect(stage.shell.windows.windows()).toEqual(['main']);
  });

  test('webview: a page that crashes each time ends the shell after some tries', async () => {
    const stage = await openShellStage(screen, 'webview', { '/': ALIVE });
    await stage.openMain('/');
    for (let n = 1; n <= 4; n++) {
      await expect.poll(() => stage.reports.length).toBe(n);
      for (const pid of descendants('child-main.ts')) process.kill(pid, 'SIGKILL');
    }
    expect(await stage.shell.ended).toBe('the process of the windows ended 4 times (SIGKILL)');
  });

  test('webview: a shell that is closed while its windows are ending ends without an error', async () => {
    const stage = await openShellStage(screen, 'webview', { '/': ALIVE });
    await stage.openMain('/');
    await stage.report({ as: 'alive' });
    // The second call finds the process without its channel and not yet ended.
    await Promise.all([stage.shell.close(), stage.shell.close()]);
    expect(descendants('child-main.ts')).toEqual([]);
  });

  test('chromium: the shell ends with the browser', async () => {
    const stage = await openShellStage(screen, 'chromium', { '/': ALIVE });
    await stage.openMain('/');
    await stage.report({ as: 'alive' });
    for (const pid of descendants('--remote-debugging-pipe')) process.kill(pid, 'SIGKILL');
    expect(await stage.shell.ended).toBe('Chromium has ended');
  });

  test.each(['webview', 'chromium'] as const)(
    '%s: closing the last window ends the shell',
    async (backend) => {
      const stage = await openShellStage(screen, backend, { '/': ALIVE });
      await stage.openMain('/');
      await stage.report({ as: 'alive' });
      await stage.shell.windows.close('main');
      expect(await stage.shell.ended).toBe('the last window was closed');
    },
  );
});
