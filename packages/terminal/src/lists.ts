import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Columns } from './show-table.ts';
import { atMinute, scopeText, words } from './words.ts';

// The lists that `tidegate` shows from the data folder and `tidegatectl` through the API: one table for both.

interface Hold {
  readonly id: string;
  readonly state: string;
  readonly packages: readonly string[];
  readonly scope: PolicyScope;
  readonly ends_at: string;
  readonly created_by: string;
}

export const HOLDS: Columns<Hold> = {
  ID: ({ id }) => id,
  STATE: ({ state }) => words(state),
  PACKAGES: ({ packages }) => packages.join(' '),
  HOSTS: ({ scope }) => scopeText(scope),
  ENDS: ({ ends_at: at }) => atMinute(at),
  BY: ({ created_by: by }) => by,
};

interface RegistrationToken {
  readonly id: string;
  readonly label: string;
  readonly seats: number;
  readonly seats_used: number;
  readonly expires_at: string;
  readonly group: string | null;
  readonly tags: readonly string[];
  readonly created_by: string;
}

export const REGISTRATION_TOKENS: Columns<RegistrationToken> = {
  ID: ({ id }) => id,
  LABEL: ({ label }) => label,
  'SEATS USED': ({ seats, seats_used: used }) => `${used} of ${seats}`,
  EXPIRES: ({ expires_at: at }) => atMinute(at),
  GROUP: ({ group }) => group,
  TAGS: ({ tags }) => tags.join(' ') || null,
  'MADE BY': ({ created_by: by }) => by,
};

interface Operator {
  readonly username: string;
  readonly role: string;
  readonly disabled: boolean;
  readonly second_factors: readonly string[];
  readonly created_at: string;
}

export const OPERATORS: Columns<Operator> = {
  NAME: ({ username }) => username,
  ROLE: ({ role }) => role,
  STATE: ({ disabled }) => (disabled ? 'disabled' : 'active'),
  'SECOND FACTOR': ({ second_factors: factors }) => factors.join(', ') || 'none',
  CREATED: ({ created_at: at }) => atMinute(at),
};

interface Policy {
  readonly name: string;
  readonly state: string;
  readonly version: number;
  readonly author: string;
  readonly ends_at: string;
  readonly last_run: { readonly at: string; readonly approved: number } | null;
}

export const POLICIES: Columns<Policy> = {
  NAME: ({ name }) => name,
  STATE: ({ state }) => words(state),
  VERSION: ({ version }) => version,
  AUTHOR: ({ author }) => author,
  ENDS: ({ ends_at: at }) => atMinute(at),
  'LAST RUN': ({ last_run: run }) => (run ? `${atMinute(run.at)}: ${run.approved} approved` : 'never'),
};

interface Rollout {
  readonly id: string;
  readonly policy_name: string;
  readonly state: string;
  readonly ring: number;
  readonly rings: number;
  readonly ring_name: string;
  readonly hosts: number;
  readonly outcomes: { readonly installed: number };
  readonly waits_for: string;
}

export const ROLLOUTS: Columns<Rollout> = {
  ID: ({ id }) => id,
  POLICY: ({ policy_name: name }) => name,
  STATE: ({ state }) => state,
  RING: ({ ring, rings, ring_name: name }) => `${ring + 1} of ${rings} (${name})`,
  INSTALLED: ({ outcomes, hosts }) => `${outcomes.installed} of ${hosts}`,
  'WAITS FOR': ({ waits_for: what }) => what,
};

const WAITS = {
  later: 'its next attempt',
  online: 'the host to check in',
  slot: 'a free slot',
  release: 'a failed host to be released',
  healthy: 'more healthy hosts',
  turn: 'its turn',
  fetch: 'the host to fetch it',
} as const;

interface Reboot {
  readonly id: string;
  readonly hostname: string;
  readonly kind: string;
  readonly state: string;
  readonly waits_for: keyof typeof WAITS | null;
  readonly deadline: string;
  readonly detail: string | null;
}

export const REBOOTS: Columns<Reboot> = {
  ID: ({ id }) => id,
  HOST: ({ hostname }) => hostname,
  WHAT: ({ kind }) => words(kind),
  STATE: ({ state }) => state,
  'WAITS FOR': ({ waits_for: what }) => (what === null ? '' : WAITS[what]),
  DEADLINE: ({ deadline }) => atMinute(deadline),
  DETAIL: ({ detail }) => detail ?? '',
};

