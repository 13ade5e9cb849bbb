/** The state of the database when this server last recorded it. */
export interface Memory {
  fleetId: string;
  epoch: number;
  mark: number;
  eventsPosition: number;
  eventsHash: string | null;
}

export interface DatabaseFacts {
  /** Null if the database is empty. */
  fleetId: string | null;
  epoch: number;
  /** Rises each time a server records the state; 0 if none ever did. */
  mark: number;
  eventsPosition: number;
  /** Hash of the event at the recorded position; null if there is no such event, or it was pruned. */
  hashAtMemory: string | null;
  /** Whether `tidegate restore` wrote this database and no server has started on it since. */
  isRestored: boolean;
  /** Other servers that use it at the moment. */
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
  /** Another server began this epoch and has handled the restore, if there was one. */
  | { kind: 'adopted'; epoch: number }
  | { kind: 'restored'; epoch: number; sign: RestoreSign };

/**
 * Decides whether the database was restored (T20); the first sign that matches wins. A server adopts an epoch
 * higher than its own and never raises it further, so replicas do not raise it in answer to each other.
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
    // No server has ever recorded a state: the first start was cut short.
    if (database.mark === 0) return { kind: 'same', epoch: database.epoch };
    // A new replica beside others, which watch the database.
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
