import type { FakeOsv } from '@tidegate/testkit/fake-osv';
import { createFleet, type Fleet } from '@tidegate/testkit/fleet';
import { Type } from 'typebox';
import { expectAnswer, type Operator } from '../../e2e/harness/operator.ts';
import type { ServerProcess } from '../../e2e/harness/server-process.ts';
import { say, title } from './voice.ts';

/** Enough for all hosts to register at once, also in the first minute, when only half of the limit applies. */
const REGISTRATIONS = 20_000;
const BULK = 200;
const Total = Type.Object({ total: Type.Integer() });
const List = Type.Array(Type.Unknown());
const Reasons = Type.Array(Type.Object({ reason: Type.String() }));
const Bulk = Type.Object({ approved: List, awaiting_plan: List, blocked: Reasons, skipped: List });

/** A simulated fleet: all requests are real, the hosts that send them are not. */
export async function showFleet(stage: {
  hosts: number;
  server: ServerProcess;
  operator: Operator;
  osv: FakeOsv;
}): Promise<void> {
  const { hosts, server, operator, osv } = stage;
  title(`A fleet of ${hosts} simulated hosts`);
  const classes = { agent_registration: { requests: REGISTRATIONS } };
  const raised = await operator.call('PUT', '/api/v1/admin/rate-limits', { classes });
  say(
    'operator',
    `raises a rate limit while the server runs (${raised.status}), because all hosts share one address here`,
  );
  const registrationToken = await operator.registrationToken(hosts);
  const fleet = createFleet({
    serverUrl: server.url,
    agents: hosts,
    registrationToken,
    clock: { now: Date.now },
  });
  try {
    await round(fleet, 'enrol', fleet.enrolAll);
    await round(fleet, 'check in', fleet.checkInAll);
    await round(fleet, 'report their inventories', fleet.reportAll);
    await round(fleet, 'check in with nothing new', fleet.checkInAll);
    await showTotals(operator);
    await showBulk(operator);
    await round(fleet, 'fetch their commands', fleet.checkInAll);
    await round(fleet, 'report their commands as done', fleet.answerAll);
    say(
      'osv',
      `received ${osv.requests.length} requests; the server never asks it while it answers a request`,
    );
    const { ok, problems } = fleet.verdict();
    say('fleet', ok ? 'no request was refused or failed' : `problems: ${problems.join('; ')}`);
  } finally {
    fleet.stop();
  }
}

async function round(fleet: Fleet, what: string, act: Fleet['checkInAll']): Promise<void> {
  const { elapsedMs } = await act();
  const perSecond = Math.round(fleet.agents.length / (elapsedMs / 1_000));
  say(
    'fleet',
    `${fleet.agents.length} hosts ${what}: ${Math.round(elapsedMs)} ms, ${perSecond} hosts a second`,
  );
}

async function showTotals(operator: Operator): Promise<void> {
  const totalOf = async (path: string) => expectAnswer(await operator.call('GET', path), 200, Total).total;
  const counts = [
    `${await totalOf('/api/v1/agents?limit=1')} hosts`,
    `${await totalOf('/api/v1/updates?limit=1')} updates`,
    `${await totalOf('/api/v1/packages?limit=1')} packages to update`,
  ];
  say('server', `lists ${counts.join(', ')}`);
}

async function showBulk(operator: Operator): Promise<void> {
  const pending = await operator.updates({ state: 'pending' });
  const update_ids = pending.slice(0, BULK).map(({ id }) => id);
  const answer = await operator.call('POST', '/api/v1/updates/approve', { update_ids });
  const { approved, awaiting_plan, blocked, skipped } = expectAnswer(answer, 200, Bulk);
  const parts = [`${approved.length} approved`, `${awaiting_plan.length} waiting for their plan`];
  const reasons = [...new Set(blocked.map(({ reason }) => reason))].join(', ');
  parts.push(
    `${blocked.length} blocked (${reasons}; a bulk approval cannot override this)`,
    `${skipped.length} skipped`,
  );
  say('operator', `approves ${update_ids.length} updates at once: ${parts.join(', ')}`);
}
