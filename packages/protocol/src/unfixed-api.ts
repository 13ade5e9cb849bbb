import { type Static, Type } from 'typebox';
import { ExploitedList } from './exploited-api.ts';
import { sortBy } from './lists-api.ts';
import { CheckName } from './probes.ts';
import {
  Count,
  Ecosystem,
  nullable,
  strict,
  Timestamp,
  Uuid,
  VulnerabilityId,
  writtenText,
} from './scalars.ts';
import { AFFECTED_SAID_MAX } from './vulnerabilities-api.ts';

export const UNFIXED_SORTS = ['urgency', 'hosts', 'first_seen_at'] as const;
export const UNFIXED_SORT_DEFAULT = '-urgency';
export const UnfixedSort = sortBy(
  UNFIXED_SORTS,
  `default ${UNFIXED_SORT_DEFAULT}; urgency: known exploited first, then the most severe, then those of most hosts`,
);
export type UnfixedSort = Static<typeof UnfixedSort>;

export const UnfixedFilter = {
  exploited: Type.Optional(Type.Enum(['true', 'false', 'unknown'])),
  mitigated: Type.Optional(Type.Enum(['true', 'false'])),
  ecosystem: Type.Optional(Ecosystem),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'part of the package name, of an id of the vulnerability, of a CVE that it is about or of an advisory that tells of it',
    }),
  ),
};

export const MITIGATION_NOTE_MAX_CHARS = 1_000;

/** What keeps a vulnerability from harm, in the words of an operator. The hook itself is on the hosts. */
export const MitigationRequest = strict({
  hook: CheckName,
  note: writtenText(MITIGATION_NOTE_MAX_CHARS),
});
export type MitigationRequest = Static<typeof MitigationRequest>;

export const MitigationBody = strict({ mitigation: nullable(MitigationRequest) });

const Mitigation = strict({ ...MitigationRequest.properties, by: Type.String(), at: Timestamp });

/** A known vulnerability of a package that hosts have, without a pending update that is judged to fix it. */
export const UnfixedItem = strict({
  id: Uuid,
  ecosystem: Ecosystem,
  /** As the vulnerability database calls it: `Debian:12`, `npm`. */
  distribution: Type.String(),
  /** The source package where records name sources. */
  package: Type.String(),
  installed_packages: Type.Array(Type.String(), {
    description:
      'packages that hosts have of it, those of most hosts; none for operators who are bound to groups',
  }),
  vulnerability: Type.String(),
  /** All ids of the one vulnerability. */
  names: Type.Array(Type.String()),
  /** The CVEs that it is about: several where it is an advisory about several, which are no names of it. */
  cves: Type.Array(Type.String()),
  /** Ids of the records that tell of it: its own, and those of advisories about several vulnerabilities. */
  records: Type.Array(Type.String()),
  /** Hosts without such an update, and hosts whose pending updates are judged to fix it. */
  hosts: Count,
  hosts_with_pending_fix: Count,
  /** When the server first counted a host with it. */
  first_seen_at: Timestamp,
  severity: nullable(Type.String()),
  /** Null: not known, as where the list of exploited vulnerabilities is too old to say no. */
  exploited: nullable(Type.Boolean()),
  /** The lowest fixed version that the vulnerability database names; null: none. */
  fixed_in: nullable(Type.String()),
  /**
   * When the database first named one, and when the first host was offered an update that is judged to be free of it: operators who are
   * bound to groups see that while a host of theirs is.
   */
  fix_known_at: nullable(Timestamp),
  fix_offered_at: nullable(Timestamp),
  /** Statements of operators in force about it, each for its own hosts and versions. */
  statements: Type.Array(strict({ id: Uuid, status: Type.String() })),
  mitigation: nullable(Mitigation),
});
export type UnfixedItem = Static<typeof UnfixedItem>;

/** What the list rests on: on hosts that are not known whole there may be more. */
export const UnfixedCoverage = strict({
  /** The end of the last count; null: none has ended. */
  at: nullable(Timestamp),
  hosts: Count,
  /** Hosts without a complete report, or with packages that nobody could judge. */
  unknown_hosts: Count,
  /** Vulnerabilities beyond the limit of the list. */
  left_out: Count,
  exploited_list: ExploitedList,
});
export type UnfixedCoverage = Static<typeof UnfixedCoverage>;

/** Names one item of the list. */
export const UnfixedName = {
  distribution: Type.String({ minLength: 1, maxLength: 128 }),
  package: Type.String({ minLength: 1, maxLength: 256 }),
  vulnerability: VulnerabilityId,
};

/** A host that has a vulnerability without a pending fix now. */
export const UnfixedHost = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  group: nullable(Type.String()),
  packages: Type.Array(strict({ name: Type.String(), version: Type.String() }), {
    maxItems: AFFECTED_SAID_MAX,
    description: 'what is installed of it now, the first of it',
  }),
});
export type UnfixedHost = Static<typeof UnfixedHost>;
