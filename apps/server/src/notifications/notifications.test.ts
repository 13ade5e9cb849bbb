import { NotificationChannel, NotificationRule, RulePreview } from '@tidegate/protocol/notifications-api';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { refreshBadges } from '../advisories/badges.ts';
import { saveFetched, saveScores } from '../advisories/exploited/store.ts';
import { createDueCounts } from '../calendar/count-due.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { createNotificationScene, RULE, startReceiver } from '../testing/notification-scene.ts';
import { outsideIsolates, TURNING } from '../testing/outside-isolates.ts';
import { createNotifier } from './background.ts';
import { mountChannels } from './channel-routes.ts';
import { mountDeliveries } from './delivery-routes.ts';
import { escalate } from './escalate.ts';
import { mountRules } from './rule-routes.ts';
import { sendDigests } from './send-digests.ts';
import { watchExploited } from './watch-exploited.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const URL = '/api/v1/notifications';
const ESCALATION = { kind: 'escalation' as const, after_hours: 4, repeat_hours: 2, repeats_max: 1 };

async function open(engine: TestEngine) {
  const it = await createApprovalsApp(engine);
  const scene = createNotificationScene(it.platform);
  const receiver = await startReceiver();
  const { signal: stopped } = scene;
  mountChannels(it.app.routes, { ...scene.deps, stopped });
  mountRules(it.app.routes, it.platform);
  mountDeliveries(it.app.routes, it.platform);
  const { platform, database, worker, stoppedUnder } = it;
  const maxAgeMs = 10 * DAY_MS;
  const againAt = new Map<string, number>();

  /** A pending update of the host that fixes this vulnerability. */
  async function fix({ name = 'openssl', cve = 'CVE-2026-1', agentId = it.agentId } = {}): Promise<string> {
    it.osv.addRecord({ id: cve }, [{ ecosystem: 'Debian:12', name, versions: ['1.0.0-1'] }]);
    const installed = { ecosystem: 'apt', name, arch: '', version: '1.0.0-1', held: 0 };
    const row = { agent_id: agentId, ...installed, source_name: name, source_version: '1.0.0-1' };
    await database.transact((tx) => insertInstalled(tx, row));
    return it.addUpdate({ name, version: '2', agentId });
  }
  async function exploited(...cves: string[]): Promise<void> {
    await database.transact(async (tx) => {
      await saveScores(
        tx,
        'kev',
        cves.map((cve) => [cve, 1] as const),
      );
      await saveFetched(tx, {
        feed: 'kev',
        nowMs: platform.now(),
        entries: cves.length,
        asOfMs: platform.now(),
      });
    });
    await refreshBadges({ platform, worker, maxAgeMs, stoppedUnder }, { onlyUnjudged: false });
  }
  return {
    ...it,
    ...scene,
    receiver,
    fix,
    exploited,
    watch: () => watchExploited({ platform, advisories: worker, advisoryMaxAgeMs: maxAgeMs, againAt }),
    digest: () => sendDigests({ ...scene.deps, due: createDueCounts(platform) }),
    escalate: () => escalate(scene.deps),
    messages: async () => (await scene.deliveries()).map(({ message }) => JSON.parse(message)),
  };
}

