import { createListening, type Listening } from '../platform/listening.ts';
import type { Platform } from '../platform/platform.ts';
import { lastWord } from './silence-store.ts';

/** Of one kind of looks at the hosts, every so many milliseconds: since when they could have been heard. */
export function listenToHosts({ database }: Pick<Platform, 'database'>, everyMs: number): Listening {
  return createListening(everyMs, () => lastWord(database.read));
}
