import { differences, operatorChange, rateLimitChange, tagChange } from './change-narratives.ts';
import { codeWords, reasonWords, stopWords } from './code-words.ts';
import type { SecurityEventType, SystemEventType } from './event-types.ts';
import { isolated } from './isolated.ts';

/** A time as the server writes it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const COUNT = /^\d+$/;
/** Of a list, by name. */
const LISTED_MAX = 3;

/** The parts of an event that a narrative uses. The server or an agent wrote the content: any of it may be missing. */
export interface NarratedEvent {
  readonly type: string;
  readonly actor: string | null;
  readonly content: unknown;
}

/** Reads a text, or a list of texts, at a path of the content; empty if there is none. */
type Read = (path: string) => string;
type Sentence = (read: Read, event: NarratedEvent) => string;

const SIGNS: Readonly<Record<string, string>> = {
  boot_id_returned: 'an earlier boot id came back',
  uptime_went_back: 'its uptime went backwards',
  address_alternates: 'its address alternates',
};

/** Who acts without being an operator. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ...['server', 'sweep'].map((actor) => [actor, 'The server'] as const),
  ['environment', 'The environment of the server'],
  ['agent', 'The host'],
]);

/** How a reboot or restart ended. */
const REBOOT_ENDS: Readonly<Record<string, string>> = {
  rebooted: 'is done',
  done: 'is done',
  failed: 'failed',
  cancelled: 'was cancelled',
  expired: 'was not done in time',
};

/** What became of the author of a policy. */
const LOST: Readonly<Record<string, string>> = {
  author_disabled: 'is disabled',
  author_demoted: 'may not approve any more',
  author_bound: 'is limited to some groups now',
  author_deleted: 'is deleted',
};

