import { describe, expect, test } from 'vitest';
import { servedPlaces } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const places = servedPlaces();
const PLACE = ['place', 'linux-*', 'nvidia-*', '--until', '2027-03-01T00:00:00Z', '--reason', 'the driver'];

describe.each(SAMPLED_ENGINES)('tidegate holds on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const holds = (...words: string[]) => it.run(['holds', ...words]);
    const list = async (...words: string[]) =>
      JSON.parse((await holds('list', '--json', ...words)).out).items;
    return { ...it, holds, list };
  }

  test('place says what it keeps back, and with --dry-run only that; release ends it once', async () => {
    const it = await open();
    expect(await it.holds(...PLACE, '--dry-run')).toMatchObject({
      ...{ code: 0, err: '' },
      out: 'Would hold until 2027-03-01T00:00:00Z: linux-* nvidia-* on all hosts.\nKept back now: 0 updates, 0 of them security updates, on 0 hosts.',
    });
    expect(await it.list()).toEqual([]);
    const placed = await it.holds(...PLACE, '--ecosystem', 'apt', '--group', 'gpu', '--json');
    const { id } = JSON.parse(placed.out);
    expect(await it.list()).toMatchObject([
      {
        ...{ id, packages: ['linux-*', 'nvidia-*'], ecosystems: ['apt'], state: 'in_force' },
        ...{ created_by: 'cli', scope: { kind: 'some', groups: ['gpu'], hosts: [] } },
      },
    ]);
    expect((await it.holds('list')).out).toMatch(/in force +linux-\* nvidia-\* +groups gpu +2027-03-01/);
    expect((await it.holds('release', id)).code).toBe(0);
    expect((await it.holds('release', id)).err).toContain('has ended already');
    expect(await it.list()).toEqual([]);
    expect(await it.list('--all')).toMatchObject([{ state: 'released', ended_by: 'cli' }]);
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, place, release'],
    ['place', 'place needs a PATTERN'],
    ['place x --reason a', 'place needs --until TIME'],
    ['place x --until a', 'place needs --reason TEXT'],
    ['release', 'release needs an ID'],
    ['list --reason a', 'work only with place'],
    ['release x --all', '--all works only with list'],
    ['list x', 'unknown words: x'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await open();
    const ran = await it.holds(...words.split(' ').filter(Boolean));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string[], string]>([
    ['an unknown host', [...PLACE, '--host', 'web9'], 'there is no host "web9"'],
    ['an unknown ecosystem', [...PLACE, '--ecosystem', 'cargo'], '/ecosystems'],
    ['an impossible pattern', [...PLACE.slice(0, 1), 'a b', ...PLACE.slice(3)], '/packages'],
    ['an end that is past', [...PLACE.slice(0, 4), '2026-01-01T00:00:00Z', ...PLACE.slice(5)], '/ends_at'],
  ])('%s holds nothing', async (_, words, message) => {
    const it = await open();
    expect(await it.holds(...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await it.list()).toEqual([]);
  });
});
