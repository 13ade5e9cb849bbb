import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countersign } from '@tidegate/signing/sign';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { judgeArtifact } from '../ecosystems/judge-artifact.ts';
import { ATTACKS } from '../testing/attacks/all.ts';
import { type Attack, reEnveloped } from '../testing/attacks/attack.ts';
import { defeatOf, runAttack } from '../testing/attacks/run-attack.ts';
import { repairing } from '../testing/attacks/wrong-repairs.ts';
import { createKey } from '../testing/fleet.ts';
import { createJobWorld, FILE, FILE_BYTES, type JobWorld } from '../testing/job-world.ts';
import type { Installer } from './installer.ts';

describe.each(Object.entries(ATTACKS))('%s', (_, attacks) => {
  test.each(attacks.map((attack): [string, Attack] => [attack.name, attack]))('%s', async (_name, attack) => {
    expect(await runAttack(attack)).toEqual(defeatOf(attack));
  });
});

test('each row is unique, and the table is complete', () => {
  const names = Object.entries(ATTACKS).flatMap(([group, rows]) =>
    rows.map(({ name }) => `${group}: ${name}`),
  );
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(150);
});

describe('legitimate jobs pass through the same code, or the table would prove nothing', () => {
  const ops = createKey(1);
  const good = { agent: 'ok', executor: 'success' };
  test.each<[string, Partial<Attack>]>([
    ['a good job', {}],
    [
      'a hint that is wrong: it is no part of what is signed',
      {
        spoil: reEnveloped('command.json', (envelope) => ({
          ...envelope,
          signatures: envelope.signatures.map((each) => ({ ...each, keyid: 'nobody' })),
        })),
      },
    ],
    [
      'a good signature beside a foreign one',
      {
        spoil: reEnveloped('command.json', (envelope) => ({
          ...envelope,
          signatures: [...countersign(ops.key, envelope).signatures].reverse(),
        })),
      },
    ],
    [
      'the second signature that the host wants',
      {
        before: ({ policy }) => {
          const key = { key_id: 'ops', public_key_hex: ops.entry.public_key_hex };
          const rule = { v: 1, require_second_signature: { keys: [key], threshold: 1 } };
          writeFileSync(policy.path, JSON.stringify(rule), { mode: 0o644 });
        },
        spoil: reEnveloped('approval.json', (envelope) => countersign(ops.key, envelope)),
      },
    ],
  ])('%s', async (name, attack) => {
    const report = await runAttack({ name, ...attack, ...good });
    expect(report).toMatchObject({ ...good, installs: 1, repairs: 0, staged: 0 });
  });

  test('a good repair, and an approval in its job means nothing', async () => {
    const report = await runAttack({ name: 'none', parts: () => repairing(), ...good });
    expect(report).toMatchObject({ ...good, installs: 0, repairs: 1, staged: 0 });
  });
});

describe('a file replaced between the check and the installation (A4)', () => {
  let world: JobWorld;
  beforeEach(() => {
    world = createJobWorld();
  });
  afterEach(() => world[Symbol.dispose]());

  test('the verified copy is installed', async () => {
    const job = world.leaveJob();
    const seen: boolean[] = [];
    const late: Installer = {
      prepare: (given, work) => {
        writeFileSync(
          join(job, 'artifacts', FILE),
          FILE_BYTES.map((byte) => byte ^ 1),
        );
        return world.installer.prepare(given, work);
      },
    };
    const { install } = world;
    world.install = (given) => {
      const artifact = world.action.artifact ?? { filename: '', url: '', size_bytes: 0 };
      seen.push(judgeArtifact(artifact, join(given.stage, FILE)).ok);
      return install(given);
    };
    expect(await world.failureOf(job, { installerOf: () => late })).toBeNull();
    expect(seen).toEqual([true]);
  });
});
