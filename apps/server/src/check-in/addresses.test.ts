import { randomBytes, randomUUID } from 'node:crypto';
import { createClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import { describe, expect, test } from 'vitest';
import { createAddresses } from './addresses.ts';

const START_MS = Date.UTC(2026, 10, 21);
const INTERVAL_SECONDS = 60;
const MEBIBYTES_16 = 16 * 1_048_576;

function setUp(limits: { movedMax?: number } = {}) {
  const clock = createClock(START_MS);
  const ids = createIds(clock);
  const addresses = createAddresses({
    now: clock.now,
    random: randomBytes,
    lastMaxBytes: MEBIBYTES_16,
    ...limits,
  });
  /** A check-in as the server takes it: the route only when the plain path leaves it. Returns the evidence's addresses. */
  function checkIn(agentId: string, address: string): (string | null)[] | null {
    if (addresses.isUnchanged(agentId, address)) return null;
    const seen = { atMs: clock.now(), bootId: 'boot', address };
    const visit = { agentId, socketAddress: address, seen, intervalSeconds: INTERVAL_SECONDS };
    return addresses.record(visit)?.map((observation) => observation.address) ?? null;
  }
  return { clock, addresses, checkIn, newId: ids.uuid };
}

describe('addresses of check-ins (T3)', () => {
  test('the same address is unchanged, another one is not, and each agent has its own', () => {
    const { addresses } = setUp();
    const [one, two] = [randomUUID(), randomUUID()];
    expect(addresses.isUnchanged(one, '192.0.2.1')).toBe(true);
    expect(addresses.isUnchanged(one, '192.0.2.1')).toBe(true);
    expect(addresses.isUnchanged(one, '192.0.2.2')).toBe(false);
    expect(addresses.isUnchanged(two, '192.0.2.2')).toBe(true);
    expect(addresses.isUnchanged(two, undefined)).toBe(false);
  });

  test('no two of 20,000 addresses count as one', () => {
    const { addresses } = setUp();
    const agent = randomUUID();
    addresses.isUnchanged(agent, '2001:db8::1');
    for (let i = 0; i < 20_000; i++) {
      expect(addresses.isUnchanged(agent, `10.${i >> 8}.${i & 255}.7`)).toBe(false);
      expect(addresses.isUnchanged(agent, `2001:db8::${(i + 2).toString(16)}`)).toBe(false);
    }
  });

  test('agents enrolled in one millisecond are told apart', () => {
    const { addresses, newId } = setUp();
    const agents = Array.from({ length: 5_000 }, () => newId());
    for (const [i, agent] of agents.entries()) addresses.isUnchanged(agent, `10.0.${i >> 8}.${i & 255}`);
    for (const [i, agent] of agents.entries()) {
      expect(addresses.isUnchanged(agent, `10.0.${i >> 8}.${i & 255}`)).toBe(true);
      expect(addresses.isUnchanged(agent, `10.1.${i >> 8}.${i & 255}`)).toBe(false);
    }
  });

  test('a clone is noticed at its second return in a fleet of 100,000 whose hosts check in between', () => {
    const { checkIn, clock } = setUp();
    const fleet = Array.from({ length: 100_000 }, () => randomUUID());
    const agent = randomUUID();
    const found = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.2'].map((address) => {
      clock.advance(20_000);
      for (const [i, other] of fleet.entries()) checkIn(other, `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
      return checkIn(agent, address);
    });
    expect(found).toEqual([null, null, null, ['192.0.2.2', '192.0.2.1', '192.0.2.2']]);
  });

  test('past the bound of addresses with times the first to arrive is dropped, and a clone that stays is still found', () => {
    const { checkIn, clock } = setUp({ movedMax: 10 });
    const agent = randomUUID();
    const others = Array.from({ length: 40 }, () => randomUUID());
    for (const other of others) checkIn(other, '198.51.100.1');
    let found: unknown = null;
    for (let turn = 0; turn < 12 && found === null; turn++) {
      clock.advance(5_000);
      found = checkIn(agent, turn % 2 === 0 ? '192.0.2.1' : '192.0.2.2');
      for (const other of others.slice(turn * 3, turn * 3 + 3)) checkIn(other, `198.51.100.${turn + 2}`);
    }
    expect(found).not.toBeNull();
  });

  test('an address is learned again after a day', () => {
    const { addresses, clock } = setUp();
    const agent = randomUUID();
    addresses.isUnchanged(agent, '192.0.2.1');
    clock.advance(86_400_000);
    expect(addresses.isUnchanged(agent, '192.0.2.2')).toBe(true);
    expect(addresses.isUnchanged(agent, '192.0.2.1')).toBe(false);
  });
});