interface SlotGroup {
  readonly group: string | null;
  readonly taken: number;
  readonly max_at_once: number;
  readonly waiting: number;
  readonly min_healthy: number;
  readonly is_halted: boolean;
  readonly slots: readonly {
    readonly id: string;
    readonly hostname: string;
    readonly agent_id: string | null;
    readonly state: string;
  }[];
}

export const SLOTS: Columns<SlotGroup> = {
  GROUP: ({ group }) => group ?? '(none)',
  DOWN: ({ taken, max_at_once: max }) => `${taken} of ${max}`,
  WAITING: ({ waiting }) => waiting,
  'MUST BE WELL': ({ min_healthy: healthy }) => healthy,
  STATE: ({ is_halted: isHalted }) => (isHalted ? 'halted' : ''),
  HOSTS: ({ slots }) =>
    slots
      .map(
        ({ id, hostname, agent_id: agent, state }) =>
          `${hostname}${agent === null ? ' (FleetLock)' : ''} ${state} (${id})`,
      )
      .join(', '),
};

export const TAGS: Columns<{ readonly tag: string; readonly hosts: number; readonly reported: boolean }> = {
  TAG: ({ tag }) => tag,
  HOSTS: ({ hosts }) => hosts,
  'SET BY': ({ reported }) => (reported ? 'hosts' : 'operators'),
};

interface Unfixed {
  readonly vulnerability: string;
  readonly cves: readonly string[];
  readonly records: readonly string[];
  readonly distribution: string;
  readonly package: string;
  readonly hosts: number;
  readonly first_seen_at: string;
  readonly exploited: boolean | null;
  readonly severity: string | null;
  readonly fixed_in: string | null;
  readonly mitigation: { readonly hook: string } | null;
}

export const UNFIXED: Columns<Unfixed> = {
  VULNERABILITY: ({ vulnerability, cves, records }) => {
    const [first, ...others] = cves.filter((cve) => cve !== vulnerability);
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    const also = [...(first === undefined ? [] : [first + more]), ...records].filter(
      (id) => id !== vulnerability,
    );
    return also.length === 0 ? vulnerability : `${vulnerability} (${also.join(', ')})`;
  },
  DISTRIBUTION: ({ distribution }) => distribution,
  PACKAGE: (one) => one.package,
  HOSTS: ({ hosts }) => hosts,
  SINCE: ({ first_seen_at: at }) => at.slice(0, 10),
  EXPLOITED: ({ exploited }) => (exploited === null ? 'unknown' : exploited ? 'yes' : 'not known of'),
  SEVERITY: ({ severity }) => severity ?? 'unknown',
  'FIXED IN': ({ fixed_in: version }) => version ?? 'none known',
  'MITIGATED BY': ({ mitigation }) => mitigation?.hook ?? '',
};

interface Statement {
  readonly id: string;
  readonly vulnerability: string;
  readonly ecosystem: string;
  readonly package: string;
  readonly versions: readonly string[];
  readonly scope:
    | { readonly kind: 'all' }
    | { readonly kind: 'group'; readonly group: string }
    | { readonly kind: 'host'; readonly agent_id: string };
  readonly status: string;
  readonly ends_at: string;
  readonly created_by: string;
}

export const STATEMENTS: Columns<Statement> = {
  ID: ({ id }) => id,
  VULNERABILITY: ({ vulnerability }) => vulnerability,
  PACKAGE: (one) => `${one.ecosystem}:${one.package}`,
  VERSIONS: ({ versions }) => versions.join(' '),
  HOSTS: ({ scope }) => {
    if (scope.kind === 'all') return 'all hosts';
    return scope.kind === 'group' ? `group ${scope.group}` : `host ${scope.agent_id}`;
  },
  STATUS: ({ status }) => status,
  ENDS: ({ ends_at: at }) => atMinute(at),
  BY: ({ created_by: by }) => by,
};

interface Opening {
  readonly kind: string;
  readonly name: string;
  readonly actions: readonly string[];
  readonly starts_at: string;
  readonly ends_at: string;
}

export const OPENINGS: Columns<Opening> = {
  FROM: ({ starts_at: at }) => atMinute(at),
  UNTIL: ({ ends_at: at }) => atMinute(at),
  WHAT: ({ kind }) => words(kind),
  FOR: ({ actions }) => actions.join(', '),
  NAME: ({ name }) => name,
};
