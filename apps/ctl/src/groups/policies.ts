import type { Api } from '@tidegate/client/api';
import { HOLDS, OPENINGS, POLICIES, ROLLOUTS } from '@tidegate/terminal/lists';
import { showRecord } from '@tidegate/terminal/show-record';
import { atMinute, scopeText, words } from '@tidegate/terminal/words';
import { change, list, show, table } from '../act.ts';
import type { Group } from '../group.ts';

const DAY_CHARS = 10;
/** Of the file of a policy: they decide nothing. */
const NOT_JUDGED = ['name', 'text', 'ends_at'];
type Rollout = Api['GET /api/v1/rollouts/{id}']['answer'];

export const POLICIES_GROUP: Group = {
  name: 'policies',
  summary: 'policies that approve by themselves',
  about: `FILE is a policy as the API takes it, such as examples/policies/sundays.json. A policy approves in the name of who publishes it, so
publish and replace need a login. preview-draft and backtest-draft judge a file and store nothing.`,
  acts: [
    list('GET /api/v1/policies', { act: 'list', columns: POLICIES }),
    show('GET /api/v1/policies/{id}', { act: 'show', byName: 'policy' }),
    show('GET /api/v1/policies/{id}/preview', { act: 'preview', byName: 'policy' }),
    show('GET /api/v1/policies/{id}/backtest', { act: 'backtest', byName: 'policy' }),
    show('POST /api/v1/policies/preview', { act: 'preview-draft', ignores: NOT_JUDGED }),
    show('POST /api/v1/policies/backtest', { act: 'backtest-draft', ignores: NOT_JUDGED }),
    change('POST /api/v1/policies', {
      act: 'publish',
      says: ({ name, id }) => `The policy ${JSON.stringify(name)} is in force: ${id}`,
    }),
    change('PUT /api/v1/policies/{id}', {
      act: 'replace',
      byName: 'policy',
      says: ({ name, version }) => `The policy ${JSON.stringify(name)} is in force in version ${version}.`,
    }),
    change('DELETE /api/v1/policies/{id}', {
      act: 'revoke',
      byName: 'policy',
      says: 'The policy is revoked. What it has approved keeps its approval.',
    }),
  ],
};

const told = (text: string) => (answer: Rollout) => `${text} The rollout is ${answer.state}.`;

export const ROLLOUTS_GROUP: Group = {
  name: 'rollouts',
  summary: 'waves of versions through the rings of policies',
  acts: [
    list('GET /api/v1/rollouts', { act: 'list', columns: ROLLOUTS }),
    show('GET /api/v1/rollouts/{id}', { act: 'show' }),
    list('GET /api/v1/rollouts/{id}/hosts', {
      act: 'hosts',
      columns: {
        HOST: ({ hostname }) => hostname,
        RING: ({ ring }) => ring,
        OUTCOME: ({ outcome }) => words(outcome),
        DELIVERED: ({ delivered_at: at }) => at && atMinute(at),
        REASON: ({ reason }) => reason,
      },
    }),
    change('POST /api/v1/rollouts/{id}/halt', { act: 'halt', says: told('Nothing more is approved.') }),
    change('POST /api/v1/rollouts/{id}/resume', {
      act: 'resume',
      says: told('The failed hosts do not count any more.'),
    }),
    change('POST /api/v1/rollouts/{id}/cancel', {
      act: 'cancel',
      says: told('Its versions are left to people.'),
    }),
    change('POST /api/v1/rollouts/{id}/emergency', {
      act: 'emergency',
      says: told('No ring waits any more for its hosts to run the update for a while.'),
    }),
    change('POST /api/v1/rollouts/{id}/approve', {
      act: 'approve',
      says: told('The next ring is approved.'),
    }),
    change('POST /api/v1/rollouts/{id}/rollback', {
      act: 'rollback',
      about: { after: 'go on after this host: next of the answer before' },
      says: (answer) => showRecord(answer),
    }),
  ],
};

export const HOLDS_GROUP: Group = {
  name: 'holds',
  summary: 'packages that stay as they are: list, show, place, release',
  about: `In a PATTERN * stands for any characters. Nothing that would change such a package is approved, and what was approved is withdrawn
unless a host has begun. Without --group, --tag and --host it is for all hosts.`,
  acts: [
    list('GET /api/v1/holds', { act: 'list', columns: HOLDS }),
    show('GET /api/v1/holds/{id}', { act: 'show' }),
    change('POST /api/v1/holds', {
      act: 'place',
      operands: ['package'],
      called: { package: 'PATTERN' },
      about: { ecosystem: 'the package managers (all of them)' },
      defaults: () => ({ ecosystem: ['apt', 'dnf', 'npm', 'pypi'] }),
      says: ({ id, packages, scope, ends_at: until, held }) =>
        [
          `On hold (${id}) until ${atMinute(until)}: ${packages.join(' ')} on ${scopeText(scope)}.`,
          ...(held
            ? [
                `Kept back now: ${held.updates} updates, ${held.security_updates} of them security updates, on ${held.hosts} hosts.`,
              ]
            : []),
        ].join('\n'),
    }),
    change('DELETE /api/v1/holds/{id}', {
      act: 'release',
      says: 'The hold is released. Its updates still have to be approved.',
    }),
  ],
};

export const WINDOWS_GROUP: Group = {
  name: 'windows',
  summary: 'windows of policies and blackouts: list, blackouts, show, freeze, thaw',
  about: `list is the calendar. freeze begins a blackout: hosts are given no command that changes them, whoever approved it. One that recurs is
made from a file. thaw ends a blackout before its time.`,
  acts: [
    table('GET /api/v1/calendar', {
      act: 'list',
      about: { days: 'how many days, 1 to 62 (31)' },
      defaults: (nowMs) => ({
        from: new Date(nowMs).toISOString().slice(0, DAY_CHARS),
        days: '31',
        zone: 'UTC',
      }),
      items: ({ entries }) => entries,
      columns: OPENINGS,
    }),
    list('GET /api/v1/blackouts', {
      act: 'blackouts',
      columns: {
        NAME: ({ name }) => name,
        STATE: ({ state }) => state,
        HOSTS: ({ scope }) => scopeText(scope),
        NEXT: ({ active, next }) => {
          const [time] = active ? [active] : next;
          return time && `${atMinute(time.starts_at)} to ${atMinute(time.ends_at)}`;
        },
        REASON: ({ reason }) => reason,
      },
    }),
    show('GET /api/v1/blackouts/{id}', { act: 'show', byName: 'blackout' }),
    change('POST /api/v1/blackouts', {
      act: 'freeze',
      means: 'Begin a blackout: withhold every change from hosts for a time, whoever approved it',
      operands: ['name'],
      inside: ['times'],
      fixed: { 'times.kind': 'once' },
      names: { starts_at: 'from' },
      about: { from: 'when it begins, such as 2026-12-01T00:00:00Z' },
      says: frozenText,
    }),
    change('POST /api/v1/blackouts', {
      act: 'freeze-often',
      means: 'Begin a blackout that recurs, from a file',
      says: frozenText,
    }),
    change('POST /api/v1/blackouts/{id}/end', {
      act: 'thaw',
      byName: 'blackout',
      says: 'The blackout is ended. What it withheld is delivered with the next check-ins.',
    }),
  ],
};

function frozenText({ name, scope, state }: Api['POST /api/v1/blackouts']['answer']): string {
  return `The blackout ${JSON.stringify(name)} is ${state}: ${scopeText(scope)}.`;
}
