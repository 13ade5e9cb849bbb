import type { Schema } from '@tidegate/client/request-shape';
import { choice, file, flag, many, type Option, text } from '@tidegate/command-line/declare';
import { type Member, valuesOf, withoutNull } from './members.ts';

/** What a member means where its schema does not say, by the name of its option. */
const ABOUT: Readonly<Record<string, string>> = {
  accept: 'the hash that is right, or all',
  remove: 'the key of a tag',
  days: 'how many days',
  page: 'the page of the console',
  shared: 'for all operators',
  'not-before': 'deliver it not before this time',
  'expires-at': 'when it ends, such as 2027-03-01T00:00:00Z',
  os: 'id of the system, such as debian',
  after: 'go on after this one',
  action: 'what is asked of the host',
  replaces: 'the SHA-256 of the version that it replaces',
  'restart-services': 'whether services that run replaced files are restarted',
  probes: 'state of its probes',
  'up-to-date': 'whether nothing is open on it but what holds keep back',
  held: 'whether a hold keeps it back',
  lists: 'how old its package lists are',
  clock: 'whether its clock is that of the server',
  below: 'in a version before this one',
  reboot: 'whether it needs a reboot',
  'services-restart': 'whether services need a restart',
  'clone-suspected': 'whether it may be a clone',
  online: 'whether it has checked in lately',
  'agent-version': 'version of the agent',
  alternatives: 'also versions that are not recommended',
  cause: 'why, for the users of the host',
  component: 'the part of the server that wrote it',
  'confirm-count': 'how many there are, as the list or the preview has it',
  'current-version': 'the version on the host',
  distribution: 'the release of a distribution, such as debian:12',
  'dry-run': 'say what would happen, and do nothing',
  ecosystem: 'the package manager',
  enabled: 'whether it is in force',
  exploited: 'whether it is known to be exploited',
  file: 'the request as JSON, as the API takes it; - is the standard input',
  'stopped-under': 'by known vulnerabilities, under this setting',
  blocked: 'whether it was refused when somebody asked for it',
  due: 'whether its time has come',
  ending: 'with free seats, and soon over',
  'fixes-exploited': 'whether it fixes what is known to be exploited',
  'fixes-severity': 'how severe the worst is that it fixes',
  fixes: 'whether it fixes a vulnerability',
  force: 'true: also where hosts have to enrol again',
  format: 'form of the document',
  from: 'the first day, such as 2026-12-01 (today)',
  group: 'the hosts of a group',
  'halt-after': 'hosts that failed and stop the group',
  hook: "a hook of the hosts' root that keeps it from harm",
  host: 'a host, by id or whole host name',
  hours: 'for how long',
  installs: 'what it installs',
  introduces: 'whether it brings a vulnerability',
  'interval-seconds': 'how often it checks in',
  justification: 'why it is not affected',
  keep: 'what stays',
  key: 'the signing key, as hosts report it',
  keyid: 'the key that signed',
  kind: 'which of the two',
  label: 'what it is for',
  'max-at-once': 'hosts that may be down at once',
  'max-change': 'the largest change of the version',
  'min-age-days': 'with the rule allow_older_than: how old',
  'min-healthy': 'others that must be up and well',
  mitigated: 'whether somebody has noted what keeps it from harm',
  name: 'whole name of the package',
  note: 'what it does',
  offer: 'why the version is offered',
  open: 'true: only those that are not decided',
  'only-needed': 'only hosts that need it',
  outcome: 'only those with this outcome',
  'override-reason': 'why the gate is overridden',
  'override-supply-chain': 'approve although the gate stops it',
  'operator-id': 'whose; an admin may ask for others',
  package: 'name of the package',
  policy: 'only those of this policy, by id',
  'public-key-hex': 'a public key whose private half the server never sees',
  reason: 'why',
  'repair-sha256': 'the plan of the repair, as hosts show has it',
  requests: 'how many in a window',
  ring: 'the ring, counted from 0',
  role: 'what it may do',
  'root-since': 'version of the newest root that is known',
  rule: 'what the gate makes of its packages',
  scope: 'what it may be used for',
  seats: 'hosts that may enrol with it (1)',
  search: 'part of the name',
  security: 'whether it is a security update',
  set: 'a tag to set, such as env=prod',
  severity: 'how severe',
  sig: 'the signature, in base64',
  since: 'not before this time',
  sort: 'the order, turned round by a - in front',
  state: 'only those in this state',
  status: 'only those with this status',
  stays: 'whether a vulnerability stays',
  suite: 'a suite of the origin',
  tag: 'a tag, such as env=prod',
  text: 'what a reader has to know',
  type: 'only those of this type',
  unit: 'a unit (all that run replaced files)',
  until: 'when it ends, such as 2027-03-01T00:00:00Z',
  update: 'whether an update of it is known',
  'update-id': 'only those of this update',
  username: 'name of the operator',
  variant: 'build of the version',
  vulnerability: 'its id, such as CVE-2026-1234',
  verdict: "what the gate's sources say of it",
  version: 'a version',
  'warn-minutes': 'how long logged-in users are warned before',
  'window-seconds': 'length of the window',
  zone: 'the time zone (UTC)',
};

