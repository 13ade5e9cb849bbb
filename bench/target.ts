import { Type } from 'typebox';

/** Another server under the same load. `pid` is the process whose CPU counts; it should run on core 0, as ours does. */
export interface Target {
  readonly url: string;
  readonly pid: number;
  /** One complete HTTP/1.1 request for each agent, sent in turn over connections that are kept. Each answer is to be 200. */
  readonly requests: readonly Buffer[];
  /** CPU time of its database's processes so far, in microseconds; leave it out without one. */
  databaseCpuUs?(): number;
  stop(): Promise<void>;
}

/** What the module of `--target` exports: a name for the page, and how to start the server with so many agents. */
export const Adapter = Type.Object({
  name: Type.String({ minLength: 1 }),
  start: Type.Unsafe<(agents: number) => Promise<Target>>(Type.Function([Type.Integer()], Type.Unknown())),
});
