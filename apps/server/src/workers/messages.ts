import { nullable } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

const Budget = Type.Object({
  requests: Type.Integer({ minimum: 0 }),
  windowSeconds: Type.Integer({ minimum: 1 }),
  enabled: Type.Boolean(),
});

/** The server tells a worker what to start with. */
const Start = Type.Object({
  kind: Type.Literal('start'),
  worker: Type.Integer(),
  /** Processes on the port, the server among them. */
  processes: Type.Integer(),
  host: Type.String(),
  port: Type.Integer(),
  dataDir: Type.String(),
  databaseUrl: nullable(Type.String()),
  /** Where requests are forwarded to. */
  socket: Type.String(),
  /** Key of access tokens, in hex. */
  accessTokens: Type.String(),
  agentCacheMb: Type.Integer(),
  minAgentVersion: nullable(Type.String()),
  logLevel: Type.Enum(['debug', 'info', 'warn', 'error']),
  logFormat: Type.Enum(['text', 'json']),
  hasMetrics: Type.Boolean(),
  /** Slower check-ins are logged, in milliseconds; 0 logs none. */
  logSlowRequestMs: Type.Integer(),
  isEncrypted: Type.Boolean(),
});
export type Start = Static<typeof Start>;

/** What changes, told every second. */
const Now = Type.Object({
  kind: Type.Literal('now'),
  /** The signed state document; null where it cannot be signed at the moment. */
  state: nullable(Type.String()),
  budget: Budget,
  isDraining: Type.Boolean(),
});
export type Now = Static<typeof Now>;

const Certificate = Type.Object({
  kind: Type.Literal('certificate'),
  cert: Type.String(),
  key: Type.String(),
  /** Of the tickets of sessions, in hex. */
  ticketKey: Type.String(),
});
/** The next check-ins of these agents go to the server: they come from other addresses than before. */
const Watch = Type.Object({ kind: Type.Literal('watch'), agentIds: Type.Array(Type.String()) });
const Stop = Type.Object({ kind: Type.Literal('stop') });

const ToWorker = Type.Union([Start, Now, Certificate, Watch, Stop]);
export type ToWorker = Static<typeof ToWorker>;
export const toWorker = Compile(ToWorker);

/** Agent, time, interval in seconds, address of the connection. */
const IdleCheckIn = Type.Tuple([Type.String(), Type.Integer(), Type.Number(), nullable(Type.String())]);
export type IdleCheckIn = Static<typeof IdleCheckIn>;

const WorkerFacts = Type.Object({
  connections: Type.Object({
    open: Type.Integer(),
    waiting: Type.Integer(),
    max: nullable(Type.Integer()),
    ended: Type.Object({ answered: Type.Integer(), waiting: Type.Integer() }),
  }),
  cpuSeconds: Type.Number(),
  residentBytes: Type.Number(),
});
export type WorkerFacts = Static<typeof WorkerFacts>;

/** What a worker has answered since its last report; it says so at least every second. */
const Report = Type.Object({
  kind: Type.Literal('report'),
  checkIns: Type.Array(IdleCheckIn),
  /** For metrics: how long each of them took. */
  tookMs: Type.Array(Type.Number()),
  /** Refused because there were too many: route, and how long that took. */
  refused: Type.Array(Type.Tuple([Type.String(), Type.Number()])),
  facts: WorkerFacts,
});
export type Report = Static<typeof Report>;

const Listening = Type.Object({ kind: Type.Literal('listening') });

const FromWorker = Type.Union([Report, Listening]);
export type FromWorker = Static<typeof FromWorker>;
export const fromWorker = Compile(FromWorker);
