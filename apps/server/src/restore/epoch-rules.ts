/** What this server wrote down when it last saw its database. */
export interface Memory {
  fleetId: string;
  epoch: number;
  mark: number;
  eventsPosition: number;
  eventsHash: string | null;
}

export interface DatabaseFacts {
  /** Null where the database is empty. */
  fleetId: string | null;
  epoch: number;
  /** Rises each time that a server writes its memory down; 0 where none ever did. */
  mark: number;
  eventsPosition: number;
  /** Hash of the event at the position that the memory has; null where there is none, or none any more. */
  hashAtMemory: string | null;
  /** `tidegate restore` wrote this database, and no server has started on it since. */
  isRestored: boolean;
  /** Other servers that were seen on it a moment ago. */
  liveServers: number;
}

export type RestoreSign =
  | 'restore_command'
  | 'empty_database'
  | 'no_epoch_file'
  | 'other_fleet'
  | 'lower_epoch'
  | 'older_state'
  | 'other_history';

export type EpochVerdict =
  | { kind: 'first' }
  | { kind: 'same'; epoch: number }
  /** Another server has begun this epoch: it saw the restore, if there was one. */
  | { kind: 'adopted'; epoch: number }
  | { kind: 'restored'; epoch: number; sign: RestoreSign };

/**
 * Tells a database that was put back from one that went on (T20): the first sign that matches wins. A server never
 * answers an epoch higher than its own with one that is higher still, so that replicas do not raise it for ever.
 */
export function judgeEpoch(memory: Memory | null, database: DatabaseFacts): EpochVerdict {
  const restored = (sign: RestoreSign): EpochVerdict => ({
    kind: 'restored',
    epoch: Math.max(memory?.epoch ?? 0, database.epoch) + 1,
    sign,
  });
  if (database.fleetId === null) return memory === null ? { kind: 'first' } : restored('empty_database');
  if (database.isRestored) return restored('restore_command');
  if (memory === null) {
    // Nobody has ever written anything down: the first start was cut short.
    if (database.mark === 0) return { kind: 'same', epoch: database.epoch };
    // A new replica among others, which watch the database themselves.
    if (database.liveServers > 0) return { kind: 'adopted', epoch: database.epoch };
    return restored('no_epoch_file');
  }
  if (memory.fleetId !== database.fleetId) return restored('other_fleet');
  if (database.epoch > memory.epoch) return { kind: 'adopted', epoch: database.epoch };
  if (database.epoch < memory.epoch) return restored('lower_epoch');
  if (database.mark < memory.mark || database.eventsPosition < memory.eventsPosition) {
    return restored('older_state');
  }
  const isOther = database.hashAtMemory !== null && database.hashAtMemory !== memory.eventsHash;
  return isOther ? restored('other_history') : { kind: 'same', epoch: database.epoch };
}