describe.each(ENGINES)('notifications on $name', (engine) => {
  test('a channel is added, shown without its secret, tested, changed and removed', async () => {
    const { call, receiver, events } = await open(engine);
    const config = { kind: 'webhook', url: receiver.url, allow_http: true };
    const added = await call('POST', `${URL}/channels`, { name: 'Pager', is_enabled: true, config });
    expect(added.status).toBe(201);
    const { id, receiver_key: key } = Value.Parse(NotificationChannel, added.body);
    expect(added.body).toMatchObject({ has_secret: true, state: 'idle', rules: 0 });
    expect(key).toMatch(/^whpk_/);
    expect(JSON.stringify(added.body)).not.toContain('whsk_');
    const tested = await call('POST', `${URL}/channels/${id}/test`);
    expect(tested.body).toMatchObject({
      is_delivered: true,
      explanation: 'The receiver took the test message.',
    });
    expect(receiver.received[0]?.subject).toBe('Test message');
    receiver.status = 404;
    const failed = await call('POST', `${URL}/channels/${id}/test`);
    expect(failed.body).toMatchObject({ is_delivered: false, is_permanent: true });
    const { body: shown } = await call('GET', `${URL}/channels/${id}`);
    expect(shown).toMatchObject({ state: 'failing', failures_in_a_row: 1, dead: 1 });
    const same = await call('POST', `${URL}/channels`, { name: 'Pager', is_enabled: true, config });
    expect(same).toMatchObject({ status: 400, body: { errors: [{ path: '/name' }] } });
    const wrong = { ...config, url: 'http://receiver.example', allow_http: false };
    const refused = await call('PUT', `${URL}/channels/${id}`, {
      name: 'Pager',
      is_enabled: true,
      config: wrong,
    });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: '/config/url' }] } });
    const off = await call('PUT', `${URL}/channels/${id}`, { name: 'Off', is_enabled: false, config });
    expect(off.body).toMatchObject({ name: 'Off', state: 'off', receiver_key: key });
    const rule = { ...RULE, name: 'All', channel_id: id };
    expect((await call('POST', `${URL}/rules`, rule)).status).toBe(201);
    expect(await call('DELETE', `${URL}/channels/${id}`)).toMatchObject({ status: 409 });
    const { body: rules } = await call('GET', `${URL}/rules`);
    expect((await call('DELETE', `${URL}/rules/${rules.items[0].id}`)).status).toBe(204);
    expect((await call('DELETE', `${URL}/channels/${id}`)).status).toBe(204);
    const told = await events('NOTIFICATION_CHANNEL_CHANGED');
    expect(told.map(({ change }) => change)).toEqual(['added', 'changed', 'removed']);
    expect(told[1]).toMatchObject({
      ...{ name: 'Off', is_enabled: false, address_changed: false, secret_changed: false },
      before: { name: 'Pager', is_enabled: true },
    });
    // An address may contain a token.
    expect(JSON.stringify(told)).not.toContain(receiver.url);
  });

  test.each([
    [
      'an unknown zone',
      { quiet_hours: { from: '22:00', until: '07:00', zone: 'Europe/Nowhere', weekdays: [1] } },
    ],
    [
      'quiet hours without an end',
      { quiet_hours: { from: '22:00', until: '22:00', zone: 'UTC', weekdays: [1] } },
    ],
    ['an unknown zone of a digest', { mode: { kind: 'digest', at: '07:00', zone: 'Mars', weekdays: [1] } }],
    ['an escalation of events', { mode: ESCALATION }],
    ['an unknown channel', { channel_id: '01900000-0000-7000-8000-00000000beef' }],
    ['an unknown type', { conditions: { ...RULE.conditions, event_types: ['nothing'] } }],
  ])('a rule with %s is refused', async (_, given) => {
    const { call, channel, receiver } = await open(engine);
    const body = { ...RULE, name: 'Rule', channel_id: await channel(receiver.url), ...given };
    const answer = await call('POST', `${URL}/rules`, body);
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.body.errors[0].message).toMatch(/\w/);
  });

  test('a preview says what a rule would have sent, and sends nothing', async () => {
    const { call, channel, event, clock, deliveries, receiver } = await open(engine);
    const body = { ...RULE, name: 'Rule', channel_id: await channel(receiver.url) };
    const preview = async (given: object = {}) =>
      Value.Parse(RulePreview, (await call('POST', `${URL}/rules/preview`, { ...body, ...given })).body);
    await event({ count: 2 });
    clock.advance(8 * DAY_MS);
    await event({ count: 300 });
    clock.advance(HOUR_MS);
    await event({ content: { reason: 'the last one' } });
    expect(await preview()).toMatchObject({ matches: 301, messages: 3, is_complete: true });
    expect((await preview()).samples[0]?.text).toContain('the last one');
    const mode = { kind: 'digest' as const, at: '07:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    expect(await preview({ mode })).toMatchObject({ matches: 301, messages: 7 });
    expect(await deliveries()).toEqual([]);
  });

  test('an exploited fix is told once for each version, however many hosts it waits on', async () => {
    const { database, fix, exploited, watch, events } = await open(engine);
    const { agentId } = await insertTestAgent(database, { n: 2, group: 'web' });
    await fix();
    await fix({ agentId });
    await fix({ name: 'curl', cve: 'CVE-2026-2' });
    await exploited('CVE-2026-1');
    await watch();
    await watch();
    expect(await events('exploited_fix_waits')).toEqual([
      {
        package: { ecosystem: 'apt', name: 'openssl', version: '2' },
        vulnerabilities: ['CVE-2026-1'],
        updates_waiting: 2,
        groups: ['web'],
      },
    ]);
    await exploited('CVE-2026-1', 'CVE-2026-2');
    await watch();
    expect((await events('exploited_fix_waits')).map((one) => one.package.name)).toEqual(['openssl', 'curl']);
  });

  test('a fix whose answers of the sources have expired is judged again at the next pass, not in an hour', async () => {
    const { database, fix, exploited, watch, events, clock } = await open(engine);
    await fix();
    await exploited('CVE-2026-1');
    await database.transact((tx) =>
      tx.updateTable('advisory_checks').set({ checked_at: 0 }).where('verdict', '=', 'clear').execute(),
    );
    await watch();
    expect(await events('exploited_fix_waits')).toEqual([]);
    const told = async () => {
      clock.advance(60_000);
      await watch();
      return (await events('exploited_fix_waits')).length;
    };
    await expect.poll(told).toBe(1);
  });

  test('a version that fixes nothing exploited on one host is told as soon as it does on another', async () => {
    const { osv, database, addUpdate, agentId, exploited, watch, events, clock } = await open(engine);
    // On the first host it fixes something else, and leaves something exploited.
    const record = (id: string, versions: string[]) =>
      osv.addRecord({ id }, [{ ecosystem: 'Debian:12', name: 'openssl', versions }]);
    record('CVE-2026-7', ['1.1']);
    record('CVE-2026-8', ['1.1', '2']);
    record('CVE-2026-9', ['1.0']);
    const offer = async (host: string, installed: string) => {
      const row = {
        agent_id: host,
        ecosystem: 'apt',
        name: 'openssl',
        arch: '',
        version: installed,
        held: 0,
      };
      const source = { source_name: 'openssl', source_version: installed };
      await database.transact((tx) => insertInstalled(tx, { ...row, ...source }));
      const fields = { from_version: installed };
      const plan = [actionOf({ name: 'openssl', version: '2', fields })];
      await addUpdate({ name: 'openssl', version: '2', agentId: host, plan });
      await exploited('CVE-2026-8', 'CVE-2026-9');
    };
    await offer(agentId, '1.1');
    await watch();
    const other = (await insertTestAgent(database, { n: 2, group: 'web' })).agentId;
    await offer(other, '1.0');
    clock.advance(60_000);
    await watch();
    expect(await events('exploited_fix_waits')).toMatchObject([
      { vulnerabilities: ['CVE-2026-9'], updates_waiting: 1, groups: ['web'] },
    ]);
  });

  test('a clock that was set back does not stop the watch for exploited fixes', async () => {
    const { deps, platform, worker, fix, exploited, events, clock } = await open(engine);
    const notifier = createNotifier(
      { ...deps, due: createDueCounts(platform) },
      { advisories: worker, advisoryMaxAgeMs: 10 * DAY_MS, tickMs: 5 },
    );
    onTestFinished(() => notifier.stop());
    notifier.start();
    const told = async () => {
      clock.advance(60_000);
      return (await events('exploited_fix_waits')).length;
    };
    await fix();
    await exploited('CVE-2026-1');
    await expect.poll(told).toBe(1);
    clock.advance(-DAY_MS);
    await fix({ name: 'curl', cve: 'CVE-2026-2' });
    await exploited('CVE-2026-1', 'CVE-2026-2');
    await expect.poll(told).toBe(2);
  });

  test('an update that brings an exploited vulnerability is no fix of one', async () => {
    const { osv, addUpdate, fix, exploited, watch, events } = await open(engine);
    osv.addRecord({ id: 'CVE-2026-9' }, [{ ecosystem: 'Debian:12', name: 'openssl', versions: ['2'] }]);
    await fix();
    await addUpdate({ name: 'bash', version: '2' });
    await exploited('CVE-2026-9');
    await watch();
    expect(await events('exploited_fix_waits')).toEqual([]);
  });

  test('an escalation tells of what nobody decided on in time, repeats it, and ends with the decision', async () => {
    const { call, channel, rule, fix, exploited, watch, escalate, messages, clock, receiver, platform } =
      await open(engine);
    const conditions = { ...RULE.conditions, event_types: [] };
    await rule(await channel(receiver.url), { mode: ESCALATION, conditions });
    const id = await fix();
    await exploited('CVE-2026-1');
    await watch();
    clock.advance(4 * HOUR_MS - 1);
    await escalate();
    expect(await messages()).toEqual([]);
    clock.advance(1);
    await Promise.all([escalate(), escalate()]);
    const [first, ...others] = await messages();
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      subject: 'Nobody decided on an exploited fix for 4 hours: openssl 2',
      severity: 'critical',
      link: `https://tidegate.example/notices/${first.id}`,
      payload: { kind: 'escalation', fixes: [{ vulnerabilities: ['CVE-2026-1'], updates_waiting: 1 }] },
    });
    const { body: set } = await call('GET', `${URL}/notices/${first.id}`);
    expect(set.updates).toMatchObject([{ id, name: 'openssl', state: 'pending' }]);
    for (let hours = 0; hours < 10; hours += 2) {
      clock.advance(2 * HOUR_MS);
      await escalate();
    }
    expect((await messages()).length).toBe(2);
    await call('POST', `/api/v1/updates/${id}/reject`, {});
    await watch();
    await escalate();
    expect(await platform.database.read.selectFrom('notification_escalations').selectAll().execute()).toEqual(
      [],
    );
    const { body: after } = await call('GET', `${URL}/notices/${first.id}`);
    expect(after.updates).toMatchObject([{ id, state: 'rejected' }]);
  });

  test('an escalation comes, and comes again, after a clock that was a year ahead is set back', async () => {
    const { channel, rule, fix, exploited, watch, escalate, messages, clock, receiver } = await open(engine);
    const conditions = { ...RULE.conditions, event_types: [] };
    await rule(await channel(receiver.url), { mode: ESCALATION, conditions });
    clock.advance(365 * DAY_MS);
    await fix();
    await exploited('CVE-2026-1');
    await watch();
    clock.advance(-365 * DAY_MS);
    await escalate();
    expect((await messages()).length).toBe(1);
    clock.advance(-DAY_MS);
    await escalate();
    expect((await messages()).length).toBe(2);
  });

  test('an escalation and a digest let no name turn what stands around it', async () => {
    const { channel, rule, event, fix, exploited, watch, escalate, digest, messages, clock, receiver } =
      await open(engine);
    const conditions = { ...RULE.conditions, event_types: [] };
    const to = await channel(receiver.url);
    await rule(to, { mode: ESCALATION, conditions });
    const mode = { kind: 'digest' as const, at: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    await rule(to, { mode, conditions });
    await fix({ name: 'שלום' });
    await exploited('CVE-2026-1');
    await watch();
    await event({ content: { reason: 'שלום\u202e <b>disk</b> full' } });
    clock.advance(4 * HOUR_MS);
    await escalate();
    await digest();
    const told = await messages();
    expect(told.map(({ payload }) => payload.kind)).toEqual(['escalation', 'digest']);
    const texts = told.flatMap(({ subject, summary, sections }) => [
      ...[subject, summary],
      ...sections.flatMap(({ items }: { items: { text: string }[] }) => items.map(({ text }) => text)),
    ]);
    expect(texts.filter((text) => text.includes('שלום'))).toHaveLength(4);
    for (const text of texts) expect(outsideIsolates(text)).not.toMatch(TURNING);
  });

  test('a hold is a decision: what it keeps back does not escalate while it lasts, and a digest says how much', async () => {
    const it = await open(engine);
    const { call, channel, rule, fix, exploited, watch, escalate, digest, messages, clock, receiver } = it;
    const conditions = { ...RULE.conditions, event_types: [] };
    const to = await channel(receiver.url);
    await rule(to, { mode: ESCALATION, conditions });
    const mode = { kind: 'digest' as const, at: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    await fix();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2, group: 'db' });
    const waiting = await fix({ agentId: other });
    await exploited('CVE-2026-1');
    await watch();
    const hold = {
      ...{ ecosystems: ['apt'], packages: ['opens*'], reason: 'breaks the shop' },
      scope: { kind: 'some', groups: [], hosts: [it.agentId], tags: [] },
    };
    const placed = await call('POST', '/api/v1/holds', { ...hold, ends_at: '2026-11-22T09:00:00Z' });
    expect(placed.status).toBe(201);
    clock.advance(4 * HOUR_MS);
    await escalate();
    const [first] = await messages();
    expect(first.payload.fixes).toMatchObject([{ updates_waiting: 1, updates_held: 1 }]);
    expect(first.summary).toContain('Approving, rejecting and holding are decisions');
    const { body: set } = await call('GET', `${URL}/notices/${first.id}`);
    expect(set.updates).toMatchObject([{ id: waiting }]);

    await call('POST', `/api/v1/updates/${waiting}/reject`, {});
    await rule(to, { mode, conditions });
    clock.advance(12 * HOUR_MS);
    await escalate();
    expect(await messages()).toHaveLength(1);
    clock.advance(Date.parse('2026-11-22T08:59:59Z') - it.platform.now());
    await escalate();
    expect(await messages()).toHaveLength(1);
    clock.advance(2_000);
    await escalate();
    expect((await messages()).at(-1).payload.fixes).toMatchObject([{ updates_waiting: 1, updates_held: 0 }]);
    await call('POST', '/api/v1/holds', { ...hold, ends_at: '2026-11-29T09:00:00Z' });
    clock.advance(2 * HOUR_MS);
    await digest();
    const shown = (await messages())
      .at(-1)
      .sections.find(({ title }: { title: string }) => title === 'Exploited');
    expect(shown.items[0].text).toMatch(/openssl 2 fixes CVE-2026-1: 0 updates wait, 1 held, known for/);
  });

  test('a digest comes again after a clock that was a year ahead is set back', async () => {
    const { channel, rule, digest, messages, clock, receiver } = await open(engine);
    const mode = { kind: 'digest' as const, at: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    await rule(await channel(receiver.url), { mode, conditions: { ...RULE.conditions, event_types: [] } });
    clock.advance(365 * DAY_MS);
    await digest();
    expect(await messages()).toHaveLength(1);
    clock.advance(-365 * DAY_MS);
    await digest();
    await digest();
    expect(await messages()).toHaveLength(2);
    clock.advance(2 * HOUR_MS);
    await digest();
    expect(await messages()).toHaveLength(3);
  });

  test('a digest counts everything since the last one, however much, and lists the first failures', async () => {
    const { channel, rule, event, digest, messages, clock, receiver } = await open(engine);
    const mode = { kind: 'digest' as const, at: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    const conditions = { ...RULE.conditions, event_types: [] };
    await rule(await channel(receiver.url), { mode, conditions });
    await event({ count: 25 });
    for (let i = 0; i < 11; i += 1) await event({ count: 1_000, type: 'events_missed', severity: 'warning' });
    await event({ severity: 'critical' });
    clock.advance(3 * HOUR_MS);
    await digest();
    const [message] = await messages();
    expect(message.summary).toContain('26 failed since the last digest');
    expect(message.severity).toBe('critical');
    expect(message.payload).toMatchObject({
      failed: 26,
      events_by_type: { update_failed: 26, events_missed: 11_000 },
    });
    const failed = message.sections.find(({ title }: { title: string }) => title === 'Failed');
    expect(failed.items).toHaveLength(21);
    expect(failed.items.at(-1).text).toBe('and 6 more');
  });

  test('a digest says what waits, failed, is due and is exploited, at its time and once', async () => {
    const { call, channel, event, fix, exploited, watch, digest, messages, clock, receiver } =
      await open(engine);
    const mode = { kind: 'digest' as const, at: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    const conditions = { ...RULE.conditions, event_types: [], minimum_severity: 'error' };
    const body = { ...RULE, name: 'Morning', channel_id: await channel(receiver.url), mode, conditions };
    const added = await call('POST', `${URL}/rules`, body);
    expect(Value.Parse(NotificationRule, added.body).next_digest_at).toBe('2026-11-21T10:00:00.000Z');
    const hold = { ecosystems: ['apt'], packages: ['vim'], scope: { kind: 'all' }, reason: 'x' };
    expect((await call('POST', '/api/v1/holds', { ...hold, ends_at: '2026-11-22T09:00:00Z' })).status).toBe(
      201,
    );
    await fix();
    await exploited('CVE-2026-1');
    await watch();
    await event({ count: 2, content: { reason: 'disk full' } });
    await digest();
    expect(await messages()).toEqual([]);
    // The server was down at ten.
    clock.advance(3 * HOUR_MS);
    await Promise.all([digest(), digest()]);
    await digest();
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    const sections = Object.fromEntries(
      message.sections.map(({ title, items }: { title: string; items: { text: string }[] }) => [
        title,
        items.map(({ text }) => text),
      ]),
    );
    expect(sections).toMatchObject({
      Waits: [
        '1 update waits for a decision',
        '1 of them fixes known vulnerabilities',
        '0 updates have failed',
      ],
      Failed: [expect.stringContaining('disk full'), expect.stringContaining('disk full')],
      Due: [expect.stringContaining('End of the hold of vim')],
      Exploited: [expect.stringContaining('openssl 2 fixes CVE-2026-1: 1 update waits')],
      'Events since the last digest': [
        'an update failed: 2',
        'the fix of an exploited vulnerability waits: 1',
      ],
    });
    clock.advance(DAY_MS);
    await digest();
    expect((await messages()).length).toBe(2);
  });

  test('a rule for groups speaks of their hosts alone', async () => {
    const { database, agentId, channel, rule, event, fix, exploited, watch, take, deliveries, receiver } =
      await open(engine);
    const { agentId: web } = await insertTestAgent(database, { n: 2, group: 'web' });
    const types = ['update_failed', 'exploited_fix_waits'] as const;
    const conditions = { ...RULE.conditions, event_types: [...types], groups: ['web'] };
    await rule(await channel(receiver.url), { conditions });
    await event({ agentId });
    await event();
    await fix();
    await exploited('CVE-2026-1');
    await watch();
    await take();
    expect(await deliveries()).toEqual([]);
    await event({ agentId: web });
    await take();
    expect((await deliveries()).map(({ events }) => events)).toEqual([1]);
  });

  test('the set of a notice has its updates alone, for operators of the whole fleet and of their hosts', async () => {
    const { app, database, addUpdate, agentId, channel, rule, event, take, deliveries, receiver } =
      await open(engine);
    const { agentId: web } = await insertTestAgent(database, { n: 2, group: 'web' });
    const ids = [await addUpdate({ name: 'curl' }), await addUpdate({ name: 'vim', agentId: web })];
    await addUpdate({ name: 'bash' });
    await rule(await channel(receiver.url));
    await event({ agentId, content: { updates: ids.map((update_id) => ({ update_id })) } });
    await take();
    const [delivery] = await deliveries();
    const read = async (groups?: string) => {
      const headers = groups === undefined ? {} : { 'x-test-groups': groups };
      const answer = await app.inject({ url: `${URL}/notices/${delivery?.id}`, headers });
      return { status: answer.statusCode, body: answer.json() };
    };
    const whole = await read();
    expect(whole.body.updates.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(whole.body.subject).toContain('Not installed');
    const bound = await read('web');
    expect(bound.body).toMatchObject({ subject: null, summary: null, left_out: 0 });
    expect(bound.body.updates.map(({ name }: { name: string }) => name)).toEqual(['vim']);
    expect((await read('db')).status).toBe(404);
  });

  test('deliveries are listed, filtered, shown with their attempts, and sent again', async () => {
    const { call, channel, rule, event, take, deliver, receiver } = await open(engine);
    const id = await channel(receiver.url);
    const ruleId = await rule(id);
    for (let i = 0; i < 3; i += 1) {
      await event();
      await take();
    }
    receiver.status = 410;
    await deliver(id);
    receiver.status = 200;
    await deliver(id);
    const list = async (query: string) => (await call('GET', `${URL}/deliveries?${query}`)).body;
    const all = await list('limit=2');
    expect(all).toMatchObject({ total: 3, next_cursor: expect.any(String) });
    const rest = await list(`limit=2&cursor=${all.next_cursor}`);
    expect([...all.items, ...rest.items].map(({ state }) => state)).toEqual(['waiting', 'delivered', 'dead']);
    expect((await list(`state=dead&rule_id=${ruleId}`)).total).toBe(1);
    const [dead] = (await list('state=dead')).items;
    const { body: shown } = await call('GET', `${URL}/deliveries/${dead.id}`);
    expect(shown.tries).toMatchObject([{ is_delivered: false, answer: expect.stringContaining('410') }]);
    expect((await call('POST', `${URL}/deliveries/resend`, { channel_id: id })).body).toEqual({ resent: 1 });
    await deliver(id);
    await deliver(id);
    expect(await list('state=delivered')).toMatchObject({ total: 3 });
  });
});
