import type { ProbeReport } from '@tidegate/protocol/probes';
import { lockBinding } from '../agents/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { mergeReport } from './probe-rules.ts';
import { findProbes, saveProbes } from './store.ts';

/** Probes that an event names. */
const EVENT_PROBES_MAX = 10;

/** Keeps what a host says of its own probes. Its rows are held: two reports at once are taken one after the other. */
export async function recordProbes(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { agentId, report }: { agentId: string; report: ProbeReport },
): Promise<void> {
  await lockBinding(tx, { engine: platform.database.engine, agentId });
  const merged = mergeReport(await findProbes(tx, agentId), report, platform.now());
  if (merged === null) return;
  await saveProbes(tx, agentId, merged.kept);
  if (merged.told === null) return;
  const isRed = merged.told === 'red';
  const red = report.probes.filter(({ state }) => state === 'red').map(({ name }) => name);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: isRed ? 'probes_red' : 'probes_recovered', component: 'probes' },
    ...{ severity: isRed ? 'warning' : 'info', agentId, actor: 'agent' },
    content: isRed ? { probes: red.slice(0, EVENT_PROBES_MAX), count: red.length } : {},
  });
}
