import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { listDecisions } from './approvals/decision-store.ts';
import { queueCommand } from './commands/queue-command.ts';
import type { Database } from './platform/db/engine.ts';
import { ENGINES, SAMPLED_ENGINES } from './testing/engines.ts';
import type { HostRows } from './testing/foreign-hosts.ts';
import { type Place, placesOf } from './testing/named-places.ts';
import { CHECK_IN, type Kind, NAMED, type Naming, OWNERS } from './testing/named-rows.ts';
import { routesOf } from './testing/routes-of.ts';
import { type Answer, type Caller, openCallers, type Sent, send } from './testing/row-callers.ts';
import { idOfHost, makeHost, makeRow, makeRowsOf, unknownOf } from './testing/row-makers.ts';
import { createTestApp, type TestApp } from './testing/test-app.ts';

/** Kinds of the fleet whose rows are never deleted. */
const STAYING: readonly Kind[] = [
  'known vulnerability',
  'divergence',
  'signing key',
  'host set aside',
  'statement',
  'origin',
  'policy',
  'blackout',
  'hold',
  'reboot',
  'rollout',
  'channel',
  'notification rule',
  'delivery',
];

/** Tables without named rows: presence of agents, the budgets of outsiders, and the limits of all servers. */
const ASIDE: readonly string[] = ['agent_presence', 'outsider_usage', 'shared_counts'];

interface Case extends Place {
  naming: Naming;
}
/** A row that a caller names. */
interface Row {
  what: string;
  id: string;
  /** Whether the caller may reach the row at most: by scope, not by role. */
  isFor: (caller: Caller) => boolean;
  /** Its host is deleted: the caller may reach it only where the place keeps records, and only to read. */
  isDeleted?: true;
}

test.each(SAMPLED_ENGINES)(
  'no caller learns of or changes a row that is not for it, on $name',
  async (engine) => {
    const app = await createTestApp(engine);
    const callers = await openCallers(app);
    const cases = await casesOf(app);
    const rows = await victims(app, callers[0]);
    const beside = await besides(app, callers);
    for (const { agentId, ...caller } of callers) {
      // These record the use of a session, and the boot of a host.
      await send(app, caller, { method: 'GET', url: '/api/v1/agents' });
      const url = `/api/v1/agents/${agentId}/check-in`;
      if (agentId !== undefined) await send(app, caller, { method: 'POST', url, body: CHECK_IN });
    }

    const wrong: string[] = [];
    let before = await dump(app.platform.database);
    for (const one of cases) {
      if (isStream(one)) before = await finishCommands(app);
      for (const caller of callers)
        wrong.push(...(await faultsOf(app, { one, by: { caller, beside }, rows: rows(one.naming) })));
      const after = await dump(app.platform.database);
      const changed = [...after]
        .filter(([table, text]) => before.get(table) !== text)
        .map(([table]) => table);
      const unexpected = changed.filter((table) => !one.naming.records?.includes(table));
      if (unexpected.length > 0) wrong.push(`${titleOf(one)}: a refusal changed ${unexpected.join(', ')}`);
      before = after;
    }
    expect(wrong).toEqual([]);

    const shut: string[] = [];
    for (const one of cases) shut.push(...(await shutOut(app, { one, callers, beside })));
    expect(shut).toEqual([]);
  },
);

test.each(ENGINES)(
  'the updates and commands of a deleted host cannot be changed, on $name',
  async (engine) => {
    const app = await createTestApp(engine);
    const [admin] = await openCallers(app);
    const { agentId, updateId, commandId } = await makeHost(app, 'ours');
    await send(app, admin, { method: 'DELETE', url: `/api/v1/agents/${agentId}` });
    const before = await dump(app.platform.database);
    for (const [url, status, body] of [
      [`updates/${updateId}/reject`, 404, {}],
      [`updates/${updateId}/reopen`, 404, {}],
      [`updates/${updateId}/countersign`, 404, { keyid: 'ops', sig: Buffer.alloc(64).toString('base64') }],
      [`commands/${commandId}/cancel`, 409, undefined],
      [`commands/${commandId}/retry`, 409, undefined],
    ] as const) {
      const answer = await send(app, admin, { method: 'POST', url: `/api/v1/${url}`, body });
      expect([url, answer.status]).toEqual([url, status]);
    }
    expect(await dump(app.platform.database)).toEqual(before);
  },
);

