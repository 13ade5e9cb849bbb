import { counted } from '@tidegate/protocol/count-words';
import type { Config } from '../config.ts';
import { countsOfChannels, listChannels } from '../notifications/channel-store.ts';
import { activeRules } from '../notifications/rule-store.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

/** Names channels that fail or have dead letters, and says when messages lack their links. */
export async function judgeNotifications(
  { baseUrl }: Pick<Config, 'baseUrl'>,
  { read }: Database,
): Promise<Finding> {
  const check = 'notifications';
  const rules = await activeRules(read);
  const counts = await countsOfChannels(read);
  const named = (await listChannels(read)).flatMap(({ id, name, failures, is_enabled: isEnabled }) => {
    const dead = counts.get(id)?.dead ?? 0;
    const faults = [
      ...(isEnabled === 1 && failures > 0 ? [`failed ${failures} times in a row`] : []),
      ...(dead > 0 ? [`has ${counted(dead, 'message')} given up`] : []),
    ];
    return faults.length > 0 ? [`the channel ${JSON.stringify(name)} ${faults.join(' and ')}`] : [];
  });
  if (named.length > 0) {
    const todo = 'test the channel in the console, correct it, and send again what was given up';
    return { check, level: 'warn', detail: named.join('; '), todo };
  }
  if (rules.length === 0) return { check, level: 'ok', detail: 'no rule sends any' };
  if (baseUrl === null) {
    const todo = 'set SERVICE_BASE_URL to the address of the console';
    return { check, level: 'warn', detail: 'messages have no links to what they speak of', todo };
  }
  return { check, level: 'ok', detail: `${rules.length} rules send them` };
}
