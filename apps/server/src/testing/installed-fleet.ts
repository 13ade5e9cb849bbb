import { expect } from 'vitest';
import { createAdvisorySubjects } from '../unfixed/advisory-subjects.ts';
import { createImageCache } from '../unfixed/image-cache.ts';
import { createLookUpTurns } from '../unfixed/look-up-turns.ts';
import { runUnfixedPass } from '../unfixed/run-pass.ts';
import { insertTestAgent } from './agent-rows.ts';
import { createApprovalsApp } from './approvals-app.ts';
import type { TestEngine } from './engines.ts';
import { insertInstalled, removeInstalled } from './installed-rows.ts';

export const INTERVAL_MS = 60_000;

/** Hosts with packages, of whose vulnerabilities a pass takes the count. */
export async function createInstalledFleet(engine: TestEngine) {
  const it = await createApprovalsApp(engine);
  const caches = { images: createImageCache(), advisorySubjects: createAdvisorySubjects() };
  const deps = { ...it.deps, worker: it.worker, ...caches, turns: createLookUpTurns() };
  let hosts = 1;

  /** What a host reports as installed. */
  async function install(
    agentId: string,
    packages: Record<string, string>,
    { digest = `${agentId} ${JSON.stringify(packages)}`, complete = 1 } = {},
  ): Promise<void> {
    const of = { agent_id: agentId, ecosystem: 'apt' };
    const at = { scanned_at: it.platform.now(), received_at: it.platform.now() };
    const report = { ...of, ...at, digest, complete, package_count: 1, writing: null, condition: null };
    await it.database.transact(async (tx) => {
      await removeInstalled(tx, agentId);
      await tx.deleteFrom('inventory_reports').where('agent_id', '=', agentId).execute();
      for (const [name, version] of Object.entries(packages)) {
        const source = { source_name: name, source_version: version, origin: null };
        await insertInstalled(tx, { ...of, name, arch: '', version, ...source, held: 0 });
      }
      await tx.insertInto('inventory_reports').values(report).execute();
    });
  }

  return {
    ...it,
    deps,
    install,
    async addHost(packages: Record<string, string>, group?: string): Promise<string> {
      hosts += 1;
      const { agentId } = await insertTestAgent(it.database, { n: hosts, ...(group ? { group } : {}) });
      await install(agentId, packages);
      return agentId;
    },
    /** Counts, has what is unknown judged, and counts again. */
    async pass(): Promise<void> {
      for (const _ of [1, 2]) {
        it.clock.advance(INTERVAL_MS);
        expect(await runUnfixedPass(deps, { intervalMs: INTERVAL_MS })).toBe('ended');
      }
    },
  };
}