test.each(ENGINES)('an old agent does not learn another host’s commands, on $name', async (engine) => {
  const app = await createTestApp(engine, { minAgentVersion: '1.0.0' });
  const callers = await openCallers(app);
  const old = callers.find(({ name }) => name === 'agent of ours');
  if (!old?.agentId) throw new Error('no agent among the callers');
  const { agentId } = await makeHost(app, 'theirs');
  const commandId = await app.platform.database.transact(async (tx) => {
    const old09 = { agent_version: '0.9.0' };
    await tx
      .updateTable('agents')
      .set(old09)
      .where('id', '=', old.agentId ?? '')
      .execute();
    const update = { agentId, action: 'update_agent', params: {}, createdBy: 'ada' } as const;
    return queueCommand(tx, app.platform, update);
  });
  const result = async (id: string) => {
    const url = `/api/v1/agents/${old.agentId}/commands/${id}/result`;
    const answer = await send(app, old, { method: 'POST', url, body: { status: 'success' } });
    return shapeOf(answer, id);
  };
  expect(await result(commandId)).toBe(await result(unknownOf('command')));
});

/** Rows that requests name in addition to the tested one. */
type Beside = (caller: Caller) => HostRows & { operatorId: string };
interface By {
  caller: Caller;
  beside: Beside;
}

async function besides(app: TestApp, callers: readonly Caller[]): Promise<Beside> {
  const operatorId = await makeRow(app, { kind: 'operator', operatorId: '' });
  const ours = { ...(await makeHost(app, 'ours')), operatorId };
  const ofAgents = new Map<string, HostRows & { operatorId: string }>();
  for (const { agentId } of callers) {
    if (agentId !== undefined) ofAgents.set(agentId, { ...(await makeRowsOf(app, agentId)), operatorId });
  }
  return ({ agentId = '' }) => ofAgents.get(agentId) ?? ours;
}

/** The places of the app's own routes, with what the table says that each names. */
async function casesOf(app: TestApp): Promise<Case[]> {
  await app.http.ready();
  const places = placesOf(app.http.swagger());
  const served = routesOf(app.http.printRoutes({ commonPrefix: false }));
  const documented = new Set(places.map(({ route }) => route));
  const unseen = served.filter((route) => /^\w+ \/api\/.*:/.test(route) && !documented.has(route));
  expect(unseen, 'routes with a parameter that the document of the API leaves out').toEqual([]);
  const titles = places.map(titleOf);
  const missing = titles.filter((title) => NAMED[title] === undefined);
  expect(missing, 'say in NAMED (testing/named-rows.ts) which kind of row these places name').toEqual([]);
  expect(
    Object.keys(NAMED).filter((title) => !titles.includes(title)),
    'no unknown places',
  ).toEqual([]);
  return places.flatMap((place) => {
    const naming = NAMED[titleOf(place)];
    return naming === undefined || typeof naming === 'string' ? [] : [{ ...place, naming }];
  });
}

function titleOf({ route, at, name }: Place): string {
  return `${route} ${at} ${name}`;
}