const NARRATIVES: Readonly<Record<SecurityEventType | SystemEventType, Sentence> & Record<string, Sentence>> =
  {
    MACHINE_ID_MISMATCH: (read) =>
      `A machine with the id ${read('reported_machine_id') || '(none)'} used the credentials of the host, which is bound to ${read('recorded_machine_id') || '(none)'}. It was refused.`,
    REFRESH_TOKEN_REUSE: (read) =>
      `A refresh token was used again${because(codeWords(read('reason')))}${from(read('address'))}: someone else may have a copy. The host's credentials were revoked.`,
    REFRESH_GRACE_USED: () =>
      'The host renewed again with its previous token: the last response did not reach it.',
    REFRESH_RESYNC: (read, { actor }) =>
      ({
        opened: `${by(actor)} opened a resync after a restore${because(read('reason'))}: hosts ahead of the database are accepted once.`,
        closed: `${by(actor)} closed the resync.`,
      })[read('act')] ?? 'The host was resynced after a restore, because a resync is open.',
    MACHINE_REBOUND: (read, { actor }) =>
      `${by(actor)} cleared the machine binding${because(read('reason'))}. The next machine that checks in with the host's token is bound.`,
    MACHINE_BOUND: (read) => `The host is bound to the machine id ${read('machine_id') || '(unknown)'}.`,
    AGENT_ENROLLED: (read) =>
      `${read('hostname') || 'A host'} enrolled${read('again') === 'true' ? ' again, after its credentials had ended' : ''}.`,
    ENROLMENT_REFUSED: (read) =>
      `A machine named ${read('hostname') || '(unknown)'} tried to enrol as this host, with a registration token of ${groupOf(read('token_group'))}; the host is in ${groupOf(read('host_group'))}. It was refused.`,
    HOST_GROUP_CHANGED: (read, { actor }) =>
      `${by(actor)} moved the host from ${groupOf(read('before'))} to ${groupOf(read('after'))}.`,
    HOST_TAGS_CHANGED: (_, { actor, content }) =>
      `${actor === 'agent' ? 'The host reported other tags' : `${by(actor)} changed the tags of the host`}${tagChange(content)}.`,
    AGENT_REVOKED: (read, { actor }) =>
      read('act') === 'journal_replayed'
        ? 'Revocations made since the backup were applied again after a restore.'
        : `${by(actor)} ${read('act') === 'delete' ? 'deleted the host' : 'revoked the credentials of the host'}${because(read('reason'))}.`,
    COMMAND_REFUSED: (read, { actor }) =>
      actor === 'server'
        ? `The server refused to sign a stored command (${codeWords(read('action')) || 'unknown'}): ${codeWords(read('check')) || 'a check failed'}. The database may have been changed by hand.`
        : `The host refused a command: ${reasonWords(read('message') || read('check')) || 'a check failed'}.`,
    PLAN_DRIFT: (read) =>
      `The changes no longer match the approved plan: ${reasonWords(read('message')) || 'they differ'}.`,
    ARTIFACT_MISMATCH: (read) =>
      `A file does not have the approved hash: ${reasonWords(read('message')) || 'it differs'}.`,
    ARTIFACT_DIVERGENCE: (read) =>
      read('package.name') === ''
        ? `${read('count') || 'Some'} more packages were reported with different hashes.`
        : `${packageOf(read)} was reported with two different hashes. It cannot be approved until this is settled.`,
    ARTIFACT_DIVERGENCE_DECIDED: (read, { actor }) =>
      `${by(actor)} decided which hashes of ${packageOf(read)} are right${because(read('reason'))}.`,
    ARTIFACT_DIVERGENCE_UNDONE: (read, { actor }) =>
      `${by(actor)} undid the decision about the hashes of ${packageOf(read)}${because(read('reason'))}.`,
    ARTIFACT_LEDGER_FLOOD: (read) =>
      read('role') === 'opponent'
        ? 'Several hosts contradict this one about many packages. Its package reports are ignored until an operator trusts it again.'
        : 'The host contradicts others about more packages than one host may. Its package reports are ignored until an operator trusts it again.',
    ARTIFACT_HOST_TRUSTED: (read, { actor }) =>
      actor === 'server'
        ? 'The package reports of the host count again, because the hosts that it contradicted are now ignored.'
        : `${by(actor)} trusts the package reports of the host again${because(read('reason'))}.`,
    CLONE_SUSPECTED: (read, { actor }) =>
      actor === 'server'
        ? `Two machines seem to use the identity of the host (${SIGNS[read('sign')] ?? 'unknown sign'}).`
        : `The host suspects that it is a clone: ${reasonWords(read('message')) || 'no details'}.`,
    CLONE_DISMISSED: (read, { actor }) =>
      `${by(actor)} confirmed that the suspected clone is one machine${because(read('reason'))}.`,
    AGENT_ERROR: (read) => `The agent reported an error: ${reasonWords(read('message')) || 'no details'}.`,
    SIGNING_KEY_ADDED: (read, { actor }) => `${by(actor)} added signing key ${read('version')}.`,
    SIGNING_KEY_REVOKED: (read, { actor }) =>
      `${by(actor)} revoked signing key ${read('version')} permanently.`,
    SIGNING_ROOT_CHANGED: (read, { actor }) =>
      `${by(actor)} installed root document ${read('version')}: ${read('threshold')} of its keys must sign.`,
    LOGIN_FAILED: (read) =>
      `A login${read('username') === '' ? '' : ` as ${read('username')}`} failed${from(read('address'))}.`,
    LOGIN_SUCCEEDED: (read, { actor }) =>
      `${by(actor)} logged in${read('provider') === '' ? '' : ` by the identity provider ${read('provider')}`}${from(read('address'))}.`,
    LOGINS_SLOWED: (read) =>
      `Many wrong passwords were tried${read('username') === '' ? '' : ` for ${read('username')}`}: logins from unknown devices are delayed.`,
    SECOND_FACTOR_ASKED: (read, { actor }) =>
      `${by(actor)} was asked for a second factor${from(read('address'))}.`,
    STEP_UP_FAILED: (_, { actor }) => `${by(actor)} failed to confirm their identity.`,
    STEP_UP_SUCCEEDED: (_, { actor }) => `${by(actor)} confirmed their identity.`,
    FACTOR_ADDED: (read, { actor }) =>
      `${by(actor)} added a second factor${named(codeWords(read('factor')))}.`,
    FACTOR_REMOVED: (read, { actor }) =>
      `${by(actor)} removed a second factor${named(codeWords(read('factor')))}.`,
    FACTORS_RESET: (read, { actor }) =>
      `${by(actor)} removed every second factor of ${read('username') || 'an operator'}.`,
    RECOVERY_CODE_USED: (_, { actor }) => `${by(actor)} used a recovery code instead of a second factor.`,
    PASSKEY_CLONE_SUSPECTED: (_, { actor }) =>
      `A passkey of ${actor ?? 'an operator'} may have been copied: its counter went back.`,
    SESSION_REVOKED: (read, { actor }) =>
      read('by_reset') === 'true'
        ? `${by(actor)} reset the access of ${read('username') || 'an operator'}, which ended ${many(read('sessions'), 'session')}.`
        : `${by(actor)} ended ${read('sessions') === '1' ? 'a session' : many(read('sessions'), 'session')}${read('provider') === '' ? '' : ` opened by the identity provider ${read('provider')}`}${whose(read('username'), actor)}.`,
    OPERATOR_CHANGED: (_, { actor, content }) => operatorChange(content, by(actor)),
    IDENTITY_PROVIDER_CHANGED: (read, { actor, content }) =>
      `${by(actor)} ${didTo(read)} the identity provider ${read('provider')}${changesIn(content)}${read('secret_changed') === 'true' ? ' (with a new secret)' : ''}.`,
    IDENTITY_CHANGED: (read, { actor }) => {
      const whose = read('username') || 'an operator';
      switch (read('change')) {
        case 'bound':
          return `${by(actor)} bound an account of ${read('provider')} to ${whose}.`;
        case 'access_lost':
          return `${whose} lost all access: no group at ${read('provider')} gives a role any more.`;
        case 'access_regained':
          return `${whose} has access again by its groups at ${read('provider')}.`;
        default:
          return `${by(actor)} unbound an account of an identity provider from ${whose}.`;
      }
    },
    API_TOKEN_CREATED: (read, { actor }) =>
      `${by(actor)} created the API token “${read('label')}”${named(codeWords(read('role')))}.`,
    API_TOKEN_REVOKED: (read, { actor }) =>
      read('tokens') === ''
        ? `${by(actor)} revoked the API token “${read('label')}”.`
        : `${by(actor)} reset the access of ${read('username') || 'an operator'}, which revoked ${many(read('tokens'), 'API token')}.`,
    FLEET_LOCK_TOKEN_CHANGED: (read, { actor }) =>
      `${by(actor)} ${didTo(read)} a FleetLock token of ${groupOf(read('group'))}.`,
    REGISTRATION_TOKEN_CHANGED: (read, { actor }) =>
      `${by(actor)} ${didTo(read)} the registration token “${read('label')}” (${read('seats_used') || '0'} of ${read('seats') || '?'} seats used).`,
    RATE_LIMITS_CHANGED: (_, { actor, content }) => rateLimitChange(content, by(actor)),
    NOTIFICATION_CHANNEL_CHANGED: (read, { actor, content }) =>
      `${by(actor)} ${didTo(read)} the channel “${read('name')}” of notifications${named(codeWords(read('kind')))}${changesIn(content)}${read('address_changed') === 'true' ? ' (it sends to another address)' : ''}${read('secret_changed') === 'true' ? ' (with a new secret)' : ''}.`,
    NOTIFICATION_RULE_CHANGED: (read, { actor, content }) =>
      `${by(actor)} ${didTo(read)} the rule “${read('name')}” of notifications${changesIn(content)}.`,
    OUTSIDER_BUDGET_SPENT: (read) =>
      `${read('subject') || 'All unknown clients together'} exceeded the daily limit for ${read('kind').replaceAll('_', ' ') || 'data'} (${read('rows_a_day') || '?'} rows, ${read('bytes_a_day') || '?'} bytes). The rest of the day is counted but not stored.`,
    RESTORE_DETECTED: (read) =>
      `The database was restored: it is older than this server's own records (epoch ${read('previous_epoch')} to ${read('epoch')}${read('events_lost') === '' ? '' : `, ${read('events_lost')} events lost`}).`,
    ROW_SEAL_BROKEN: (read) =>
      `A database row (${codeWords(read('table')) || 'unknown table'}, ${read('row') || 'unknown'}) has no valid seal of this server. Something else wrote or changed it, so it is refused.`,
    ROWS_SEALED: (read, { actor }) =>
      `${by(actor)} sealed ${read('rows') || 'some'} database rows as they were${because(read('reason'))}.`,
    supply_chain_override: (read, { actor }) =>
      `${by(actor)} overrode the gate for ${packageOf(read)}: ${stopWords({ by: read('cause.blocked_by'), reason: read('cause.reason') }) || 'why it had stopped is not known'}${because(read('reason'))}. Signature and hashes are still verified.`,
    approval_blocked: (read, { actor }) =>
      `The gate stopped the approval of ${packageOf(read)} by ${byWhom(actor)}: ${stopWords({ by: read('blocked_by'), reason: read('reason') }) || 'no cause given'}.`,
    bulk_approval_asked: (read, { actor }) =>
      `${by(actor)} asked to approve ${many(read('update_count'), 'update')} at once${byFilter(read('filter'))}. Each has its own event when it is approved.`,
    bulk_approval_blocked: (read, { actor }) =>
      `The gate stopped ${many(read('count'), 'update')} of a bulk approval by ${byWhom(actor)}.`,
    age_exception_added: (read, { actor }) =>
      `${by(actor)} excepted ${packageOf(read)} from the minimum age until ${read('expires_at') || '(no end)'}${because(read('reason'))}.`,
    age_exception_ended: (read, { actor }) => `${by(actor)} ended the age exception for ${packageOf(read)}.`,
    vulnerability_policy_changed: (read, { actor }) =>
      read('after') === 'introduced'
        ? `${by(actor)} set the vulnerability policy${changedFrom(read)} to "introduced": what a host has already no longer stops an update.`
        : `${by(actor)} set the vulnerability policy${changedFrom(read)} to "any": every known vulnerability stops an update.`,
    vex_statement_added: (read, { actor }) =>
      `${by(actor)} ${read('status') === 'accepted' ? 'accepted the risk of' : 'stated that nothing is affected by'} ${read('vulnerability') || 'a vulnerability'} in ${packageOf(read)} until ${read('ends_at') || '(no end)'}${because(read('text'))}.`,
    vex_statement_revoked: (read, { actor }) =>
      `${by(actor)} revoked the statement about ${read('vulnerability') || 'a vulnerability'} in ${packageOf(read)}. It stops updates again.`,
    vex_statement_expired: (read) =>
      `The statement about ${read('vulnerability') || 'a vulnerability'} in ${packageOf(read)} has ended. It stops updates again.`,
    blackout_created: (read, { actor }) =>
      `${by(actor)} began the blackout “${read('name')}”: its hosts are not changed meanwhile${because(read('reason'))}.`,
    blackout_ended: (read, { actor }) =>
      `${by(actor)} ended the blackout “${read('name')}” before its time${because(read('reason'))}.`,
    hold_placed: (read, { actor }) =>
      `${by(actor)} put ${read('packages') || 'packages'} on hold until ${read('ends_at') || '(no end)'}${because(read('reason'))}.`,
    hold_released: (read, { actor }) =>
      `${by(actor)} released the hold of ${read('packages') || 'packages'}. Their updates can be approved again.`,
    hold_expired: (read) =>
      `The hold of ${read('packages') || 'packages'} has ended. Their updates can be approved again.`,
    fix_appeared: (read) => `There is a fix of ${read('vulnerability')} in ${read('package')}.`,
    exploited_fix_waits: (read) =>
      `${packageOf(read)} fixes ${read('vulnerabilities') || 'a vulnerability'}, which is known to be exploited, and waits for a decision.`,
    mitigation_noted: (read, { actor }) =>
      `${by(actor)} noted ${read('hook') || 'no hook'} as mitigation of ${read('vulnerability')}.`,
    origin_registered: (read, { actor }) =>
      `${by(actor)} registered the third-party origin ${read('suites') || 'of unknown suites'} (rule: ${codeWords(read('rule')) || 'unknown'}) until ${read('ends_at') || '(no end)'}${because(read('reason'))}.`,
    origin_revoked: (read, { actor }) =>
      `${by(actor)} revoked the registered origin ${read('suites') || 'of unknown suites'}. Its updates stop again.`,
    origin_expired: (read) =>
      `The registered origin ${read('suites') || 'of unknown suites'} has ended. Its updates stop again.`,
    policy_published: (read, { actor }) =>
      `${by(actor)} published version ${read('version') || '(unknown)'} of the policy “${read('name')}”, which approves updates by itself until ${read('ends_at') || '(no end)'}${because(read('text'))}.`,
    policy_revoked: (read, { actor }) =>
      `${by(actor)} revoked the policy “${read('name')}”. It approves nothing any more.`,
    policy_suspended: (read) =>
      `The policy “${read('name')}” is suspended, because its author ${read('author') || '(unknown)'} ${LOST[read('reason')] ?? 'lost the right to it'}. It approves nothing until somebody publishes it again.`,
    policy_expired: (read) => `The policy “${read('name')}” has ended. It approves nothing any more.`,
    policy_window_ahead: (read) =>
      `The policy “${read('name')}” has a window from ${read('opens_at') || '(unknown)'} to ${read('closes_at') || '(unknown)'}. Now it would approve ${many(String(Number(read('approves')) + Number(read('unplanned'))), 'update')} on ${many(read('hosts'), 'host')} in it, and leave ${read('leaves') || 'some'} to people.`,
    rollout_started: (read) =>
      `A rollout of “${read('policy')}” began with ring “${read('ring_name')}”: ${many(read('packages'), 'package')}, ${many(read('hosts'), 'host')}.`,
    rollout_ring_entered: (read) => `The rollout of “${read('policy')}” entered ring “${read('ring_name')}”.`,
    rollout_ring_approved: (read, { actor }) =>
      `${by(actor)} approved the next ring of the rollout of “${read('policy')}”.`,
    rollout_expedited: (read, { actor }) =>
      `${by(actor)} had the rollout of “${read('policy')}” skip its waiting times${because(read('reason'))}.`,
    rollout_halted: (read, { actor }) =>
      `${by(actor)} halted the rollout of “${read('policy')}”${because(reasonWords(read('reason')))}.`,
    rollout_resumed: (read, { actor }) =>
      `${by(actor)} resumed the rollout of “${read('policy')}”${because(read('reason'))}.`,
    rollout_cancelled: (read, { actor }) =>
      `${by(actor)} cancelled the rollout of “${read('policy')}”${because(read('reason'))}.`,
    rollout_finished: (read) =>
      `The rollout of “${read('policy')}” is finished on ${many(read('installed'), 'host')}.`,
    update_approved: (read, { actor }) =>
      `${by(read('approved_by') || actor)} approved ${updatesOf(read)} (${codeWords(read('verdict')) || 'not judged'}${read('override') === 'true' ? ', with an override' : ''}).${notChecked(read('unchecked'))}`,
    approval_countersigned: (_, { actor }) => `${by(actor)} added a second signature to an approval.`,
    update_installed: (read) => `Installed: ${updatesOf(read)}.`,
    update_failed: (read) =>
      `Not installed: ${updatesOf(read)} (${reasonWords(read('reason') || read('status')) || 'no reason given'}).`,
    rollback_requested: (read, { actor }) =>
      `${by(actor)} asked to undo: ${updatesOf(read)}${because(read('reason'))}.`,
    repair_ordered: (read, { actor }) =>
      `${by(actor)} ordered the repair of ${read('package_count') === '0' ? 'the package database' : many(read('package_count'), 'unfinished package')}.`,
    repair_ended: (read) =>
      read('status') === 'success'
        ? 'The packages of the repair are finished.'
        : `The repair ended as ${codeWords(read('status')) || 'unknown'}${because(reasonWords(read('reason')))}.`,
    reboots_asked: (read, { actor }) =>
      `${by(actor)} asked for ${read('kind') === 'reboot' ? 'reboots' : 'restarts of services'} on ${many(read('hosts'), 'host')}${because(read('reason'))}.`,
    reboot_ended: (read) =>
      `${read('kind') === 'reboot' ? 'The reboot' : 'The restart of services'} ${(Object.hasOwn(REBOOT_ENDS, read('state')) && REBOOT_ENDS[read('state')]) || 'has ended'}${because(read('detail') === read('state') ? '' : reasonWords(read('detail')))}.`,
    reboots_halted: (read) =>
      `Reboots of ${groupOf(read('group'))} are halted: ${many(read('failed'), 'host')} failed.`,
    reboot_slot_released: (read, { actor }) =>
      `${by(actor)} released the slot of ${read('client') || 'the host'}${because(read('reason'))}.`,
    reboot_limits_changed: (read, { actor, content }) =>
      `${by(actor)} changed the limits of reboots of ${groupOf(read('group'))}${changesIn(content)}.`,
    fleet_lock_changed: (read) =>
      `FleetLock client ${read('client')} of ${groupOf(read('group'))}: slot ${codeWords(read('change')) || 'changed'}.`,
    agent_offline: (read) =>
      `${read('hostname') || 'The host'} has not checked in since ${read('last_seen_at') || 'an unknown time'}.`,
    probes_red: (read) =>
      `${read('count') === '1' ? 'A probe' : `${read('count') || 'Some'} probes`} turned red: ${read('probes') || 'unknown'}.`,
    probes_recovered: () => 'No probe is red any more.',
    client_error: (read) => `The console failed in a browser: ${read('message') || 'no details'}.`,
    advisories_replaced: (read, { actor }) =>
      `${by(actor)} replaced the advisories for ${read('ecosystem') || 'an ecosystem'}: ${read('records_before') || 'some'} records by ${read('records') || 'others'}.`,
    notification_channel_failing: (read) =>
      `Notifications do not reach the channel “${read('name')}”${because(reasonWords(read('reason')))}. They wait, and are tried again.`,
    notification_channel_recovered: (read) => `Notifications reach the channel “${read('name')}” again.`,
    advisories_stale: (read) =>
      `The advisories for ${read('ecosystem') || 'an ecosystem'} are too old to judge updates: they date from ${read('as_of') || 'an unknown time'}.`,
    shared_view_changed: (read, { actor }) =>
      `${by(actor)} ${didTo(read)} the shared view “${read('name')}” of ${codeWords(read('page')) || 'a list'}.`,
    events_pruned: (read) =>
      `Events ${read('from_position')} to ${read('to_position')} were removed${read('retention_days') ? ` because they were older than ${read('retention_days')} days` : ` on the server, by ${read('removed_by') || 'somebody'}`}.`,
    events_missed: (read) =>
      `${read('follower') || 'A reader of the events'} missed ${read('missed')} events, which were removed before it had read them; it continues after event ${read('continues_after')}.`,
  };

