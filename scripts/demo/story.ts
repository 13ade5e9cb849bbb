import type { DemoHost } from './host.ts';
import { type Call, PASSWORD, type Person } from './people.ts';

const DAY_MS = 86_400_000;
/** The history ends here, and the fleet lives on. */
const PRESENT = 30;

interface Stage {
  readonly call: Readonly<Record<Person, Call>>;
  readonly hosts: readonly DemoHost[];
  readonly now: () => number;
  readonly chatUrl: string;
}

/** What people do on which day, and what becomes of some hosts. */
export function storyOf({ call, hosts, now, chatUrl }: Stage) {
  const { ada, ben } = call;
  const named = (name: string) => {
    const host = hosts.find((one) => one.name === name);
    if (!host) throw new Error(`there is no host ${name}`);
    return host;
  };
  const later = (days: number) => new Date(now() + days * DAY_MS).toISOString();
  const date = () => new Date(now()).toISOString().slice(0, 10);

  /** Approves what a list shows, all of it at once. */
  async function approve(by: Call, filter: string): Promise<void> {
    const { items } = await by('GET', `/updates?state=pending&limit=200&${filter}`);
    const update_ids = Array.isArray(items) ? items.map((one) => String(Object(one).id)) : [];
    if (update_ids.length > 0) await by('POST', '/updates/approve', { update_ids });
  }

  const days: Readonly<Record<number, () => Promise<void>>> = {
    0: async () => {
      const people = { ben: 'approver', eva: 'approver', kim: 'viewer' };
      for (const [username, role] of Object.entries(people)) {
        await ada('POST', '/admin/operators', { username, password: PASSWORD, role });
      }
      await ada('POST', '/admin/operators', { username: 'tom', password: PASSWORD, role: 'admin' });
      const webhook = { kind: 'webhook', url: chatUrl, allow_http: true };
      const chat = await ada('POST', '/notifications/channels', {
        name: 'Operations chat',
        is_enabled: true,
        config: webhook,
      });
      const dead = { kind: 'webhook', url: 'http://127.0.0.1:9/', allow_http: true };
      const pager = await ada('POST', '/notifications/channels', {
        name: 'Old pager',
        is_enabled: true,
        config: dead,
      });
      const rule = (name: string, id: unknown, conditions: object) =>
        ada('POST', '/notifications/rules', {
          ...{ name, is_enabled: true, channel_id: id, quiet_hours: null },
          conditions: {
            ...{
              event_types: [],
              minimum_severity: 'warning',
              groups: [],
              ecosystems: [],
              exploited_only: false,
            },
            ...conditions,
          },
          mode: { kind: 'at_once', batch_seconds: 10 },
        });
      await rule('Failed and exploited', chat.id, {
        event_types: ['update_failed', 'exploited_fix_waits', 'rollout_halted', 'MACHINE_ID_MISMATCH'],
        minimum_severity: 'info',
      });
      await rule('Hosts that are gone', pager.id, { event_types: ['agent_offline'] });
      await ada('POST', '/admin/api-tokens', {
        ...{ label: 'nightly report', role: 'viewer', scopes: null, expires_at: later(120) },
      });
    },
    1: () => approve(ben, 'group=lab'),
    3: async () => {
      await ada('POST', '/policies', ringPolicy(later(300)));
      await ada('POST', '/policies', sundayPolicy(date(), later(300)));
      await ada('PUT', '/reboot-slots', {
        group: 'web',
        max_at_once: 2,
        min_healthy: 4,
        halt_after: 2,
      });
    },
    4: () => approve(ben, 'security=false'),
    9: async () => {
      await ada('POST', '/views', {
        name: 'Web servers',
        page: 'updates',
        query: { group: 'web' },
        shared: true,
      });
      await ada('PUT', '/admin/vulnerability-policy', { policy: 'introduced' });
    },
    10: async () => {
      await ada('POST', '/admin/origins', {
        ...{
          ecosystem: 'apt',
          key: '9dc858229fc7dd38854ae2d88d81803c0ebfcd88',
          suites: ['Docker CE:bookworm'],
        },
        ...{ rule: 'allow_older_than', min_age_days: 3, ends_at: later(180) },
        reason: 'The build hosts run containers.',
      });
    },
    12: async () => {
      await ada('POST', '/holds', {
        ...{ ecosystems: ['apt'], packages: ['postgresql-*'], scope: some('db') },
        ...{ reason: 'The accountants close their year first.', ends_at: later(60) },
      });
    },
    13: async () => {
      const { items } = await ada('GET', '/admin/operators');
      const tom = Array.isArray(items) ? items.find((one) => Object(one).username === 'tom') : null;
      await ada('PATCH', `/admin/operators/${Object(tom).id}`, { role: 'viewer' });
      await ada('PATCH', `/admin/operators/${Object(tom).id}`, { disabled: true });
    },
    15: async () => {
      await ada('POST', '/admin/vex-statements', {
        ...{ vulnerability: 'CVE-2026-40660', ecosystem: 'apt', package: 'zlib', distribution: 'debian' },
        ...{ versions: ['1:1.2.13.dfsg-1'], scope: { kind: 'all' }, status: 'not_affected' },
        ...{ justification: 'vulnerable_code_not_in_execute_path', ends_at: later(90) },
        text: 'Nothing here unpacks archives of strangers.',
      });
      await ada('POST', '/blackouts', {
        ...{ name: 'Year end', reason: 'The shop earns its year.', scope: some('web') },
        times: { kind: 'once', starts_at: later(35), ends_at: later(42) },
      });
    },
    16: async () => {
      await approve(ben, 'q=linux-image');
      await approve(ben, 'q=kernel');
    },
    17: async () => {
      const asked = { kind: 'reboot', scope: { kind: 'all' }, reason: 'The new kernel.', deadline: later(9) };
      await ada('POST', '/reboots', asked);
    },
    18: () => approve(ben, 'q=nginx'),
    20: async () => {
      named('files-01').stopFetchingLists();
    },
    21: async () => {
      await ada('POST', '/admin/age-exceptions', {
        ...{ ecosystem: 'npm', name: 'left-pad', version: '1.3.1', expires_at: later(25) },
        reason: 'The build of the shop needs it today.',
      });
    },
    23: () => approve(call.eva, 'group=app'),
    27: () => approve(call.eva, 'group=app'),
    28: async () => {
      await named('web-03').tellProbes(false);
    },
    29: async () => {
      // print-01 is off, so what was approved for it waits.
      await approve(ben, 'group=office');
      named('vpn-01').moveToOtherHardware();
      const asked = { label: 'new web servers', seats: 5, group: 'web', expires_at: later(6) };
      await ada('POST', '/admin/registration-tokens', asked);
    },
  };

  return {
    /** print-01 is switched off for the last day and a half; vpn-01 on its other hardware gives up at once. */
    isUp: ({ name }: DemoHost, day: number) =>
      (name !== 'print-01' || day < 28) && (name !== 'vpn-01' || day < PRESENT),
    act: async (day: number) => days[day]?.(),
    /** People are in when the history meets the present. */
    async end(): Promise<void> {
      for (const by of Object.values(call)) await by('GET', '/auth/session');
    },
  };
}

