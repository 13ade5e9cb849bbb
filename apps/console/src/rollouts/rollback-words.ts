import { counted } from '@tidegate/protocol/count-words';
import type { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { SKIP_TEXTS } from '../updates/way-back-rules.ts';

/** What is undone: `3 installations on 2 hosts`. */
export function undoneText(requested: RollbackAnswer['requested']): string {
  const installations = new Set(requested.map(({ token_id: id }) => id)).size;
  const hosts = new Set(requested.map(({ agent_id: id }) => id)).size;
  if (installations === 0) return 'No installation';
  return `${counted(installations, 'installation')} on ${counted(hosts, 'host')}`;
}

/** Why the others are left out, each reason once. */
export function skippedTexts(skipped: RollbackAnswer['skipped']): string[] {
  return [...Map.groupBy(skipped, ({ code }) => code)].map(
    ([code, some]) => `${counted(some.length, 'update')} left out: ${SKIP_TEXTS[code]}`,
  );
}
