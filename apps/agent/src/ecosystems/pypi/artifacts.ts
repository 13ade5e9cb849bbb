import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import type { IndexClient } from './index-client.ts';
import type { ReportedWheel } from './parse-report.ts';
import type { Parsed } from './read-file.ts';

/** Longest origin allowed by the schema, in characters. */
export const ORIGIN_MAX_CHARS = 512;

/** Adds the file to every action; pip and the index must agree on each. */
export async function addArtifacts(
  index: IndexClient,
  actions: readonly PlanAction[],
  wheels: readonly ReportedWheel[],
): Promise<Parsed<PlanAction[]>> {
  const complete: PlanAction[] = [];
  for (const action of actions) {
    const wheel = wheels.find(({ name }) => name === action.name);
    const offered = await index.files(action.name);
    if (!offered.ok) return offered;
    const file = offered.value.find(({ filename }) => filename === wheel?.filename);
    const agrees = file !== undefined && (file.sha256 === null || file.sha256 === wheel?.sha256);
    if (!wheel?.sha256 || !agrees || compareVersions('pypi', file.version, wheel.version) !== 0) {
      return { ok: false, reason: `pip and the index disagree about ${action.name} ${action.to_version}` };
    }
    if (file.yanked)
      return { ok: false, reason: `${action.name} ${action.to_version} was yanked from the index` };
    const size = await index.sizeOf(file);
    if (!size.ok) return size;
    const { filename, sha256 } = wheel;
    complete.push({
      ...action,
      origin: index.origin.slice(0, ORIGIN_MAX_CHARS),
      artifact: { filename, url: file.url, size_bytes: size.value, sha256 },
    });
  }
  return { ok: true, value: complete };
}
