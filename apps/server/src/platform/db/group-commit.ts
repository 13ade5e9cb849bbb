/** Transactions per commit; the next one begins a new group. */
export const GROUP_MAX = 256;

/** What the group needs of its connection, which nothing else uses for transactions. */
export interface WriteConnection {
  /** Opens a transaction that may write. Resolves when no other connection to the database writes. */
  begin(): Promise<void>;
  exec(statement: string): void;
  /** Whether a transaction is open: some faults (a full disk) end it. */
  isOpen(): boolean;
}

/** One write transaction; nothing else writes between `begin` and its end. */
export interface Member {
  begin(): Promise<void>;
  /** Resolves when the commit is on disk. Rejects if the commit fails; nothing of the group is written then. */
  commit(): Promise<void>;
  /** Undoes this member alone; does nothing if it has ended. */
  rollback(): void;
  /** Lets the next member begin; may be called again. */
  leave(): void;
}

export interface GroupCommit {
  /** Resolves when it is this member's turn, first come, first served. */
  enter(): Promise<Member>;
  /** Resolves when it is the caller's turn and no transaction is open. Call the result to let the next one in. */
  alone(): Promise<() => void>;
}

/**
 * Lets the write transactions of one turn of the event loop share one commit, because the wait for the disk is
 * what costs. Members run one after the other. A savepoint undoes a failed member alone. Each member resolves
 * only when the shared commit is on disk: a member may have read rows of those before it, so they are
 * committed together or not at all.
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
  async function open(): Promise<Group> {
    await connection.begin();
    // Commits after the I/O that is ready in this turn, or later if a member is still active.
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
        async begin() {
          group ??= await open();
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
            // The fault undid the whole group, so the members that wait for the commit fail too.
            const error = new GroupLost('a fault of another transaction ended the group commit');
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

/** A fault of another member undid this transaction; trying again may succeed. */
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
  /** The turn of the event loop is over: commit as soon as no member is active. */
  isDue: boolean;
  waiting: Waiting[];
  timer: NodeJS.Immediate;
}

/** First come, first served. Resolves with a function that lets the next one in; calling it again does nothing. */
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