/** Rows of every kind, each with an owner: of this group, of that one, of an operator who never calls. */
async function victims(app: TestApp, admin: Caller): Promise<(naming: Naming) => Row[]> {
  const hosts = {
    ours: await decided(app, admin, await makeHost(app, 'ours')),
    theirs: await decided(app, admin, await makeHost(app, 'theirs')),
    ungrouped: await decided(app, admin, await makeHost(app, null)),
    deleted: await decided(app, admin, await makeHost(app, 'ours')),
    'deleted of theirs': await decided(app, admin, await makeHost(app, 'theirs')),
  };
  for (const { agentId, registrationTokenId } of [hosts.deleted, hosts['deleted of theirs']]) {
    for (const url of [`agents/${agentId}`, `admin/registration-tokens/${registrationTokenId}`]) {
      const { status } = await send(app, admin, { method: 'DELETE', url: `/api/v1/${url}` });
      expect([url, status]).toEqual([url, 204]);
    }
  }
  const operatorId = await makeRow(app, { kind: 'operator', operatorId: '' });
  const made = new Map<string, Row[]>();
  for (const kind of new Set(
    Object.values(NAMED).flatMap((one) => (typeof one === 'string' ? [] : [one.kind])),
  )) {
    const unknown = { what: 'unknown', id: unknownOf(kind), isFor: () => false };
    const inFleet = ({ reach }: Caller) => reach === 'fleet';
    const inOurs = ({ reach }: Caller) => reach === 'fleet' || reach === 'ours';
    switch (OWNERS[kind]) {
      case 'host':
        made.set(kind, [
          unknown,
          { what: 'of ours', id: idOfHost(kind, hosts.ours), isFor: inOurs },
          { what: 'of theirs', id: idOfHost(kind, hosts.theirs), isFor: inFleet },
          { what: 'of no group', id: idOfHost(kind, hosts.ungrouped), isFor: inFleet },
          {
            what: 'deleted, of ours',
            id: idOfHost(kind, hosts.deleted),
            isFor: inOurs,
            isDeleted: true,
          },
          {
            what: 'deleted, of theirs',
            id: idOfHost(kind, hosts['deleted of theirs']),
            isFor: inFleet,
            isDeleted: true,
          },
        ]);
        break;
      case 'group':
        made.set(kind, [
          { ...unknown, isFor: inFleet },
          { what: 'ours', id: 'ours', isFor: inOurs },
          { what: 'theirs', id: 'theirs', isFor: inFleet },
        ]);
        break;
      case 'fleet': {
        const there = await makeRow(app, { kind, operatorId });
        made.set(kind, [unknown, { what: 'there', id: there, isFor: inFleet }]);
        // An ended statement or origin stays on record, as decisions name it.
        if (STAYING.includes(kind)) break;
        const over = await makeRow(app, { kind, operatorId, isOver: true });
        made.get(kind)?.push({ what: 'deleted', id: over, isFor: () => false });
        break;
      }
      case 'operator': {
        // Sessions of others are for admins of the whole fleet, who have logged in.
        const isFor = ({ role, reach, operatorId: id }: Caller) =>
          kind === 'session' && role === 'admin' && reach === 'fleet' && id !== null;
        const [another, over] = [
          await makeRow(app, { kind, operatorId }),
          await makeRow(app, { kind, operatorId, isOver: true }),
        ];
        made.set(kind, [
          unknown,
          { what: "another operator's", id: another, isFor },
          { what: "another operator's, over", id: over, isFor: () => false },
        ]);
        if (kind !== 'view') break;
        const shared = await makeRow(app, { kind, operatorId, isShared: true });
        made.get(kind)?.push({ what: 'shared', id: shared, isFor: inFleet });
      }
    }
  }
  return ({ kind }) => made.get(kind) ?? [];
}

/** The same rows with a decision made by the server: a forged one cannot be read. */
async function decided(app: TestApp, admin: Caller, rows: HostRows): Promise<HostRows> {
  const { updateId, decisionId: forged } = rows;
  const url = `/api/v1/updates/${updateId}/approve`;
  const answer = await send(app, admin, { method: 'POST', url, body: {} });
  const { read } = app.platform.database;
  const [made] = (await listDecisions(read, { updateId, limit: 10, before: null })).filter(
    ({ id }) => id !== forged,
  );
  if (!made) throw new Error(`no decision: ${show(answer)}`);
  return { ...rows, decisionId: made.id };
}

