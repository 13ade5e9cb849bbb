import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig, saveConfig } from '../identity/config-file.ts';
import { loadExecutorState, saveExecutorState } from '../jobs/executor-state.ts';
import { configOf } from '../testing/agent-config.ts';
import { createFleet, NOW_MS } from '../testing/fleet.ts';
import { acceptKeySet, pinKeySet } from './trusted-keys.ts';

const cases: { weak: { name: string; hex: string }[] } = JSON.parse(
  readFileSync(new URL('../../../../vectors/ed25519-public-keys.json', import.meta.url), 'utf8'),
);
const fleet = createFleet();

function folder(): string {
  const made = tmpDir('tidegate-weak-');
  onTestFinished(() => made.remove());
  return made.path;
}

describe.each(cases.weak)('a trusted key that is weak: $name', ({ hex }) => {
  const weak = { ...fleet.key.entry, key_id: randomUUID(), version: 2, public_key_hex: hex };
  const keys = [fleet.key.entry, weak];
  const trusted_keys = { ...fleet.trusted, keys };

  test('is not taken with a key set, fetched or pinned', () => {
    const envelope = fleet.keySet({ version: 2, keys });
    const refused = { ok: false, reason: 'unusable_key' };
    expect(acceptKeySet(fleet.trusted, { envelope, roots: [], nowMs: NOW_MS })).toEqual(refused);
    expect(pinKeySet(envelope, { root: undefined, nowMs: NOW_MS })).toMatchObject({ ok: false });
  });

  test('is refused when the agent or the executor reads what it trusts, in words that name the key id', () => {
    const config = folder();
    expect(saveConfig(config, configOf(fleet, { trusted_keys }))).toEqual({ ok: true });
    const detail = expect.stringContaining(`(weak): Public key ${weak.key_id}`);
    expect(loadConfig(config)).toEqual({ ok: false, reason: 'invalid', detail });
    const state = folder();
    const { fleetId: fleet_id, agentId: agent_id } = fleet;
    const pinned = {
      v: 1,
      fleet_id,
      agent_id,
      machine_id_source: 'machine-id',
      trusted_keys,
      places: {},
    } as const;
    expect(saveExecutorState(state, pinned)).toEqual({ ok: true });
    expect(loadExecutorState(state)).toEqual({ ok: false, detail });
  });
});
