import { counted } from '@tidegate/protocol/count-words';
import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import { type Place, placeOf, type Tone } from './overview-rules.ts';

/** Something to do, and where. */
export interface Act {
  readonly id: string;
  /** What there is to do, with its number: `3 hosts are offline`. */
  readonly text: string;
  /** What it means. */
  readonly why: string;
  readonly button: string;
  readonly place: Place;
  readonly tone: Tone;
}

/**
 * What there is to do, the most urgent first: exploited, fixes, what stands still and why, hosts that are gone,
 * housekeeping. What is zero, or not for this caller, is left out.
 */
export function actsOf({
  needs_me: now,
  lying,
  as_of: asOf,
}: Pick<Overview, 'needs_me' | 'lying' | 'as_of'>): readonly Act[] {
  return [
    ...actFor(now.exploited, 'bad', {
      id: 'exploited',
      text: (n) => `${updates(n)} ${n === 1 ? 'concerns' : 'concern'} a vulnerability that attackers use`,
      why: 'Known to be exploited. Decide on these first.',
      button: 'Review',
    }),
    ...actFor(now.critical_fixes, 'bad', {
      id: 'critical',
      text: (n) => `${updates(n)} ${n === 1 ? 'fixes' : 'fix'} a critical vulnerability`,
      why: 'The worst that is rated. Decide on these before other fixes.',
      button: 'Review',
    }),
    ...actFor(now.fixes, 'bad', {
      id: 'fixes',
      text: (n) => `${updates(n)} ${n === 1 ? 'fixes' : 'fix'} known vulnerabilities`,
      why: 'The hosts stay vulnerable until they are installed.',
      button: 'Review',
    }),
    ...actFor(now.security, 'warn', {
      id: 'security',
      text: (n) =>
        `${n.toLocaleString('en')} security ${n === 1 ? 'update waits' : 'updates wait'} for approval`,
      why: 'Their publishers mark them as security updates.',
      button: 'Review',
    }),
    ...actFor(now.clones_suspected, 'bad', {
      id: 'clones',
      text: (n) => `${hosts(n)} may be ${n === 1 ? 'a clone' : 'clones'}`,
      why: 'Two machines use the identity of one host. Decide which is the real one.',
      button: 'Decide',
    }),
    ...actFor(lying.token_reuse, 'bad', {
      id: 'reuse',
      text: (n) => `Used credentials came back ${times(n)} in the last day`,
      why: 'A copy of a host\u2019s credentials may be in use.',
      button: 'See the events',
    }),
    ...actFor(lying.machine_mismatches, 'bad', {
      id: 'mismatches',
      text: (n) => `Requests came from the wrong machine ${times(n)} in the last day`,
      why: 'Changed hardware, or credentials that were copied to another machine.',
      button: 'See the events',
    }),
    ...actFor(now.divergences_open, 'bad', {
      id: 'divergences',
      text: (n) =>
        `${n === 1 ? '1 package has' : `${n.toLocaleString('en')} packages have`} different files under one version`,
      why: 'Their updates are stopped until somebody decides which file is right.',
      button: 'Decide',
    }),
    ...actFor(now.stopped, 'warn', {
      id: 'stopped',
      text: (n) => `${updates(n)} ${n === 1 ? 'is' : 'are'} stopped by known vulnerabilities`,
      why: 'In what would be installed. Each can wait for a better version, or be approved with a reason.',
      button: 'Review',
    }),
    ...actFor(now.blocked, 'warn', {
      id: 'blocked',
      text: (n) =>
        `${updates(n)} ${n === 1 ? 'was' : 'were'} refused when somebody asked for ${n === 1 ? 'it' : 'them'}`,
      why: 'The page of each update says what stops it, and who may override that.',
      button: 'See why',
    }),
    ...actFor(now.waiting.unchecked, 'unknown', {
      id: 'unchecked',
      text: (n) => `${updates(n)} could not be checked for vulnerabilities`,
      why: 'No source knows the packages, or it did not answer.',
      button: 'Review',
    }),
    ...actFor(now.judging_overdue, 'unknown', {
      id: 'judging_overdue',
      text: (n) => `${updates(n)} ${n === 1 ? 'has' : 'have'} not been judged for over an hour`,
      why: 'Their plans are missing, or the vulnerability data could not be asked.',
      button: 'See which',
    }),
    ...actFor(now.failed, 'bad', {
      id: 'failed',
      text: (n) => `${counted(n, 'installation')} failed`,
      why: 'The page of each update has the reason and the output.',
      button: 'See why',
    }),
    ...actFor(now.approvals_undelivered, 'warn', {
      id: 'undelivered',
      text: (n) =>
        `${n.toLocaleString('en')} approved ${n === 1 ? 'installation has' : 'installations have'} not reached ${n === 1 ? 'its host' : 'their hosts'}`,
      why: 'Hosts fetch them when they check in.',
      button: 'See which',
    }),
    ...actFor(now.waiting.clear, 'plain', {
      id: 'clear',
      text: (n) =>
        `${updates(n)} ${n === 1 ? 'is' : 'are'} clear and ${n === 1 ? 'waits' : 'wait'} for approval`,
      why: 'Nothing is known against them.',
      button: 'Review',
    }),
    ...actFor(now.hosts_offline, 'warn', {
      id: 'offline',
      text: (n) => `${hosts(n)} ${n === 1 ? 'is' : 'are'} offline`,
      why: 'They report nothing and get no updates until they check in.',
      button: 'See which',
    }),
    ...actFor(now.hosts_unbound, 'warn', {
      id: 'unbound',
      text: (n) => `${hosts(n)} ${n === 1 ? 'is' : 'are'} not bound to a machine`,
      why: 'The next machine that shows their credentials becomes the host.',
      button: 'See which',
    }),
    ...actFor(now.lists_stale, 'warn', {
      id: 'lists_stale',
      text: (n) => `${hosts(n)} ${n === 1 ? 'has' : 'have'} package lists older than two days`,
      why: 'Newer updates are not known, so do not rely on "nothing to install". The page of each host says what to do.',
      button: 'See which',
    }),
    ...actFor(now.clocks_wrong, 'warn', {
      id: 'clocks_wrong',
      text: (n) =>
        `${n === 1 ? 'The clock of 1 host is' : `The clocks of ${n.toLocaleString('en')} hosts are`} wrong`,
      why: 'One that is 15 minutes ahead refuses everything that is approved. The page of each says what to do.',
      button: 'See which',
    }),
    ...ofTheSource(lying),
    ...ofBackups(now.backup, asOf),
    ...actFor(now.keys_due, 'warn', {
      id: 'keys',
      text: () => 'The signing key is older than a year',
      why: 'Rotate it: hosts follow by themselves.',
      button: 'Rotate',
    }),
    ...actFor(now.registration_tokens_ending, 'warn', {
      id: 'tokens',
      text: (n) =>
        `${n === 1 ? '1 line that adds hosts expires' : `${n.toLocaleString('en')} lines that add hosts expire`} soon`,
      why: 'Hosts that still have to join need a new one. Renew it, or withdraw it if all have joined.',
      button: 'Renew',
    }),
    ...actFor(now.dead_letters, 'warn', {
      id: 'dead_letters',
      text: (n) =>
        `${n.toLocaleString('en')} ${n === 1 ? 'notification was' : 'notifications were'} never delivered`,
      why: 'The receiver refused them, or did not answer for days. They can be sent again.',
      button: 'See why',
    }),
  ];
}