/** Describes an answer that distinguishes a row out of the caller's scope from one that never existed. */
async function faultsOf(
  app: TestApp,
  { one, by, rows }: { one: Case; by: By; rows: Row[] },
): Promise<string[]> {
  const faults: string[] = [];
  const { caller } = by;
  const unknown = unknownOf(one.naming.kind);
  // Where the caller may name anything, as a fleet admin any group, nothing is unknown.
  const [first] = rows;
  if (!first || first.isFor(caller)) return [];
  const ofUnknown = await send(app, caller, requestOf(one, unknown, by));
  const expected = shapeOf(ofUnknown, unknown);
  const title = `${titleOf(one)} by ${caller.name}`;
  if (!saysNothing(one, { answer: ofUnknown, id: unknown }))
    faults.push(`${title}, unknown: ${show(ofUnknown)}`);
  // An admin's scope is the group alone, and it may name its own.
  const { kind, byFleet } = one.naming;
  const mayNameOwn = kind === 'group' && caller.role === 'admin' && !byFleet;
  const isRefused = isShut(ofUnknown) && !mayNameOwn;
  for (const { what, id, isFor, isDeleted } of rows) {
    const isThere = isFor(caller) && (!isDeleted || one.naming.keeps === true);
    // A caller whom the route always refuses is refused rows in its scope too.
    if (id === unknown || (isThere && !isRefused && !isDeleted)) continue;
    const answer = await send(app, caller, requestOf(one, id, by));
    const isRead = one.method === 'GET' && answer.status === 200;
    const isRight =
      isThere && !isRefused ? isRead || isDomainRefusal(answer) : shapeOf(answer, id) === expected;
    if (!isRight) faults.push(`${title}, ${what}: ${show(answer)}, and unknown: ${show(ofUnknown)}`);
  }
  return faults;
}

