import { beforeEach, expect, test, vi } from 'vitest';
import { forgetRecents, recents, remember } from './recents.ts';

const entry = (n: number) => ({ id: `host ${n}`, group: 'Hosts', label: `web-${n}`, href: `/hosts/${n}` });

beforeEach(() => {
  const kept: Record<string, string> = {};
  const methods = {
    getItem: (key: string) => kept[key] ?? null,
    setItem(key: string, value: string) {
      kept[key] = value;
    },
    removeItem: (key: string) => Reflect.deleteProperty(kept, key),
  };
  const storage = new Proxy(kept, {
    get: (_, key) => Reflect.get(methods, key) ?? Reflect.get(kept, key),
  });
  vi.stubGlobal('localStorage', storage);
  return () => vi.unstubAllGlobals();
});

test('the last six are kept, the newest first and each once, for each operator alone', () => {
  for (const n of [1, 2, 3, 4, 5, 6, 7, 3]) remember('ada', entry(n));
  expect(recents('ada').map(({ label }) => label)).toEqual([3, 7, 6, 5, 4, 2].map((n) => `web-${n}`));
  expect(recents('bob')).toEqual([]);
});

test('logging out forgets them', () => {
  remember('ada', entry(1));
  remember('bob', entry(2));
  forgetRecents();
  expect([...recents('ada'), ...recents('bob')]).toEqual([]);
});

test.each(['{', '5', '[1, null, {"id": "x"}]', JSON.stringify([{ ...entry(1), href: '//evil.example' }])])(
  'what another program stored there is ignored: %s',
  (text) => {
    localStorage.setItem('tidegate:recents:ada', text);
    expect(recents('ada')).toEqual([]);
  },
);