const some = (group: string) => ({ kind: 'some', groups: [group], hosts: [] });

const TERMS = {
  ...{ ecosystems: ['apt', 'dnf'], packages: ['*'], except_packages: [], origins: [] },
  ...{ minimum_severity: null, max_change: 'any', remaining_vulnerabilities: 'approve' },
};

function ringPolicy(endsAt: string) {
  const gate = { min_success_rate_percent: 100, probes: 'none', approval: false };
  return {
    ...{ name: 'Security fixes', scope: { kind: 'all' }, windows: [], ends_at: endsAt },
    text: 'Security fixes by themselves: the lab first, two days later the web servers, then everything.',
    terms: {
      ...TERMS,
      security_only: true,
      min_age_hours: null,
      except_packages: ['linux-image-*', 'kernel'],
    },
    rings: [
      {
        ...{ name: 'lab', members: some('lab'), deadline_minutes: 1_440 },
        gate: { ...gate, min_success_count: 1, soak_minutes: 2 * 1_440 },
        halt: { failed_hosts: 1, failed_percent: null },
      },
      {
        ...{ name: 'web servers', members: some('web'), deadline_minutes: 1_440 },
        gate: { ...gate, min_success_count: 1, soak_minutes: 720 },
        halt: { failed_hosts: 2, failed_percent: null },
      },
      {
        ...{ name: 'everything else', members: { kind: 'rest' }, gate: null, deadline_minutes: 2_880 },
        halt: { failed_hosts: 3, failed_percent: null },
      },
    ],
    unproven: { wait_days: 1 },
  };
}

function sundayPolicy(startsOn: string, endsAt: string) {
  return {
    ...{ name: 'Sundays at two', scope: some('office'), ends_at: endsAt },
    text: 'The office is closed on Sundays: everything clear, and the reboots that it needs.',
    terms: { ...TERMS, security_only: false, min_age_hours: 24 },
    windows: [
      {
        ...{ rrule: 'FREQ=WEEKLY;BYDAY=SU', starts_on: startsOn, start: '02:00', zone: 'Europe/Berlin' },
        ...{ duration_minutes: 600, catch_up_hours: 12 },
      },
    ],
    reboot: { when: 'needed', warn_minutes: 15 },
  };
}
