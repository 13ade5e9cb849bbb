import { STATEMENTS, UNFIXED } from '@tidegate/terminal/lists';
import { atMinute, words } from '@tidegate/terminal/words';
import { change, list, show, table } from '../act.ts';
import type { Group } from '../group.ts';

export const GATE_POLICY: Group = {
  name: 'gate-policy',
  summary: 'which vulnerabilities stop an update: show, set',
  acts: [
    show('GET /api/v1/admin/vulnerability-policy', { act: 'show' }),
    change('PUT /api/v1/admin/vulnerability-policy', {
      act: 'set',
      operands: ['policy'],
      called: { policy: 'any|introduced' },
      says: ({ policy }) => `The policy is ${policy}.`,
    }),
  ],
};

export const EXCEPTIONS: Group = {
  name: 'exceptions',
  summary: 'versions that the age gate lets pass: list, show, add, end',
  acts: [
    list('GET /api/v1/admin/age-exceptions', {
      act: 'list',
      columns: {
        ID: ({ id }) => id,
        PACKAGE: ({ ecosystem, name }) => `${ecosystem}:${name}`,
        VERSION: ({ version }) => version,
        EXPIRES: ({ expires_at: at }) => atMinute(at),
        BY: ({ created_by: by }) => by,
        REASON: ({ reason }) => reason,
      },
    }),
    show('GET /api/v1/admin/age-exceptions/{id}', { act: 'show' }),
    change('POST /api/v1/admin/age-exceptions', {
      act: 'add',
      operands: ['ecosystem', 'name', 'version'],
      called: { ecosystem: 'npm|pypi' },
      says: ({ id, name, version, expires_at: at }) =>
        `${name} ${version} passes the age gate until ${atMinute(at)}: ${id}`,
    }),
    change('DELETE /api/v1/admin/age-exceptions/{id}', { act: 'end', says: 'The exception has ended.' }),
  ],
};

export const VEX: Group = {
  name: 'vex',
  summary: 'statements about vulnerabilities (VEX): list, show, add, revoke, export, import',
  about: 'FILE of import is an OpenVEX or CycloneDX document.',
  acts: [
    list('GET /api/v1/admin/vex-statements', { act: 'list', columns: STATEMENTS }),
    show('GET /api/v1/admin/vex-statements/{id}', { act: 'show' }),
    change('POST /api/v1/admin/vex-statements', {
      act: 'add',
      about: { status: 'what is stated', justification: 'with not_affected: why' },
      says: ({ id, vulnerability, status }) => `${vulnerability} is stated as ${words(status)}: ${id}`,
    }),
    change('DELETE /api/v1/admin/vex-statements/{id}', {
      act: 'revoke',
      says: 'The statement is revoked. Approvals that were signed with it keep their token.',
    }),
    change('GET /api/v1/admin/vex-document', {
      act: 'export',
      says: (document) => JSON.stringify(document, null, 2),
    }),
    change('POST /api/v1/admin/vex-document', {
      act: 'import',
      fileIs: 'document',
      about: { file: 'the document; - is the standard input' },
      says: ({ imported, already, skipped }) =>
        [
          `Imported: ${imported.length}. There already: ${already}. Left out: ${skipped.length}.`,
          ...skipped.map(({ vulnerability, reason }) => `  ${vulnerability}: ${words(reason)}`),
        ].join('\n'),
    }),
  ],
};

export const ORIGINS: Group = {
  name: 'origins',
  summary: 'third-party repositories that are registered: list, show, add, revoke',
  acts: [
    list('GET /api/v1/admin/origins', {
      act: 'list',
      columns: {
        ID: ({ id }) => id,
        SUITES: ({ suites }) => suites.join(', '),
        RULE: ({ rule, min_age_days: days }) => `${words(rule)}${days === null ? '' : ` ${days} days`}`,
        STATE: ({ state }) => words(state),
        ENDS: ({ ends_at: at }) => atMinute(at),
        REASON: ({ reason }) => reason,
      },
    }),
    show('GET /api/v1/admin/origins/{id}', { act: 'show' }),
    change('POST /api/v1/admin/origins', {
      act: 'add',
      about: { until: 'when the registration ends, such as 2027-03-01T00:00:00Z' },
      says: ({ id, suites }) => `Registered: ${suites.join(', ')} (${id})`,
    }),
    change('DELETE /api/v1/admin/origins/{id}', {
      act: 'revoke',
      says: 'The origin is revoked. Approvals that were signed with it keep their token.',
    }),
  ],
};

