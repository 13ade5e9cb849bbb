import { FEEDS_AS_OF, FEEDS_OFF, KEV_DATES } from './advisories/exploited/schema.ts';
import { schema as advisories, UNUSED_CHECKS } from './advisories/schema.ts';
import { schema as agentCredentials } from './agent-credentials/schema.ts';
import { schema as agents, RARE_STATES, TAGS_ASKED, TIMELINESS, TIMELINESS_FOUND } from './agents/schema.ts';
import { schema as apiTokens } from './api-tokens/schema.ts';
import { APPROVALS_BY_BULK, schema as approvalTokens, BULK_OF_APPROVALS } from './approval-tokens/schema.ts';
import { schema as approvals } from './approvals/schema.ts';
import { schema as artifacts } from './artifacts/schema.ts';
import { schema as blackouts } from './blackouts/schema.ts';
import { schema as calendar } from './calendar/schema.ts';
import { schema as clientErrors } from './client-errors/schema.ts';
import { BULK_OF_AWAITED, schema as commands, INSTALLING_AT } from './commands/schema.ts';
import { schema as enrolment } from './enrolment/schema.ts';
import {
  EVENT_FOLLOWERS,
  schema as events,
  FOLLOWER_LEASES,
  SIGNED_ANCHORS,
  UNCHAINED_EVENTS,
} from './events/schema.ts';
import { schema as fleetLock } from './fleet-lock/schema.ts';
import { schema as holds } from './holds/schema.ts';
import { schema as identityProviders } from './identity-providers/schema.ts';
import { movePackages } from './installed/move-store.ts';
import { INSTALLED, INSTALLED_MOVED, NARROW_KEYS, REPLACED_PACKAGES } from './installed/schema.ts';
import { schema as inventory } from './inventory/schema.ts';
import { NOTIFICATIONS } from './notifications/schema.ts';
import { schema as identities } from './operators/identities/schema.ts';
import { schema as operators } from './operators/schema.ts';
import { schema as origins } from './origins/schema.ts';
import { schema as outsiders } from './outsiders/schema.ts';
import { EXPOSED_HOSTS, schema as overview } from './overview/schema.ts';
import type { Migration } from './platform/db/migrate.ts';
import { LEASES } from './platform/leases/schema.ts';
import { RETENTION_CLOCK } from './platform/retention/schema.ts';
import { schema as policies } from './policies/schema.ts';
import { schema as probes } from './probes/schema.ts';
import { schema as provenance } from './provenance/schema.ts';
import { GUESSES_BY_MAC, schema as rateLimits, SHARED_COUNTS } from './rate-limits/schema.ts';
import { schema as rebootSlots } from './reboot-slots/schema.ts';
import { schema as reboots } from './reboots/schema.ts';
import { schema as releaseTimes } from './release-times/schema.ts';
import { LAST_BACKUP, schema as restore } from './restore/schema.ts';
import { schema as rollouts } from './rollouts/schema.ts';
import { schema as signingKeys } from './signing-keys/schema.ts';
import { UNFIXED_CVES, UNFIXED_RECORDS, UNFIXED_URGENCY, schema as unfixed } from './unfixed/schema.ts';
import { HOST_URGENCY } from './updates/host-sums-schema.ts';
import {
  COUNTED_SECURITY,
  COUNTED_STOPPED,
  FIX_URGENCY,
  LAST_CLOSED_OF_OFFERS,
  LISTED_FILTERS,
  PACKAGE_URGENCY,
  UNDER_WAY_BY_HOST,
  schema as updates,
  WALKED_FILTERS,
} from './updates/schema.ts';
import { schema as vex } from './vex/schema.ts';
import { schema as views } from './views/schema.ts';
import { VULNERABILITY_INDEX } from './vulnerability-index/schema.ts';