/** Longest set of values that stands in a call. */
const CHOICE_MAX = 48;

const SHORT_TAKES: Readonly<Record<string, string>> = {
  group: 'GROUP',
  tag: 'TAG',
  host: 'HOST',
  name: 'NAME',
  label: 'TEXT',
  reason: 'TEXT',
};

/** The options that stand for a member; none where the value is asked for or is an operand. */
export function optionsOf(member: Member, words: Readonly<Record<string, string>>): Record<string, Option> {
  const { name, kind, schema: given } = member;
  const schema = withoutNull(given);
  const about = words[name] ?? aboutOf(name, schema);
  const values = valuesOf(schema);
  switch (kind) {
    case 'secret':
      return {};
    case 'file':
      return { file: { ...file(words.file ?? ABOUT.file ?? ''), short: 'f' } };
    case 'flag':
      return { [name]: flag(about) };
    case 'many': {
      const items = valuesOf(schema.items ?? {});
      return {
        [name]: many(items === null ? text(takesOf(name, schema.items ?? {}), about) : choice(items, about)),
      };
    }
    case 'hosts':
      return { [name]: many(text('HOST', about)) };
    case 'hosts_of':
      return scopeOptions(schema);
    default:
      return { [name]: values === null ? text(takesOf(name, schema), about) : oneOf(name, values, about) };
  }
}

/** A choice; where its values are long, help names the choice and lists them with its meaning. */
function oneOf(name: string, values: readonly string[], about: string): Option {
  if (values.join('|').length <= CHOICE_MAX) return choice(values, about);
  const shown = values.filter((value) => !value.startsWith('-'));
  return {
    ...text(name.toUpperCase().replaceAll('-', '_'), `${about}: ${shown.join(', ')}`),
    completes: values,
  };
}

/** Several groups, tags and hosts, or one group or host; without them all hosts. */
function scopeOptions(schema: Schema): Record<string, Option> {
  const group = text('GROUP', 'the hosts of a group (all hosts)');
  const host = text('HOST', 'a host, by id or whole host name');
  if (!takesSeveral(schema)) return { group, host };
  return {
    group: many(group),
    tag: many(text('TAG', 'the hosts with a tag, such as env=prod')),
    host: many(host),
  };
}

export function takesSeveral(scope: Schema): boolean {
  return (scope.anyOf ?? []).some(({ properties = {} }) => 'hosts' in properties);
}

export function takesOf(name: string, schema: Schema): string {
  if (schema.type === 'integer') return 'N';
  if (typeof schema.pattern === 'string' && schema.pattern.startsWith('^\\d{4}-')) return 'TIME';
  return SHORT_TAKES[name] ?? (/^(q|id|.*-id)$/.test(name) ? 'ID' : 'TEXT');
}

function aboutOf(name: string, schema: Schema): string {
  const known = ABOUT[name] ?? schema.description ?? name.replaceAll('-', ' ');
  const bounds = boundsOf(schema);
  return bounds === null ? known : `${known}, ${bounds}`;
}

export function boundsOf({ minimum, maximum }: Schema): string | null {
  if (typeof minimum !== 'number' || typeof maximum !== 'number') return null;
  return maximum === Number.MAX_SAFE_INTEGER ? null : `${minimum} to ${maximum}`;
}