export const DIVERGENCES: Group = {
  name: 'divergences',
  summary: 'artifacts with more than one hash, and hosts whose reports are ignored',
  acts: [
    list('GET /api/v1/artifacts/divergences', {
      act: 'list',
      columns: {
        ID: ({ id }) => id,
        PACKAGE: ({ ecosystem, name }) => `${ecosystem}:${name}`,
        VERSION: ({ version, variant }) => `${version}${variant === null ? '' : ` ${variant}`}`,
        STATE: ({ state }) => state,
        HASHES: ({ hashes }) => hashes.length,
        OPENED: ({ opened_at: at }) => atMinute(at),
      },
    }),
    show('GET /api/v1/artifacts/divergences/{id}', { act: 'show' }),
    table('GET /api/v1/artifacts/divergences/{id}/sightings', {
      act: 'sightings',
      items: ({ items }) => items,
      columns: {
        HOST: ({ hostname, agent_id: id }) => hostname ?? id,
        SEEN: ({ seen_at: at }) => atMinute(at),
        DIFFERS: ({ differs }) => differs,
        COUNTS: ({ counts }) => counts,
        HASH: ({ hash }) => hash,
        URL: ({ url }) => url,
      },
    }),
    change('POST /api/v1/artifacts/divergences/{id}/decide', {
      act: 'decide',
      says: ({ name, version }) => `Decided: ${name} ${version}.`,
    }),
    change('POST /api/v1/artifacts/divergences/decide', {
      act: 'decide-many',
      says: ({ decided, failed }) =>
        [
          `Decided: ${decided.length}. Failed: ${failed.length}.`,
          ...failed.map(({ id, reason }) => `  ${id}: ${words(reason)}`),
        ].join('\n'),
    }),
    change('POST /api/v1/artifacts/divergences/{id}/undo', {
      act: 'undo',
      says: 'The decision is undone: the registry and hosts decide again.',
    }),
    list('GET /api/v1/artifacts/hosts-set-aside', {
      act: 'set-aside',
      columns: {
        HOST: ({ hostname }) => hostname,
        ROLE: ({ role }) => role,
        SINCE: ({ since }) => atMinute(since),
        ID: ({ agent_id: id }) => id,
      },
    }),
    change('POST /api/v1/artifacts/hosts-set-aside/{agent_id}/trust', {
      act: 'trust',
      says: "The host's reports about artifacts count again.",
    }),
  ],
};

export const UNFIXED_GROUP: Group = {
  name: 'unfixed',
  summary: 'known vulnerabilities that no pending update fixes: list, coverage, hosts, mitigate, take-back',
  acts: [
    list('GET /api/v1/unfixed', {
      act: 'list',
      about: { search: 'part of its name or package' },
      columns: UNFIXED,
    }),
    show('GET /api/v1/unfixed/coverage', { act: 'coverage' }),
    list('GET /api/v1/unfixed/hosts', {
      act: 'hosts',
      operands: ['vulnerability', 'distribution', 'package'],
      columns: {
        HOST: ({ hostname }) => hostname,
        GROUP: ({ group }) => group,
        PACKAGES: ({ packages }) => packages.map(({ name, version }) => `${name} ${version}`).join(', '),
        ID: ({ agent_id: id }) => id,
      },
    }),
    change('PUT /api/v1/unfixed/{id}/mitigation', {
      act: 'mitigate',
      means: 'Note the hook that mitigates a vulnerability',
      inside: ['mitigation'],
      says: ({ vulnerability }) => `Noted: what keeps ${vulnerability} from harm.`,
    }),
    change('PUT /api/v1/unfixed/{id}/mitigation', {
      act: 'take-back',
      means: 'Take the note on a vulnerability back',
      fixed: { mitigation: null },
      says: ({ vulnerability }) => `The note on ${vulnerability} is removed.`,
    }),
  ],
};

export const VULNERABILITIES_GROUP: Group = {
  name: 'vulnerabilities',
  summary: 'known vulnerabilities of what is installed: list, show, hosts, coverage',
  acts: [
    list('GET /api/v1/vulnerabilities', {
      act: 'list',
      about: { search: 'part of its name, summary or package' },
      columns: {
        VULNERABILITY: ({ id }) => id,
        SEVERITY: ({ severity }) => severity ?? 'unknown',
        EXPLOITED: ({ exploited }) => (exploited === null ? 'unknown' : exploited ? 'yes' : 'not known of'),
        HOSTS: ({ hosts }) => hosts,
        FIXABLE: ({ fixable_hosts: hosts }) => hosts,
        WAITING: ({ waiting_hosts: hosts }) => hosts,
        'NO FIX': ({ unfixed_hosts: hosts }) => hosts,
        PACKAGES: ({ packages }) => packages.map((one) => one.package).join(', '),
      },
    }),
    show('GET /api/v1/vulnerabilities/{id}', { act: 'show' }),
    list('GET /api/v1/vulnerabilities/{id}/hosts', {
      act: 'hosts',
      columns: {
        HOST: ({ hostname }) => hostname,
        GROUP: ({ group }) => group,
        STATE: ({ state }) => state,
        PACKAGES: ({ packages }) => packages.map(({ name, version }) => `${name} ${version}`).join(', '),
        ID: ({ agent_id: id }) => id,
      },
    }),
    show('GET /api/v1/vulnerabilities/coverage', { act: 'coverage' }),
  ],
};