const DAY_MS = 86_400_000;

function ofBackups(backup: Overview['needs_me']['backup'], asOf: string): readonly Act[] {
  if (!backup?.due) return [];
  const days = Math.floor((Date.parse(asOf) - Date.parse(backup.taken_at ?? asOf)) / DAY_MS);
  return [
    {
      ...{ id: 'backup', tone: 'warn', button: 'See how', place: { to: '/settings', search: {} } },
      text:
        backup.taken_at === null ? 'The server was never backed up' : `There is no backup for ${days} days`,
      why: 'If its disk fails, every host has to be enrolled again, and the record of what was approved is lost.',
    },
  ];
}

/** What keeps the server from judging well. */
function ofTheSource({ advisories, clock, restore }: Overview['lying']): readonly Act[] {
  const settings = { button: 'Open settings', place: { to: '/settings', search: {} }, tone: 'warn' } as const;
  return [
    ...advisories.stale.map(({ ecosystem }) => ({
      ...{ id: `stale ${ecosystem}`, text: `The vulnerability data of ${ecosystem} is too old` },
      ...{ why: 'Its updates cannot be judged until newer data is fetched.', ...settings },
    })),
    ...advisories.missing.map((ecosystem) => ({
      ...{ id: `missing ${ecosystem}`, text: `There is no vulnerability data for ${ecosystem}` },
      ...{ why: 'Its packages cannot be checked.', ...settings },
    })),
    ...(clock.ok
      ? []
      : [
          {
            ...{ id: 'clock', text: 'The clock of the server is behind its own records', ...settings },
            why: 'Correct it: hosts refuse what is signed at the wrong time.',
          },
        ]),
    ...(restore.resync_open
      ? [
          {
            ...{ id: 'resync', text: 'The fleet is catching up with a restored database', ...settings },
            why: 'Hosts with credentials newer than the database are accepted once. Close it when all are back.',
          },
        ]
      : []),
  ];
}

interface Words {
  readonly id: string;
  readonly text: (count: number) => string;
  readonly why: string;
  readonly button: string;
}

function actFor(figure: Figure | null, tone: Tone, { text, ...words }: Words): readonly Act[] {
  const place = figure && placeOf(figure.opens);
  if (!figure || !place || figure.count === 0) return [];
  return [{ ...words, text: text(figure.count), place, tone }];
}

const updates = (n: number): string => counted(n, 'update');
const hosts = (n: number): string => counted(n, 'host');
const times = (n: number): string => (n === 1 ? 'once' : `${n.toLocaleString('en')} times`);
