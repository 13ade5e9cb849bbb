/** An item of a `LinkedQueue`, of at most one at a time. */
export interface Linked<T> {
  queue: LinkedQueue<T> | null;
  before: T | null;
  after: T | null;
}

/**
 * A queue that items leave from anywhere, at a cost that does not depend on its length. Nothing keeps what has left it, where
 * a Map or Set may until a whole collection of the heap (decision 0135).
 */
export interface LinkedQueue<T> {
  first(): T | null;
  size(): number;
  /** Puts an item that is in no queue last. */
  add(item: T): void;
  /** The item has to be in this queue. */
  remove(item: T): void;
}

export function createLinkedQueue<T extends Linked<T>>(): LinkedQueue<T> {
  let [first, last]: [T | null, T | null] = [null, null];
  let size = 0;
  const queue: LinkedQueue<T> = {
    first: () => first,
    size: () => size,
    add(item) {
      item.queue = queue;
      item.before = last;
      if (last) last.after = item;
      else first = item;
      last = item;
      size++;
    },
    remove(item) {
      const { before, after } = item;
      if (before) before.after = after;
      else first = after;
      if (after) after.before = before;
      else last = before;
      item.queue = null;
      item.before = null;
      item.after = null;
      size--;
    },
  };
  return queue;
}
