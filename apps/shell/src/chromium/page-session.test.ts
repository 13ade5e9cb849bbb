import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openCdpPipe } from './cdp-pipe.ts';
import { createPageSession } from './page-session.ts';

function openPage() {
  const [write, read] = [new PassThrough(), new PassThrough()];
  const cdp = openCdpPipe({ write, read }, { event() {}, ended() {} });
  const page = createPageSession(
    cdp,
    { session: 's', target: 't', label: 'main' },
    { path: '/' },
    {
      serve: async () => ({ status: 200, headers: {}, body: new Uint8Array() }),
      pageScript: '',
      events: {
        message() {},
        dropped() {},
        blocked() {},
        recovered() {},
        windowClosed() {},
        titleChanged() {},
        noted() {},
        ended() {},
      },
    },
  );
  return { page, write, read };
}

test('a window counts as closed if Chromium exits with it instead of answering', async () => {
  const { page, write, read } = openPage();
  expect(page.isAskedToClose()).toBe(false);
  const closed = page.close();
  await once(write, 'data');
  read.destroy();
  await expect(closed).resolves.toBeUndefined();
  expect(page.isAskedToClose()).toBe(true);
});

test('a window that Chromium refuses to close is an error', async () => {
  const { page, write, read } = openPage();
  const closed = page.close();
  await once(write, 'data');
  read.write(`${JSON.stringify({ id: 1, error: { message: 'No target with given id found' } })}\0`);
  await expect(closed).rejects.toThrow('No target with given id found');
});
