import type { Log } from './log.ts';

/** Work behind the requests. */
export interface Work {
  /** Called once, when the server listens; left out where the work starts on demand. */
  start?(): void;
  /** Ends after the run that is under way. */
  stop(): Promise<void> | void;
}

/** The one list of background work: what is registered here is started and stopped with the server. */
export interface Background {
  /** Registers work and returns it. The name is for the log. */
  use<T extends Work>(name: string, work: T): T;
  /** Registers work that calls other servers. It is stopped first, because other work may be waiting for it. */
  useOutgoing<T extends Work>(name: string, work: T): T;
  /** Starts everything in the order of registration. */
  start(): void;
  /**
   * Stops outgoing work all at once, then the rest in reverse order of registration. A stop that fails is logged and
   * does not keep the others from stopping; then this rejects with it, or with a SuppressedError that holds several.
   */
  stop(): Promise<void>;
}

export function createBackground(log: Pick<Log, 'error'>): Background {
  const works: Work[] = [];
  const outgoing: (() => Promise<void>)[] = [];
  const stack = new AsyncDisposableStack();

  async function stop(name: string, work: Work): Promise<void> {
    try {
      await work.stop();
    } catch (error) {
      log.error('background work failed to stop', { work: name, error: String(error) });
      throw error;
    }
  }

  return {
    use(name, work) {
      works.push(work);
      stack.defer(() => stop(name, work));
      return work;
    },
    useOutgoing(name, work) {
      works.push(work);
      outgoing.push(() => stop(name, work));
      return work;
    },
    start() {
      for (const work of works) work.start?.();
    },
    stop() {
      if (!stack.disposed) stack.defer(() => stopTogether(outgoing));
      return stack.disposeAsync();
    },
  };
}

async function stopTogether(stops: readonly (() => Promise<void>)[]): Promise<void> {
  const ended = new AsyncDisposableStack();
  for (const stopped of stops.map((stop) => stop())) {
    stopped.catch(() => {});
    ended.defer(() => stopped);
  }
  await ended.disposeAsync();
}
