import { createKeyWaits } from './key-waits.ts';

/** `urgent` is for work that a request waits for. The lanes are worked on independently of each other. */
export type Lane = 'urgent' | 'background';

export interface TwoLaneQueue<Item, Outcome> {
  /**
   * Queues the items and waits for their outcomes, at most `timeoutMs`. An item that is queued or in progress is not
   * asked for twice. The result leaves out the items without an outcome by then.
   */
  ask(items: readonly Item[], how: { lane: Lane; timeoutMs: number }): Promise<ReadonlyMap<string, Outcome>>;
  /** Queues items in the background without waiting. Items that do not fit are dropped. */
  add(items: readonly Item[]): void;
  isInProgress(item: Item): boolean;
  /** Resolves when nothing is queued or in progress. */
  idle(): Promise<void>;
  /** Ends every wait at once with `notAsked`, starts no more work, and resolves when the work in progress has ended. */
  stop(): Promise<void>;
}

/** One batch of work. */
export interface Batch<Item, Outcome> {
  readonly items: readonly Item[];
  readonly lane: Lane;
  isStopped(): boolean;
  /** Ends the waits for these items. Items that are not settled when the work ends are `notAsked`. */
  settle(items: readonly Item[], outcomeOf: (key: string) => Outcome): void;
}

export interface TwoLaneQueueOptions<Item, Outcome> {
  keyOf(item: Item): string;
  /** Items of one group share a batch and take one place in the queue. By default each item is a group. */
  groupOf?(item: Item): string;
  work(batch: Batch<Item, Outcome>): Promise<void>;
  /** Called when the work rejects; the queue goes on with the next batch. */
  onError(error: unknown): void;
  /** The outcome of items that found no room, were cut off by `stop`, or whose work failed. */
  readonly notAsked: Outcome;
  /** Most groups of one batch. */
  readonly batchMax: number;
  /** Most groups that are queued in one lane. */
  readonly queueMax: number;
  /** Batches of one lane that are in progress at once. */
  readonly concurrency: number;
}

export function createTwoLaneQueue<Item, Outcome>(
  options: TwoLaneQueueOptions<Item, Outcome>,
): TwoLaneQueue<Item, Outcome> {
  const { keyOf, groupOf = keyOf, notAsked } = options;
  const waits = createKeyWaits<Outcome>();
  let isStopped = false;
  const lanes = { urgent: openLane('urgent'), background: openLane('background') };

  function openLane(lane: Lane) {
    const queue = new Map<string, Map<string, Item>>();
    const inProgress = new Set<string>();
    let running = 0;
    let idle = Promise.withResolvers<void>();
    idle.resolve();

    /** False where the lane is full. */
    function add(item: Item): boolean {
      const [key, group] = [keyOf(item), groupOf(item)];
      if (inProgress.has(key)) return true;
      const queued = queue.get(group);
      if (!queued && queue.size >= options.queueMax) return false;
      if (queued) queued.set(key, item);
      else queue.set(group, new Map([[key, item]]));
      if (running < options.concurrency) start();
      return true;
    }

    function start(): void {
      if (running++ === 0) idle = Promise.withResolvers<void>();
      void run();
    }

    async function run(): Promise<void> {
      // Items that are queued in the same turn share a batch.
      await Promise.resolve();
      while (queue.size > 0 && !isStopped) await workOn(take());
      // In the same turn as the last look at the queue: an item that is queued later starts a new run.
      if (--running === 0) idle.resolve();
    }

    function take(): Item[] {
      const groups = [...queue.entries().take(options.batchMax)];
      for (const [group] of groups) queue.delete(group);
      return groups.flatMap(([, items]) => [...items.values()]);
    }

    async function workOn(items: readonly Item[]): Promise<void> {
      const open = new Map(items.map((item) => [keyOf(item), item]));
      for (const key of open.keys()) inProgress.add(key);
      function settle(some: readonly Item[], outcomeOf: (key: string) => Outcome): void {
        for (const key of some.map(keyOf)) {
          if (!open.delete(key)) continue;
          inProgress.delete(key);
          waits.settle(key, outcomeOf(key));
        }
      }
      try {
        await options.work({ items, lane, settle, isStopped: () => isStopped });
      } catch (error) {
        options.onError(error);
      }
      settle([...open.values()], () => notAsked);
    }

    return {
      add,
      isInProgress: (key: string) => inProgress.has(key),
      idle: () => idle.promise,
    };
  }

  const idle = async () => void (await Promise.all([lanes.urgent.idle(), lanes.background.idle()]));

  return {
    async ask(items, { lane, timeoutMs }) {
      const byKey = new Map(items.map((item) => [keyOf(item), item]));
      if (isStopped) return new Map([...byKey.keys()].map((key) => [key, notAsked]));
      const wait = waits.wait([...byKey.keys()], timeoutMs);
      for (const [key, item] of byKey) {
        // Urgent work in progress answers the background too. Not the reverse: a background call may take long.
        if (lane === 'background' && lanes.urgent.isInProgress(key)) continue;
        if (!lanes[lane].add(item)) wait.end(key, notAsked);
      }
      return wait.outcomes;
    },
    add(items) {
      if (!isStopped) for (const item of items) lanes.background.add(item);
    },
    isInProgress: (item) =>
      lanes.urgent.isInProgress(keyOf(item)) || lanes.background.isInProgress(keyOf(item)),
    idle,
    stop() {
      isStopped = true;
      waits.settleAll(notAsked);
      return idle();
    },
  };
}
