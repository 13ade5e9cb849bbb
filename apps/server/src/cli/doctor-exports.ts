import type { Config } from '../config.ts';
import { readFollower } from '../events/followers-store.ts';
import { pageOfEvents, readHead } from '../events/store.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

/** An exporter that is behind by more is named, in milliseconds. */
const LATE_MS = 900_000;

/** How far each exporter of the settings has come; nothing where there is none. */
export async function judgeExports(
  config: Config,
  { read }: Database,
  now: () => number,
): Promise<Finding[]> {
  const names = [...(config.syslogUrl ? ['syslog'] : []), ...(config.otlpLogsUrl ? ['otlp'] : [])];
  const head = (await readHead(read))?.position ?? 0;
  const findings: Finding[] = [];
  for (const name of names) {
    const check = `events to ${name}`;
    const position = (await readFollower(read, name))?.position ?? 0;
    const [next] = await pageOfEvents(read, { after: position, until: null, limit: 1 });
    const detail = `exported up to ${position} of ${head}`;
    if (!next || now() - next.created_at < LATE_MS) findings.push({ check, level: 'ok', detail });
    else {
      const todo = 'look for "events cannot be exported" in the log of the server, which has the reason';
      const since = new Date(next.created_at).toISOString();
      findings.push({ check, level: 'warn', detail: `${detail}; the next one is of ${since}`, todo });
    }
  }
  return findings;
}
