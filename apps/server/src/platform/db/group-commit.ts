/** Transactions that one commit takes at most; the one after begins a new group. */
export const GROUP_MAX = 256;

/** What the group does to the connection, which is its own alone. */
export interface WriteConnection {
  exec(statement: string): void;
  /** Whether a transaction is open: some faults (a full disk) end it by themselves. */
  isOpen(): boolean;
}

/** One write transaction; between `begin` and its end nobody else writes. */
export interface Member {
  begin(): void;
  /** Resolves when the commit is on disk; rejects, with nothing of the group written, when it cannot be. */
  commit(): Promise<void>;
  /** Undoes this member alone; does nothing when it has ended already. */
  rollback(): void;
  /** Lets the next one in, if its end did not already. */
  leave(): void;
}

export interface GroupCommit {
  /** Waits for its turn, first come, first served. */
  enter(): Promise<Member>;
  /** Waits for its turn and for the connection to be outside of any transaction. Call what it resolves with after. */
  alone(): Promise<() => void>;
}

/**
 * Lets the write transactions of one turn of the event loop share one commit, for it is the wait for the disk that
 * costs. Each runs alone and after the one before; one that fails takes nothing with it (a savepoint); each answers
 * only when the commit of all is on disk. What a member saw of those before it fails together with them.
 */
export function createGroupCommit(connection: WriteConnection): GroupCommit {
  const queue = createQueue();
  let group: Group | null = null;

  function end(ended: Group, settle: (waiting: Waiting) => void): void {
    clearImmediate(ended.timer);
    group = null;
    ended.waiting.forEach(settle);
  }
  function commitGroup(ended: Group): void {
    try {
      connection.exec('COMMIT');
    } catch (error) {
      if (connection.isOpen()) connection.exec('ROLLBACK');
      end(ended, ({ reject }) => reject(error));
      return;
    }
    end(ended, ({ resolve }) => resolve());
  }
  function open(): Group {
    connection.exec('BEGIN IMMEDIATE');
    // What the sockets have ready comes first, then the disk. A member that still waits for something goes before.
    const opened: Group = { members: 0, active: false, isDue: false, waiting: [], timer: setImmediate(due) };
    function due(): void {
      if (opened.active) opened.isDue = true;
      else commitGroup(opened);
    }
    return opened;
  }

  return {
    async enter() {
      const release = await queue();
      let joined: Group | null = null;
      function leave(): void {
        joined = null;
        release();
      }
      return {
        leave,
        begin() {
          group ??= open();
          if (group.members > 0) connection.exec('SAVEPOINT member');
          group.members++;
          group.active = true;
          joined = group;
        },
        async commit() {
          if (!joined) throw new Error('a member ends once');
          const mine = joined;
          if (mine.members > 1) connection.exec('RELEASE member');
          mine.active = false;
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          mine.waiting.push({ resolve, reject });
          if (mine.isDue || mine.members >= GROUP_MAX) commitGroup(mine);
          leave();
          await promise;
        },
        rollback() {
          if (!joined) return;
          const mine = joined;
          mine.active = false;
          joined = null;
          if (!connection.isOpen()) {
            // The fault undid the whole group: those who wait for the commit must hear of it.
            const error = new GroupLost('the transaction was ended by a fault of another one in its group');
            end(mine, ({ reject }) => reject(error));
          } else if (mine.members === 1) {
            connection.exec('ROLLBACK');
            end(mine, ({ resolve }) => resolve());
          } else {
            connection.exec('ROLLBACK TO member');
            connection.exec('RELEASE member');
            if (mine.isDue || mine.members >= GROUP_MAX) commitGroup(mine);
          }
        },
      };
    },
    async alone() {
      const release = await queue();
      if (group) commitGroup(group);
      return release;
    },
  };
}

/** Nothing is wrong with the transaction itself: the same again may well succeed. */
export class GroupLost extends Error {
  override name = 'GroupLost';
}

interface Waiting {
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Group {
  members: number;
  /** Whether a member is between begin and end. */
  active: boolean;
  /** Its turn of the event loop is over: it commits as soon as no member is active. */
  isDue: boolean;
  waiting: Waiting[];
  timer: NodeJS.Immediate;
}

/** First come, first served: resolves with the function that lets the next one in, which may be called again. */
function createQueue(): () => Promise<() => void> {
  let tail: Promise<void> = Promise.resolve();
  return async () => {
    const before = tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    tail = promise;
    await before;
    return resolve;
  };
}
