import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { Platform } from '../../platform/platform.ts';
import type { OsvClient } from '../osv-client.ts';
import { createExportClient, type ExportLimits } from './loading/export-client.ts';
import type { ZipLimits } from './loading/read-zip.ts';
import { createMirrorJudge, type MirrorJudge } from './matching/judge-from-mirror.ts';
import { createMirrorRefresher, type MirrorRefresher } from './mirror-refresher.ts';

/** Folder below the data directory for archives being read. */
export const MIRROR_FOLDER = 'advisories';

export type Mirror = MirrorJudge & MirrorRefresher;

export interface MirrorOptions {
  readonly platform: Platform;
  readonly config: Pick<Config, 'advisorySource' | 'advisoryMaxAgeHours' | 'advisoryExportUrl' | 'dataDir'>;
  /** Client of the API, for records that the export cannot give. */
  readonly api: Pick<OsvClient, 'fetchRecord'>;
  readonly limits?: { readonly export?: Partial<ExportLimits>; readonly zip?: ZipLimits };
  readonly sleep?: (ms: number) => Promise<void>;
}

/** The mirror as configured; null when vulnerabilities come only from the API, or from nowhere. */
export function openMirror({ platform, config, api, limits, sleep }: MirrorOptions): Mirror | null {
  const { advisorySource: source, advisoryExportUrl: baseUrl } = config;
  if (source !== 'mirror' && source !== 'mirror+api') return null;
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  const asksApi = source === 'mirror+api';
  const exportClient =
    baseUrl === 'none'
      ? null
      : createExportClient({
          baseUrl,
          ...(limits?.export ? { limits: limits.export } : {}),
          ...(sleep ? { sleep } : {}),
        });
  const refresher = createMirrorRefresher({
    platform,
    exportClient,
    api: asksApi ? api : null,
    folder: join(config.dataDir, MIRROR_FOLDER),
    maxAgeMs,
    ...(limits?.zip ? { zipLimits: limits.zip } : {}),
  });
  const judge = createMirrorJudge({
    platform,
    maxAgeMs,
    isAlone: !asksApi,
    isFetching: exportClient !== null,
  });
  return { ...refresher, ...judge };
}
