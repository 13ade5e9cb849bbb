import type { Migration } from '../platform/db/migrate.ts';
import { migration as m001 } from './001-fleet.ts';
import { migration as m002 } from './002-agents.ts';
import { migration as m003 } from './003-refresh-families.ts';
import { migration as m004 } from './004-registration-tokens.ts';
import { migration as m005 } from './005-operators.ts';
import { migration as m006 } from './006-operator-sessions.ts';
import { migration as m007 } from './007-setup-links.ts';
import { migration as m008 } from './008-agent-packages.ts';
import { migration as m009 } from './009-inventory-reports.ts';
import { migration as m010 } from './010-updates.ts';
import { migration as m011 } from './011-update-plans.ts';
import { migration as m012 } from './012-update-history.ts';
import { migration as m013 } from './013-advisory-checks.ts';
import { migration as m014 } from './014-advisories.ts';
import { migration as m015 } from './015-release-times.ts';
import { migration as m016 } from './016-approvals.ts';
import { migration as m017 } from './017-agent-commands.ts';
import { migration as m018 } from './018-events.ts';
import { migration as m019 } from './019-rate-limits.ts';
import { migration as m020 } from './020-signing-keys.ts';
import { migration as m021 } from './021-key-sets.ts';
import { migration as m022 } from './022-age-exceptions.ts';
import { migration as m023 } from './023-agent-digests.ts';
import { migration as m024 } from './024-update-verdicts.ts';
import { migration as m025 } from './025-agent-presence.ts';
import { migration as m026 } from './026-approval-keys.ts';
import { migration as m027 } from './027-agent-digests-json.ts';
import { migration as m028 } from './028-families-by-id.ts';
import { migration as m032 } from './032-signing-roots.ts';
import { migration as m033 } from './033-server-memory.ts';
import { migration as m034 } from './034-resyncs.ts';
import { migration as m035 } from './035-event-checkpoints.ts';
import { migration as m036 } from './036-events-append-only.ts';
import { migration as m037 } from './037-clone-suspicions.ts';
import { migration as m038 } from './038-updates-offered-again.ts';
import { migration as m039 } from './039-offline-hosts.ts';
import { migration as m041 } from './041-mirror-snapshots.ts';
import { migration as m042 } from './042-mirror-records.ts';
import { migration as m043 } from './043-exploited.ts';
import { migration as m044 } from './044-advisory-stretches.ts';
import { migration as m045 } from './045-release-times-by-file.ts';
import { migration as m046 } from './046-first-seen.ts';
import { migration as m047 } from './047-provenances.ts';
import { migration as m048 } from './048-artifacts.ts';
import { migration as m049 } from './049-artifact-divergences.ts';
import { migration as m050 } from './050-decisions.ts';
import { migration as m051 } from './051-illegible-advisories.ts';
import { migration as m052 } from './052-update-exploitation.ts';
import { migration as m053 } from './053-operator-codes.ts';
import { migration as m054 } from './054-operator-passkeys.ts';
import { migration as m055 } from './055-passkey-challenges.ts';
import { migration as m056 } from './056-session-details.ts';
import { migration as m057 } from './057-host-groups.ts';
import { migration as m058 } from './058-registration-token-groups.ts';
import { migration as m059 } from './059-api-tokens.ts';
import { migration as m061 } from './061-list-order.ts';
import { migration as m062 } from './062-update-names.ts';
import { migration as m063 } from './063-list-orders.ts';
import { migration as m064 } from './064-saved-views.ts';
import { migration as m065 } from './065-watched-changes.ts';
import { migration as m066 } from './066-update-exposure.ts';
import { migration as m067 } from './067-bulk-runs.ts';
import { migration as m068 } from './068-fleet-history.ts';
import { migration as m069 } from './069-updates-of-gone-hosts.ts';
import { migration as m070 } from './070-lists-of-present-hosts.ts';
import { migration as m071 } from './071-package-sums.ts';
import { migration as m072 } from './072-host-sums.ts';
import { migration as m073 } from './073-event-orders.ts';
import { migration as m075 } from './075-envelope-storage.ts';
import { migration as m076 } from './076-planner-statistics.ts';
import { migration as m078 } from './078-registry-hashes.ts';
import { migration as m079 } from './079-large-reports.ts';
import { migration as m080 } from './080-artifact-sightings.ts';
import { migration as m081 } from './081-artifact-decisions.ts';
import { migration as m082 } from './082-artifact-enforcements.ts';
import { migration as m083 } from './083-trusted-hosts-noted.ts';
import { migration as m085 } from './085-password-proofs.ts';
import { migration as m086 } from './086-operator-notices.ts';
import { migration as m087 } from './087-password-lengths.ts';
import { migration as m088 } from './088-factor-demands.ts';
import { migration as m090 } from './090-row-seals.ts';
import { migration as m095 } from './095-outsiders.ts';
import { migration as m096 } from './096-updates-by-host.ts';

/** Every migration in order; a new one goes at the end and none is ever changed. */
export const MIGRATIONS: readonly Migration[] = [
  m001,
  m002,
  m003,
  m004,
  m005,
  m006,
  m007,
  m008,
  m009,
  m010,
  m011,
  m012,
  m013,
  m014,
  m015,
  m016,
  m017,
  m018,
  m019,
  m020,
  m021,
  m022,
  m023,
  m024,
  m025,
  m026,
  m027,
  m028,
  m032,
  m033,
  m034,
  m035,
  m036,
  m037,
  m038,
  m039,
  m041,
  m042,
  m043,
  m044,
  m045,
  m046,
  m047,
  m048,
  m049,
  m050,
  m051,
  m052,
  m053,
  m054,
  m055,
  m056,
  m057,
  m058,
  m059,
  m061,
  m062,
  m063,
  m064,
  m065,
  m066,
  m067,
  m068,
  m069,
  m070,
  m071,
  m072,
  m073,
  m075,
  m076,
  m078,
  m079,
  m080,
  m081,
  m082,
  m083,
  m085,
  m086,
  m087,
  m088,
  m090,
  m095,
  m096,
];