function isShut({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** For existing rows, whatever their state. */
function isDomainRefusal({ status, text }: Answer): boolean {
  return status === 409 || status === 422 || (status === 503 && text.includes('"verdict_pending"'));
}

/** Whether this is a refusal, or for lists and bulk requests a success without matches. */
function saysNothing({ naming }: Case, { answer, id }: { answer: Answer; id: string }): boolean {
  const { status, text } = answer;
  if (status >= 400) return status < 500;
  if (naming.nothing === undefined) return false;
  const found: unknown = text === '' ? {} : JSON.parse(text);
  const expected = naming.nothing(id);
  return expect.objectContaining(expected).asymmetricMatch(found);
}

/** Describes a place where no caller reaches its own row, or a deleted row is still reachable. */
async function shutOut(
  app: TestApp,
  { one, callers, beside }: { one: Case; callers: readonly [Caller, ...Caller[]]; beside: Beside },
): Promise<string[]> {
  const { naming } = one;
  const faults: string[] = [];
  // Answering a challenge takes an authenticator: operators/passkeys/passkeys.test.ts.
  if (naming.kind === 'challenge') return [];
  for (const caller of rightfulOf(naming, callers)) {
    const by = { caller, beside };
    const id = await ownRow(app, { naming, caller, admin: callers[0] });
    if (isStream(one)) await finishCommands(app);
    const unknown = unknownOf(naming.kind);
    const ofUnknown = naming.kind === 'group' ? null : await send(app, caller, requestOf(one, unknown, by));
    const answer = await send(app, caller, requestOf(one, id, by));
    const isSame = ofUnknown !== null && shapeOf(answer, id) === shapeOf(ofUnknown, unknown);
    const tellsNothing = isSame && naming.kind !== 'notice';
    // A refusal other than that of an unknown row has looked at this one.
    const isJudged = answer.status === 400 && ofUnknown?.status === 404;
    const isOpen = (answer.status >= 200 && answer.status < 300) || isDomainRefusal(answer) || isJudged;
    if (!isOpen || tellsNothing) faults.push(`${titleOf(one)} by ${caller.name}, its own: ${show(answer)}`);
    // The operator stays when its factors or sessions end.
    const ends = /\/(factors|sessions)$/.test(one.pattern) && one.name === 'id';
    if (one.method !== 'DELETE' || one.name === 'keep' || ends) continue;
    const again = await send(app, caller, requestOf(one, id, by));
    if (ofUnknown && shapeOf(again, id) !== shapeOf(ofUnknown, unknown))
      faults.push(`${titleOf(one)} by ${caller.name}, deleted: ${show(again)}`);
  }
  return faults;
}

/** Callers who must reach their own rows. */
function rightfulOf({ kind, byAgents, byFleet }: Naming, callers: readonly Caller[]): Caller[] {
  if (byAgents) return callers.filter(({ name }) => name === 'agent of ours');
  const admins = callers.filter(({ role, operatorId }) => role === 'admin' && operatorId !== null);
  if (byFleet || OWNERS[kind] === 'fleet') return admins.filter(({ reach }) => reach === 'fleet');
  return admins;
}

async function ownRow(
  app: TestApp,
  { naming, caller, admin }: { naming: Naming; caller: Caller; admin: Caller },
): Promise<string> {
  const { kind } = naming;
  if (kind === 'group') return 'ours';
  if (caller.agentId !== undefined) {
    if (kind === 'agent') return caller.agentId;
    return idOfHost(kind, await makeRowsOf(app, caller.agentId));
  }
  if (OWNERS[kind] === 'host') {
    const rows = await makeHost(app, 'ours');
    return idOfHost(kind, kind === 'decision' ? await decided(app, admin, rows) : rows);
  }
  const id = await makeRow(app, { kind, operatorId: caller.operatorId ?? '' });
  if (kind === 'operator') await makeRow(app, { kind: 'session', operatorId: id });
  return id;
}

const LONG_AGO = '2026-01-01T00:00:00Z';

/** The request that names this row; anything else that it names is the caller's own, or of the group `ours`. */
function requestOf({ method, pattern, at, name, naming }: Case, id: string, { caller, beside }: By): Sent {
  const { agentId, updateId, commandId, tokenId, operatorId } = beside(caller);
  const values: Readonly<Record<string, string>> = {
    ...{ agent_id: agentId, update_id: updateId, command_id: commandId, token_id: tokenId, id: operatorId },
    ...{ ecosystem: 'apt', report_sha256: 'a'.repeat(64), part: '1' },
    ...(at === 'path' ? { [name]: id } : {}),
  };
  const path = pattern.replace(/:(\w+)/g, (_, key: string) => values[key] ?? unknownOf('agent'));
  const query = new URLSearchParams({
    ...(pattern.endsWith('/:part') ? { parts: '2' } : {}),
    ...(pattern.endsWith('/inventory/at') ? { at: LONG_AGO } : {}),
    ...(pattern.endsWith('/inventory/difference') ? { from: LONG_AGO } : {}),
    ...(at === 'query' ? { [name]: id } : {}),
  });
  const url = query.size === 0 ? path : `${path}?${query}`;
  return { method, url, body: naming.body?.(id, agentId, updateId) };
}

/** An answer without the parts that differ between two requests for two rows. */
function shapeOf({ status, text }: Answer, id: string): string {
  const shown = text.replace(/"(request_id|next_check_in_seconds)":[^,}]*/g, '').replaceAll(id, '{id}');
  return `${status} ${shown}`;
}

function show({ status, text }: Answer): string {
  return `${status} ${text.slice(0, 160)}`;
}

/** Whether the answer lasts as long as the command does. */
function isStream({ method, pattern }: Place): boolean {
  return method === 'GET' && pattern.endsWith('/output');
}

/** Ends every command; returns the resulting rows. */
async function finishCommands({ platform: { database, now } }: TestApp): Promise<Map<string, string>> {
  const end = { status: 'failed', finished_at: now() };
  await database.transact((tx) => tx.updateTable('agent_commands').set(end).execute());
  return dump(database);
}

/** Every table's rows as text, except those of ASIDE. */
async function dump({ read }: Database): Promise<Map<string, string>> {
  const tables = await read.introspection.getTables();
  const texts = new Map<string, string>();
  for (const { name } of tables) {
    if (ASIDE.includes(name)) continue;
    const { rows } = await sql`SELECT * FROM ${sql.table(name)}`.execute(read);
    texts.set(
      name,
      rows
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n'),
    );
  }
  return texts;
}
