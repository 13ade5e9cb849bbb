import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../platform/http/refusal.ts';
import { createRateLimits } from '../../rate-limits/rate-limits.ts';
import { ENGINES, type TestEngine } from '../../testing/engines.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import { statesInDatabase } from './guess-states.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { FREE_FAILURES, GUESSER_KEPT_MS, NAME_BURST } from './login-throttle-rules.ts';

const KEY = Buffer.alloc(32, 7);

/** Three servers on one database. */
async function open(engine: TestEngine, { keysMax = 100 } = {}) {
  const platform = createTestPlatform(await engine.open());
  const throttles = [1, 2, 3].map(() =>
    createLoginThrottle({ now: platform.now, states: statesInDatabase(platform, { key: KEY, keysMax }) }),
  );
  let turn = 0;
  /** A guess at each server in turn: true when the password was checked. */
  const guess = async (address: string, { name = 'root', isRight = false } = {}): Promise<boolean> => {
    const throttle = throttles[turn++ % throttles.length];
    const at = { name, by: { kind: 'address', key: address } as const };
    try {
      await throttle?.guess(at, { verify: async () => isRight, onTurns: async () => {} });
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  };
  const rows = () => platform.database.read.selectFrom('shared_counts').selectAll().execute();
  return { platform, throttles, guess, rows };
}

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))(
  'guesses at three servers on $name',
  (engine) => {
    test('a guesser waits after five wrong passwords, whichever server checked them', async () => {
      const { guess } = await open(engine);
      const checked = [];
      for (let i = 0; i < 9; i++) checked.push(await guess('198.51.100.1'));
      expect(checked.filter(Boolean)).toHaveLength(FREE_FAILURES);
    });

    test('a name has one budget for all addresses and servers, also at the same moment', async () => {
      const { guess } = await open(engine);
      const guesses = Array.from({ length: 2 * NAME_BURST }, (_, i) => guess(`198.51.100.${i}`));
      expect((await Promise.all(guesses)).filter(Boolean)).toHaveLength(NAME_BURST);
      expect(await guess('198.51.100.200', { name: 'another' })).toBe(true);
    });

    test('a right password gives the guess back, and leaves nothing to keep', async () => {
      const { platform, guess, rows } = await open(engine);
      for (let i = 0; i < 3 * NAME_BURST; i++)
        expect(await guess('198.51.100.1', { isRight: true })).toBe(true);
      const limits = await createRateLimits({ platform, bootedAt: platform.now() });
      await limits.tidy();
      expect(await rows()).toEqual([]);
      await guess('198.51.100.1');
      await limits.tidy();
      expect(await rows()).toHaveLength(2);
      platform.clock.advance(GUESSER_KEPT_MS);
      await limits.tidy();
      expect(await rows()).toEqual([]);
    });

    test('a copy of the database confirms no name that was tried: it may be a password typed by mistake', async () => {
      const { guess, rows } = await open(engine);
      const [address, name] = ['198.51.100.1', 'correct horse battery'];
      await guess(address, { name });
      const stored = JSON.stringify(await rows());
      expect(stored).not.toContain('horse');
      for (const text of [name, `address ${address} ${name}`]) {
        for (const form of ['hex', 'base64url'] as const)
          expect(stored).not.toContain(hash('sha256', text, form));
      }
    });

    test('servers with the key of one database count together, with another key apart', async () => {
      const { platform, guess } = await open(engine);
      for (let i = 0; i < FREE_FAILURES; i++) await guess('198.51.100.1');
      expect(await guess('198.51.100.1')).toBe(false);
      const states = statesInDatabase(platform, { key: Buffer.alloc(32, 8) });
      const throttle = createLoginThrottle({ now: platform.now, states });
      const at = { name: 'root', by: { kind: 'address', key: '198.51.100.1' } as const };
      expect(await throttle.guess(at, { verify: async () => true, onTurns: async () => {} })).toBe(true);
    });

    test('a flood of names takes no more rows than there are places; the rest share one', async () => {
      const { platform, guess, rows } = await open(engine, { keysMax: 4 });
      for (let i = 0; i < 4; i++) await guess('198.51.100.1', { name: `name ${i}` });
      platform.clock.advance(10_000);
      for (let i = 4; i < 40; i++) await guess('198.51.100.1', { name: `name ${i}` });
      const names = (await rows()).map(({ name }) => name);
      expect(names.filter((name) => name === 'guessers')).toHaveLength(5);
      expect(names.filter((name) => name === 'guesses at a name')).toHaveLength(5);
      expect(await guess('198.51.100.2', { name: 'name 50' })).toBe(false);
      expect(await guess('198.51.100.1', { name: 'name 1' })).toBe(true);
    });
  },
);
