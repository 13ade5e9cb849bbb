import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';

const MINUTE_MS = 60_000;
const SESSION = '/api/v1/auth/session';

describe.each(ENGINES)('an unused session, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine, { sessionIdleMs: 30 * MINUTE_MS });
    const { headers } = await scene.logIn();
    const ask = async (more: object = {}) =>
      (await scene.send('GET', SESSION, { headers: { ...headers, ...more } })).statusCode;
    return { ...scene, headers, ask };
  }

  test('ends after 30 minutes, to the minute', async () => {
    const { clock, ask } = await open();
    clock.advance(30 * MINUTE_MS);
    expect(await ask({ 'x-background': '1' })).toBe(200);
    clock.advance(MINUTE_MS);
    expect(await ask()).toBe(401);
  });

  test('lives on with each act of its operator, up to eight hours', async () => {
    const { clock, ask } = await open();
    for (let n = 0; n < 16; n++) {
      expect(await ask()).toBe(200);
      clock.advance(30 * MINUTE_MS - 1);
    }
    clock.advance(16);
    expect(await ask()).toBe(401);
  });

  test('is not kept alive by a page that polls', async () => {
    const { clock, ask } = await open();
    let minutes = 0;
    while ((await ask({ 'x-background': '1' })) === 200 && minutes < 100) {
      clock.advance(MINUTE_MS);
      minutes++;
    }
    expect(minutes).toBe(31);
  });

  test('is not listed', async () => {
    const { clock, logIn, send } = await open();
    clock.advance(31 * MINUTE_MS);
    const { headers } = await logIn();
    const { items, total } = (await send('GET', '/api/v1/auth/sessions', { headers })).json();
    expect([items.length, total]).toEqual([1, 1]);
  });
});
