import type { BlockedBy, BlockReason } from './approvals-api.ts';
import type { OriginRule } from './origins-api.ts';
import type { CommandAction } from './states.ts';

/** Why an update was stopped, as the end of a sentence. */
const STOP_REASONS: Readonly<Record<BlockReason, string>> = {
  artifact_divergence: 'a file differs from what other hosts reported',
  artifact_unknown_to_registry: 'a file differs from that of its registry',
  held: 'a package is on hold',
  known_vulnerability: 'a package has a known vulnerability',
  too_young: 'a version is too young',
  unknown_age: 'the age of a version is not known',
  unreachable: 'the source of known vulnerabilities did not answer',
  uncovered: 'no database of vulnerabilities covers a package',
  undecidable: 'a version cannot be compared with the database of vulnerabilities',
  not_chosen: 'the policy names other versions',
  ecosystem: 'the policy does not name the package manager',
  package: 'the policy does not name the package',
  excepted: 'the policy leaves the package out',
  origin: 'the package does not come from an origin of the policy',
  not_security: 'the policy is for security updates',
  severity: 'it fixes nothing of the severity that the policy asks for',
  change: 'the change of version is greater than the policy allows',
  policy_age: 'a version is younger than the policy asks',
  policy_age_unknown: 'the age of a version is not known',
  age_exception: 'it passes the minimum age only by an exception',
  ring_not_entered: 'the rollout has not entered the ring of the host',
  unproven: 'no host of an inner ring has installed a package of it',
};

/** The same where an older event has no reason that is known. */
const STOPS: Readonly<Record<BlockedBy, string>> = {
  divergence: STOP_REASONS.artifact_divergence,
  registry: STOP_REASONS.artifact_unknown_to_registry,
  hold: STOP_REASONS.held,
  age: 'a version is too young, or its age is not known',
  policy: 'the policy leaves it to people',
  vulnerability: STOP_REASONS.known_vulnerability,
  unchecked: 'the packages could not be checked',
};

const ACTIONS: Readonly<Record<CommandAction, string>> = {
  scan: 'scan',
  plan_update: 'plan an update',
  install_update: 'install an update',
  repair: 'repair packages',
  reboot: 'reboot',
  restart_services: 'restart services',
  update_agent: 'update the agent',
  refresh_keys: 'refresh the keys',
  run_probes: 'run the probes',
  set_polling: 'set the check-in interval',
};

const RULES: Readonly<Record<OriginRule, string>> = {
  ask: 'ask each time',
  allow_older_than: 'allow what is old enough',
  allow: 'allow',
};

/** Codes that say little by their letters. */
const OTHERS = {
  totp: 'authenticator app',
  unchecked: 'not checked',
  grace_exhausted: 'more often than a lost response explains',
  displaced: 'another one had taken its place',
  superseded: 'a newer one had replaced it',
  ahead_of_database: 'it is newer than the database',
  not_sealed: 'its row has no valid seal of this server',
  not_valid: 'its row is not a command',
};

const WORDS: ReadonlyMap<string, string> = new Map(Object.entries({ ...OTHERS, ...ACTIONS, ...RULES }));
const REASONS: ReadonlyMap<string, string> = new Map(Object.entries(STOP_REASONS));
const CAUSES: ReadonlyMap<string, string> = new Map(Object.entries(STOPS));
/** A code at the start of a reason, with another one in brackets where it has two. */
const LEADING_CODE = /^[a-z]+(?:_[a-z]+)+(?: \([a-z_]+\))?(?=$|[:;,.] ?)/;

/** A code in words; what is none is returned as it is. */
export function codeWords(code: string): string {
  return WORDS.get(code) ?? reasonWords(code);
}

/** A reason that may begin with a code, as programs give them: `fetch_failed: the mirror did not answer`. */
export function reasonWords(reason: string): string {
  return REASONS.get(reason) ?? reason.replace(LEADING_CODE, (code) => code.replaceAll('_', ' '));
}

/** Why an update was stopped, by both codes of an event; either may be missing. */
export function stopWords({ by, reason }: { by: string; reason: string }): string {
  return REASONS.get(reason) ?? CAUSES.get(by) ?? reasonWords(reason || by);
}
