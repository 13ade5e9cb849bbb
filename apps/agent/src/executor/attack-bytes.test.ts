import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Envelope } from '@tidegate/protocol/documents';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, createFleet, NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import { createJobWorld } from '../testing/job-world.ts';
import { verifyApprovalBytes } from '../trust/verify-approval.ts';
import { verifyCommand } from '../trust/verify-command.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
const RUNS = isLong ? 50_000 : 2_000;
/** Each of these makes a job and judges it from the disk. */
const EXECUTOR_RUNS = isLong ? 3_000 : 60;

const fleet = createFleet();
const updateId = randomUUID();
const actions = [upgradeOf({ name: 'demo_2.0_all.deb', bytes: new TextEncoder().encode('demo') })];
const approval = fleet.approval({ updates: [updateOf(updateId)], actions });
const command = fleet.command({
  action: 'install_update',
  params: { update_ids: [updateId] },
  approval: approval.reference,
});

/** One byte replaced, put in or left out; never the same bytes again. */
interface Change {
  kind: 'replace' | 'insert' | 'delete';
  at: number;
  byte: number;
}
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('replace' as const, 'insert' as const, 'delete' as const),
  at: fc.nat(),
  byte: fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(...Buffer.from(' \n=+/-_AQgw"{}0'))),
});

function changed(bytes: Uint8Array, { kind, at, byte }: Change): Uint8Array {
  const place = at % bytes.length;
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  if (kind === 'insert') return Buffer.concat([before, Uint8Array.of(byte), after]);
  if (kind === 'delete') return Buffer.concat([before, after.subarray(1)]);
  const old = after[0] ?? 0;
  return Buffer.concat([before, Uint8Array.of(old === byte ? old ^ 1 : byte), after.subarray(1)]);
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const payloadOf = (envelope: Envelope) => Buffer.from(envelope.payload, 'base64');

function judgeCommand(bytes: Uint8Array) {
  return verifyCommand(bytes, {
    trusted: fleet.trusted,
    agentId: fleet.agentId,
    machineSha256: fleet.machineSha256,
    highest: { epoch: 0, seq: 0 },
    nowMs: NOW_MS,
    seen: () => false,
    strict: true,
  });
}

function judgeApproval(bytes: Uint8Array) {
  const { reference } = approval;
  const context = {
    trusted: fleet.trusted,
    agentId: fleet.agentId,
    updateIds: [updateId],
    reference,
    nowMs: NOW_MS,
  };
  return verifyApprovalBytes(bytes, context);
}

test('the unchanged documents are valid', () => {
  expect([judgeCommand(bytesOf(command)).ok, judgeApproval(bytesOf(approval.envelope)).ok]).toEqual([
    true,
    true,
  ]);
});

// White space between members, the hint `keyid` and the other base64 alphabet are not signed, and change nothing.
test('one byte of a command envelope changed: it is refused or still the same command', () => {
  const whole = bytesOf(command);
  const digest = sha256(payloadOf(command));
  fc.assert(
    fc.property(change, (one) => {
      const judged = judgeCommand(changed(whole, one));
      if (judged.ok) expect(judged.payloadSha256).toBe(digest);
    }),
    { numRuns: RUNS },
  );
});

test('one byte of an approval envelope changed: it is refused or still the same approval', () => {
  const whole = bytesOf(approval.envelope);
  const good = judgeApproval(whole);
  if (!good.ok) throw new Error(good.reason);
  fc.assert(
    fc.property(change, (one) => {
      const judged = judgeApproval(changed(whole, one));
      if (judged.ok) expect(judged.approval.payload).toEqual(good.approval.payload);
    }),
    { numRuns: RUNS },
  );
});

test('one byte of the signed content changed: no signature verifies', () => {
  const rewrapped = (envelope: Envelope, one: Change) => {
    const payload = Buffer.from(changed(payloadOf(envelope), one)).toString('base64');
    return bytesOf({ ...envelope, payload });
  };
  fc.assert(
    fc.property(change, (one) => {
      expect(judgeCommand(rewrapped(command, one))).toMatchObject({ reason: 'bad_signature' });
      expect(judgeApproval(rewrapped(approval.envelope, one))).toMatchObject({ reason: 'bad_signature' });
    }),
    { numRuns: RUNS },
  );
});

test('one byte of a signature changed: it does not verify', () => {
  const resealed = (envelope: Envelope, one: Change) => {
    const signatures = envelope.signatures.map(({ keyid, sig }) => {
      const bytes = changed(Buffer.from(sig, 'base64'), one);
      return { keyid, sig: Buffer.from(bytes).toString('base64') };
    });
    return bytesOf({ ...envelope, signatures });
  };
  fc.assert(
    fc.property(change, (one) => {
      expect(judgeCommand(resealed(command, one))).toMatchObject({ reason: 'bad_signature' });
      expect(judgeApproval(resealed(approval.envelope, one))).toMatchObject({ reason: 'bad_signature' });
    }),
    { numRuns: RUNS },
  );
});

test('one byte of any job file changed: the executor installs the approved update or nothing', async () => {
  const files = ['command.json', 'approval.json', 'artifacts/demo_2.0_all.deb'];
  await fc.assert(
    fc.asyncProperty(change, fc.constantFrom(...files), async (one, name) => {
      using world = createJobWorld();
      const job = world.leaveJob();
      const good = JSON.parse(readFileSync(join(job, 'approval.json'), 'utf8'));
      writeFileSync(join(job, name), changed(readFileSync(join(job, name)), one));
      const failure = await world.failureOf(job);
      expect(world.installs).toHaveLength(failure === null ? 1 : 0);
      if (name.startsWith('artifacts/')) expect(failure).toMatch(/^artifact_(size|hash)_differs$/);
      for (const { approval: taken } of world.installs) {
        expect(taken.payload).toEqual(JSON.parse(payloadOf(good).toString()));
      }
    }),
    { numRuns: EXECUTOR_RUNS },
  );
}, 1_800_000);