/** Describes an event in a sentence, in which names turn the direction of nothing else; an unknown type is described by its name. */
export function narrativeOf(event: NarratedEvent): string {
  const sentence = Object.hasOwn(NARRATIVES, event.type) ? NARRATIVES[event.type] : undefined;
  if (!sentence) return `${event.type}.`;
  const actor = event.actor === null ? null : isolated(event.actor);
  return sentence((path) => textAt(event.content, path), { ...event, actor });
}

/** Every type, by name. */
export const EVENT_TYPES: readonly string[] = Object.keys(NARRATIVES).toSorted((a, b) => a.localeCompare(b));

function textAt(content: unknown, path: string): string {
  let value: unknown = content;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return '';
    value = Reflect.get(value, name);
  }
  if (Array.isArray(value)) return listOf(value.filter((one) => typeof one === 'string'));
  if (typeof value === 'string' && TIME.test(value))
    return `${value.slice(0, 10)} ${value.slice(11, 16)} UTC`;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? isolated(String(value))
    : '';
}

function listOf(names: readonly string[]): string {
  const others = names.length - LISTED_MAX;
  return `${names.slice(0, LISTED_MAX).map(isolated).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

const by = (actor: string | null): string =>
  actor === null ? 'Somebody' : actor.startsWith('policy/') ? 'A policy' : (PROGRAMS.get(actor) ?? actor);
/** The same within a sentence. */
const byWhom = (actor: string | null): string => {
  const who = by(actor);
  return who === actor ? who : `${who.charAt(0).toLowerCase()}${who.slice(1)}`;
};
/** `1 update`, `1,200 updates`, `some updates`. */
const many = (count: string, noun: string): string =>
  count === '1' ? `1 ${noun}` : `${COUNT.test(count) ? Number(count).toLocaleString('en') : 'some'} ${noun}s`;
const whose = (username: string, actor: string | null): string =>
  username === '' ? '' : username === actor ? ' of their own' : ` of ${username}`;
const because = (reason: string): string => (reason === '' ? '' : ` (${reason})`);
const from = (address: string): string => (address === '' ? '' : ` from ${address}`);
const byFilter = (filter: string): string => (filter === '' ? '' : `, by the filter ${filter}`);
const groupOf = (name: string): string => (name === '' ? 'no group' : `the group ${name}`);
/** Events name the act in the past: created, changed, deleted. */
const didTo = (read: Read): string => codeWords(read('change')) || 'changed';
const changedFrom = (read: Read): string =>
  read('before') === '' ? '' : ` from "${codeWords(read('before'))}"`;

/** What differs between `before` and `after`, or the content itself where it has no `after`. */
function changesIn(content: unknown): string {
  if (typeof content !== 'object' || content === null || !('before' in content)) return '';
  const told = differences(content.before, 'after' in content ? content.after : content);
  return told === '' ? '' : `: ${told}`;
}

const named = (name: string): string => (name === '' ? '' : ` (${name})`);

function packageOf(read: Read, at = 'package'): string {
  const name = read(`${at}.name`);
  return name === '' ? 'a package' : `${name} ${read(`${at}.version`)}`.trimEnd();
}

/** The first package of an event about several updates, and how many more there are. */
function updatesOf(read: Read): string {
  const others = Number(read('update_count') || 1) - 1;
  const first = packageOf(read, 'updates.0.package');
  if (others < 1) return first;
  return `${first} and ${others.toLocaleString('en')} more ${others === 1 ? 'update' : 'updates'}`;
}

/** A pass without a check never reads like one with a check. */
function notChecked(reason: string): string {
  return reason ? ` NOT FULLY CHECKED for known vulnerabilities: ${reasonWords(reason)}.` : '';
}
