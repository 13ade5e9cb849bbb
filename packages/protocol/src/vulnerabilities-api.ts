import { type Static, Type } from 'typebox';
import { ExploitedList } from './exploited-api.ts';
import { sortBy } from './lists-api.ts';
import { Count, Ecosystem, nullable, strict, Timestamp, Uuid, VulnerabilityId } from './scalars.ts';
import { UpdateState } from './states.ts';
import { ADVISORY_SEVERITIES } from './updates-api.ts';

export const VULNERABILITY_SORTS = ['urgency', 'hosts', 'first_seen_at'] as const;
export const VULNERABILITY_SORT_DEFAULT = '-urgency';
export const VulnerabilitySort = sortBy(
  VULNERABILITY_SORTS,
  `default ${VULNERABILITY_SORT_DEFAULT}; urgency: known exploited first, then the most severe, then the most likely to be exploited`,
);
export type VulnerabilitySort = Static<typeof VulnerabilitySort>;

export const VULNERABILITY_FIXES = ['fixable', 'waiting', 'unfixed'] as const;

export const VulnerabilityFilter = {
  severity: Type.Optional(Type.Enum(ADVISORY_SEVERITIES)),
  exploited: Type.Optional(Type.Enum(['true', 'false', 'unknown'])),
  fix: Type.Optional(
    Type.Enum(VULNERABILITY_FIXES, {
      description:
        'on some host: fixable by an update that waits for approval, an update that waits for something else, or no update',
    }),
  ),
  cve: Type.Optional(VulnerabilityId),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'part of an id or alias, of the summary or, for operators of the whole fleet, of the name of a package',
    }),
  ),
};

const counts = {
  /** Hosts that have it, as last counted: the sum of the next three. */
  hosts: Count,
  /** Pending updates are judged to fix it, and nothing but an approval is missing. */
  fixable_hosts: Count,
  /** Updates are judged to fix it, and something else is missing: a plan, a hold's end, the check, or the installation. */
  waiting_hosts: Count,
  /** No update is judged to fix it. */
  unfixed_hosts: Count,
};

/** A known vulnerability of what hosts have installed. */
export const VulnerabilityItem = strict({
  /** Its CVE, or the id of the advisory that names none. */
  id: Type.String(),
  names: Type.Array(Type.String()),
  summary: Type.String(),
  severity: nullable(Type.String()),
  /** Whether it is known to be exploited; null: nobody knows. */
  exploited: nullable(Type.Boolean()),
  /** The likelihood that it will be exploited (EPSS); null: not known. */
  epss: nullable(Type.Number({ minimum: 0, maximum: 1 })),
  packages: Type.Array(
    strict({
      ecosystem: Ecosystem,
      /** As the vulnerability database calls it: `Debian:12`, `npm`. */
      distribution: Type.String(),
      /** The source package where records name sources. */
      package: Type.String(),
      installed_packages: Type.Array(Type.String(), {
        description: 'none for operators who are bound to groups',
      }),
      /** The lowest fixed version that the database names; null: none. */
      fixed_in: nullable(Type.String()),
    }),
  ),
  ...counts,
  first_seen_at: Timestamp,
  /** Since when no host has it; null while one has it. */
  gone_at: nullable(Timestamp),
});
export type VulnerabilityItem = Static<typeof VulnerabilityItem>;

export const VulnerabilityDetail = strict({
  ...VulnerabilityItem.properties,
  /** The other vulnerabilities that an advisory with this id covers. */
  covers: Type.Array(Type.String()),
  exploited_list: ExploitedList,
  /** The days on which CISA listed it as exploited, and until which it asks for the fix. */
  exploited_since: nullable(Type.String()),
  fix_due_on: nullable(Type.String()),
  /** When the hosts were last counted; null: never yet. */
  counted_at: nullable(Timestamp),
  /** Hosts without a complete report, or with packages that nobody could judge: they may have it too. */
  unknown_hosts: Count,
});
export type VulnerabilityDetail = Static<typeof VulnerabilityDetail>;

/** What the list rests on: on hosts that are not known whole there may be more. */
export const VulnerabilityCoverage = strict({
  at: nullable(Timestamp),
  hosts: Count,
  unknown_hosts: Count,
  exploited_list: ExploitedList,
  /** Kinds of installed packages that were not judged, and why; the first of them. */
  not_judged: Type.Array(
    strict({
      ecosystem: Ecosystem,
      os: Type.String(),
      /** `cannot`: no database covers them, or they do not say enough. `not_yet`: they are being looked up. */
      reason: Type.Enum(['cannot', 'not_yet']),
      packages: Count,
    }),
  ),
});
export type VulnerabilityCoverage = Static<typeof VulnerabilityCoverage>;

export const AFFECTED_STATES = [...VULNERABILITY_FIXES, 'fixed'] as const;

/** What an update that fixes it waits for. */
export const FIX_WAITS = ['approval', 'plan', 'check', 'gate', 'hold', 'installation'] as const;

/** Packages, and updates, that the row of one host says. */
export const AFFECTED_SAID_MAX = 200;

/** A host that has it now, or had it. */
export const AffectedHost = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  group: nullable(Type.String()),
  state: Type.Enum(AFFECTED_STATES),
  packages: Type.Array(strict({ name: Type.String(), version: Type.String() }), {
    maxItems: AFFECTED_SAID_MAX,
    description: 'what is installed of it now, the first of it',
  }),
  fixes: Type.Array(
    strict({
      update_id: Uuid,
      name: Type.String(),
      version: Type.String(),
      state: UpdateState,
      waits_for: Type.Enum(FIX_WAITS),
    }),
    { maxItems: AFFECTED_SAID_MAX, description: 'the updates that are judged to fix it, the first of them' },
  ),
  /** When the last version that has it was removed or replaced; null while it has it. */
  fixed_at: nullable(Timestamp),
});
export type AffectedHost = Static<typeof AffectedHost>;