/** The schema of the first release; each part follows those that it refers to. */
const BASE: readonly Migration[] = [
  { version: 10, name: 'events', statements: events },
  // The specification fixes this number (section 9).
  { version: 20, name: 'signing-keys', statements: signingKeys },
  { version: 30, name: 'outsiders', statements: outsiders },
  { version: 40, name: 'rate-limits', statements: rateLimits },
  { version: 50, name: 'agents', statements: agents },
  { version: 60, name: 'agent-credentials', statements: agentCredentials },
  { version: 70, name: 'enrolment', statements: enrolment },
  { version: 80, name: 'release-times', statements: releaseTimes },
  { version: 90, name: 'artifacts', statements: artifacts },
  { version: 100, name: 'updates', statements: updates },
  {
    version: 110,
    name: 'commands',
    statements: [...commands, ...rebootSlots, ...probes, ...reboots, ...fleetLock],
  },
  { version: 120, name: 'inventory', statements: inventory },
  { version: 130, name: 'advisories', statements: advisories },
  { version: 140, name: 'provenance', statements: provenance },
  {
    version: 150,
    name: 'approvals',
    statements: [
      ...[
        ...approvalTokens,
        ...vex,
        ...origins,
        ...policies,
        ...rollouts,
        ...blackouts,
        ...holds,
        ...approvals,
      ],
      ...unfixed,
    ],
  },
  { version: 160, name: 'operators', statements: operators },
  { version: 170, name: 'api-tokens', statements: apiTokens },
  { version: 180, name: 'restore', statements: restore },
  { version: 190, name: 'overview', statements: [...overview, ...calendar] },
  { version: 200, name: 'client-errors', statements: clientErrors },
  { version: 210, name: 'views', statements: views },
];

/**
 * Every step from an empty database to the newest schema. A change is added at the end with the next number; from the
 * first release on, earlier steps are never changed (decision 0028).
 */
export const MIGRATIONS: readonly Migration[] = [
  ...BASE.map((part) => ({ ...part, isBase: true as const })),
  { version: 220, name: 'event-followers', statements: EVENT_FOLLOWERS },
  { version: 230, name: 'notifications', statements: NOTIFICATIONS },
  { version: 240, name: 'identity-providers', statements: [...identityProviders, ...identities] },
  { version: 245, name: 'follower-leases', statements: FOLLOWER_LEASES },
  { version: 260, name: 'installed-packages', statements: INSTALLED, move: movePackages },
  { version: 261, name: 'installed-packages-moved', statements: INSTALLED_MOVED },
  { version: 277, name: 'exposed-hosts', statements: EXPOSED_HOSTS },
  { version: 278, name: 'vulnerability-index', statements: VULNERABILITY_INDEX },
  { version: 279, name: 'kev-dates', statements: KEV_DATES },
  { version: 290, name: 'unchained-events', statements: UNCHAINED_EVENTS },
  { version: 300, name: 'fix-urgency', statements: FIX_URGENCY },
  { version: 301, name: 'counted-security', statements: COUNTED_SECURITY },
  { version: 307, name: 'leases', statements: LEASES },
  { version: 320, name: 'package-urgency', statements: PACKAGE_URGENCY },
  { version: 321, name: 'shared-counts', statements: SHARED_COUNTS },
  { version: 340, name: 'host-urgency', statements: HOST_URGENCY },
  { version: 345, name: 'signed-anchors', statements: SIGNED_ANCHORS },
  { version: 349, name: 'counted-stopped', statements: COUNTED_STOPPED },
  { version: 350, name: 'installing-at', statements: INSTALLING_AT },
  { version: 351, name: 'timeliness', statements: TIMELINESS },
  { version: 352, name: 'last-backup', statements: LAST_BACKUP },
  { version: 353, name: 'replaced-packages', statements: REPLACED_PACKAGES },
  { version: 354, name: 'narrow-keys', statements: NARROW_KEYS },
  { version: 365, name: 'timeliness-found', statements: TIMELINESS_FOUND },
  { version: 370, name: 'bulk-of-awaited', statements: BULK_OF_AWAITED },
  { version: 371, name: 'bulk-of-approvals', statements: BULK_OF_APPROVALS },
  { version: 372, name: 'under-way-by-host', statements: UNDER_WAY_BY_HOST },
  { version: 385, name: 'guesses-by-mac', statements: GUESSES_BY_MAC },
  { version: 386, name: 'unfixed-cves', statements: UNFIXED_CVES },
  { version: 390, name: 'unfixed-records', statements: UNFIXED_RECORDS },
  { version: 391, name: 'unfixed-urgency', statements: UNFIXED_URGENCY },
  { version: 392, name: 'listed-filters', statements: LISTED_FILTERS },
  { version: 393, name: 'feeds-off', statements: FEEDS_OFF },
  { version: 394, name: 'unused-checks', statements: UNUSED_CHECKS },
  { version: 397, name: 'retention-clock', statements: RETENTION_CLOCK },
  { version: 403, name: 'tags-asked', statements: TAGS_ASKED },
  { version: 404, name: 'walked-filters', statements: WALKED_FILTERS },
  { version: 405, name: 'feeds-as-of', statements: FEEDS_AS_OF },
  { version: 415, name: 'approvals-by-bulk', statements: APPROVALS_BY_BULK },
  { version: 420, name: 'rare-states', statements: RARE_STATES },
  { version: 425, name: 'last-closed-of-offers', statements: LAST_CLOSED_OF_OFFERS },
];
