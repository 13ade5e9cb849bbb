import type { Config } from '../config.ts';
import type { ExportTargets } from '../event-exports/read-targets.ts';
import type { Counts } from '../metrics/counts.ts';
import type { Background } from '../platform/background.ts';
import type { OpenConnections } from '../platform/http/open-connections.ts';
import type { WorkOfOne } from '../platform/leases/work-of-one.ts';
import type { Platform } from '../platform/platform.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { TrustedRoot } from '../provenance/verify-bundle.ts';
import type { Limiter } from '../rate-limits/limiter.ts';
import type { RevocationJournal } from '../restore/revocation-journal.ts';
import type { KeyFolder } from '../signing-keys/key-folder.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import type { ServerCa } from '../tls/server-ca.ts';
import type { ServerTls } from '../tls/server-tls.ts';

/** What `start.ts` opens before the application is composed. */
export interface ApplicationParts {
  config: Config;
  platform: Platform;
  /** Of the database, after its migrations. */
  schemaVersion: number;
  secrets: Secrets;
  keyFolder: KeyFolder;
  keyRing: KeyRing;
  /** Null listens over plain HTTP. */
  tls: ServerTls | null;
  /** How hosts come to trust the certificate that is presented now. */
  serverCa: () => ServerCa;
  /** What provenance is verified against; null verifies nothing. */
  trustedRoot: TrustedRoot | null;
  /** Where events are exported to. */
  exportTargets: ExportTargets;
  /** What was revoked for good, whatever the database says. */
  journal: Pick<RevocationJournal, 'has'>;
}

/** What each `open…` function of this folder gets. It registers its background work there and then. */
export interface Opening extends ApplicationParts {
  background: Background;
  /** Background work that one of several servers does. */
  workOfOne: Pick<WorkOfOne, 'use'>;
  bootedAt: number;
  /** Whether the server is about to stop. */
  isDraining: () => boolean;
  connections: OpenConnections;
  limiter: Limiter;
  /** Null where metrics are off. */
  counts: Counts | null;
}

/** Whether browsers reach the server over HTTPS: its own, or that of a proxy. */
export function isHttps({ config, tls }: Pick<ApplicationParts, 'config' | 'tls'>): boolean {
  return tls !== null || (config.baseUrl ?? '').startsWith('https:');
}
