import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { USUAL_PLACES } from '../ecosystems/host-places.ts';
import { createFleet, NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import { install, simulate } from '../testing/install.ts';
import { verifyApproval } from '../trust/verify-approval.ts';
import { aptInstaller } from './apt.ts';

const fleet = createFleet();

test.each(['partial', 'lock', 'other_2.0_all.deb', 'demo_2.0_all.deb.x', 'demo_2.0_amd64.deb'])(
  'a file that is called %s is not for apt, whoever signed it: its folder is where apt keeps its own',
  async (name) => {
    const updateId = randomUUID();
    const action = { ...upgradeOf({ name, bytes: new TextEncoder().encode('demo') }), arch: 'all' };
    const { envelope, reference } = fleet.approval({ updates: [updateOf(updateId)], actions: [action] });
    const context = {
      trusted: fleet.trusted,
      agentId: fleet.agentId,
      updateIds: [updateId],
      reference,
      nowMs: NOW_MS,
    };
    const judged = verifyApproval(envelope, context);
    if (!judged.ok) throw new Error(judged.reason);
    const job = { paths: USUAL_PLACES, approval: judged.approval, stage: '/nowhere' };
    const detail = expect.stringContaining('does not have the name that apt looks for');
    expect(await simulate(aptInstaller, job)).toEqual({ ok: false, detail });
    expect(await install(aptInstaller, job)).toMatchObject({ ok: false, detail });
  },
);
