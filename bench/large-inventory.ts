import { hash } from 'node:crypto';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type BenchServer, startFleet } from './fleet.ts';
import { type Loop, readLoop } from './hostile-fleet.ts';
import { LOAD_CORE } from './processes.ts';
import type { BenchOptions } from './run.ts';
import { send } from './send.ts';

const PACKAGES = 20_000;
const PARTS = 2;

interface Figures {
  loop: Loop;
  tookMs: number;
  cpuMs: number;
}

/** A host with 20,000 packages, in two parts: for how long the server's loop stood, how long it took, and the CPU of all its threads. */
export async function benchLargeInventory(
  options: BenchOptions,
): Promise<Record<string, Record<string, Figures> | { missing: string }>> {
  const result: Record<string, Record<string, Figures> | { missing: string }> = {};
  for (const engine of options.engines) {
    const folder = tmpDir('tidegate-loop-');
    const out = join(folder.path, 'loop.json');
    const preload = pathToFileURL(join(import.meta.dirname, 'loop-delay.ts'));
    preload.searchParams.set('out', out);
    const nodeFlags = ['--import', preload.href];
    const fleet = await startFleet(engine, { agents: 1, nodeFlags, databaseCore: LOAD_CORE });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      // The first one also loads code.
      await sendInParts(fleet, { out, versions: () => '0' });
      const allChanged = await sendInParts(fleet, { out, versions: () => '1' });
      const tenChanged = await sendInParts(fleet, { out, versions: (n) => (n % 2_000 === 0 ? '2' : '1') });
      result[engine] = { allChanged, tenChanged };
      options.say(`${engine}, 20,000 packages in parts: ${JSON.stringify(result[engine])}`);
    } finally {
      await fleet.stop();
      folder.remove();
    }
  }
  return result;
}

async function sendInParts(
  { url, pid, agents: [agent], cpuUs }: BenchServer,
  { out, versions }: { out: string; versions: (n: number) => string },
): Promise<Figures> {
  if (agent === undefined) throw new Error('a fleet without hosts');
  const bodies = Array.from({ length: PARTS }, (_, part) => bodyOf(part, versions));
  const name = hash('sha256', bodies.map((body) => hash('sha256', body, 'hex')).join('\n'), 'hex');
  const connections = new Agent({ keepAlive: true });
  await readLoop(pid, out);
  const before = cpuUs().server;
  const startMs = performance.now();
  for (const [n, bytes] of bodies.entries()) {
    const path = `/inventory/apt/parts/${name}/${n + 1}?parts=${PARTS}`;
    const one = { method: 'PUT', path, body: gzipSync(bytes), gzip: true } as const;
    const status = await send({ url, agent, one, connections });
    if (status !== (n + 1 < PARTS ? '202' : '200'))
      throw new Error(`part ${n + 1} was answered with ${status}`);
  }
  const tookMs = Math.round(performance.now() - startMs);
  const cpuMs = Math.round((cpuUs().server - before) / 1_000);
  connections.destroy();
  return { loop: await readLoop(pid, out), tookMs, cpuMs };
}

function bodyOf(part: number, versions: (n: number) => string): Buffer {
  const packages = Array.from({ length: PACKAGES / PARTS }, (_, i) => {
    const n = part * (PACKAGES / PARTS) + i;
    const version = `1.${n}.${versions(n)}-1`;
    const source = { source_name: `source-${n}`, source_version: version };
    return { name: `package-${n}`, version, arch: 'amd64', ...source };
  });
  const scan = { scanned_at: '2026-11-21T09:00:00Z', complete: true };
  return Buffer.from(JSON.stringify({ ...scan, packages, updates: [] }));
}
