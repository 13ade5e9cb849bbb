import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { createLinkedQueue, type Linked } from './linked-queue.ts';
import { LOOK_EVERY_MS, type Unread, unreadBy } from './unread-answers.ts';

/**
 * Shares of the process's limit of open files. Beyond the first, a connection ends with its answer; beyond the second, each new one
 * ends one that waits, or whose client is waited for; the last is the end.
 */
const KEPT_SHARE = 0.8;
const ROOM_SHARE = 0.85;
const MOST_SHARE = 0.9;
/**
 * Requests of one connection that have no answer yet. Only pipelining has more than one, which agents, browsers and proxies
 * do not do: a packet of 64 KiB holds a thousand, each of which would be worked on at once.
 */
export const UNANSWERED_MAX = 16;

export interface OpenConnections {
  /** Counts the connections of a server, which takes no more than fit. */
  watch(server: Server): void;
  /**
   * Follows a request. Its connection ends with the answer if the server stops soon, or has too many to keep. False: the
   * connection has too many requests and was ended, and this one is not to be answered.
   */
  follow(response: ServerResponse): boolean;
  /** Looks whether clients read their answers, and ends the connections of those that do not. */
  endStalled(): void;
  /** Ends the connections on which no request has come: Node 24 waits for them when a server closes, Node 26 does not. */
  endSilent(): void;
  counts(): ConnectionCounts;
}

export interface ConnectionCounts {
  open: number;
  /** Those of them that have no request to answer. */
  waiting: number;
  /** No more are taken; null: any number is. */
  max: number | null;
  /** Ended since the start because there were too many: with their answers, and while they waited. */
  ended: { answered: number; waiting: number };
}

interface Connection extends Linked<Connection> {
  socket: Socket;
  /** Those without an answer, and the answer to the last one. */
  requests: number;
  response: ServerResponse | null;
  unread: Unread | null;
}

/** Connections with a request that one look for room passes over. */
const LOOKED_AT_MAX = 64;

/**
 * Bounds the connections that hosts keep between their check-ins, so that files and the database can always be opened.
 * `filesMax` null bounds nothing. `onCrowded` is told of each connection that is ended.
 */
export function createOpenConnections(options: {
  filesMax: number | null;
  onCrowded: (open: number) => void;
  /** Whether each connection is to end with its answer; absent: none is. */
  isDraining?: () => boolean;
}): OpenConnections {
  const filesMax = options.filesMax ?? Number.POSITIVE_INFINITY;
  const keptMax = keptConnections(filesMax);
  const roomMax = Math.floor(filesMax * ROOM_SHARE);
  const max = options.filesMax === null ? null : Math.floor(filesMax * MOST_SHARE);
  const connections = new WeakMap<Socket, Connection>();
  // Those that have sent no request go first, or a flood of them would end the ones that hosts keep.
  const silent = createLinkedQueue<Connection>();
  const idle = createLinkedQueue<Connection>();
  const busy = createLinkedQueue<Connection>();
  const ended = { answered: 0, waiting: 0 };
  let open = 0;

  function accept(socket: Socket): Connection {
    open++;
    if (open > roomMax) makeRoom();
    const connection: Connection = {
      socket,
      requests: 0,
      response: null,
      unread: null,
      queue: null,
      before: null,
      after: null,
    };
    connections.set(socket, connection);
    silent.add(connection);
    socket.once('close', () => {
      open--;
      forget(connection);
    });
    // Not `maxConnections` of the server: it knows of those that its own listener took.
    if (max !== null && open > max) socket.destroy();
    return connection;
  }

  function makeRoom(): void {
    const longest = silent.first() ?? idle.first() ?? longestAwaited();
    if (longest === null) return;
    forget(longest);
    longest.socket.destroy();
    ended.waiting++;
    options.onCrowded(open);
  }

  /** The one whose client sends no body, or reads no answer, for longest. Those that wait for the server go to the end. */
  function longestAwaited(): Connection | null {
    for (let n = 0; n < LOOKED_AT_MAX; n++) {
      const first = busy.first();
      if (first === null || isAwaited(first)) return first;
      busy.remove(first);
      busy.add(first);
    }
    return null;
  }

  function endStalled(): void {
    for (let one = busy.first(); one !== null; ) {
      const { socket, after } = one;
      const unread = unreadBy(one.unread, socket);
      if (unread === 'stalled') socket.destroy();
      else one.unread = unread;
      one = after;
    }
  }

  function endSilent(): void {
    for (let one = silent.first(); one !== null; one = silent.first()) {
      forget(one);
      one.socket.destroy();
    }
  }

  function forget(connection: Connection): void {
    connection.queue?.remove(connection);
    connections.delete(connection.socket);
  }

  /** One function for all answers: a closure for each would be kept as long as its request. */
  function endRequest(this: ServerResponse): void {
    const connection = connections.get(this.req.socket);
    if (connection === undefined || --connection.requests > 0) return;
    connection.response = null;
    connection.queue?.remove(connection);
    idle.add(connection);
  }

  return {
    watch(server) {
      const looks = setInterval(endStalled, LOOK_EVERY_MS).unref();
      server.once('close', () => clearInterval(looks));
      if (!(server instanceof TlsServer)) return void server.on('connection', accept);
      // Requests come on another socket than the one that was accepted, and nothing public leads from it to that one.
      // An object: what has left it is kept by nothing, where a Map may keep it (decision 0135).
      const shaking: Record<string, Connection> = Object.create(null);
      server.on('connection', (raw: Socket) => {
        const peer = peerOf(raw);
        shaking[peer] = accept(raw);
        raw.once('close', () => delete shaking[peer]);
      });
      server.on('secureConnection', (socket) => {
        const connection = shaking[peerOf(socket)];
        if (connection === undefined) return;
        connections.delete(connection.socket);
        connection.socket = socket;
        connections.set(socket, connection);
      });
    },
    follow(response) {
      const connection = connections.get(response.req.socket);
      if (connection !== undefined) {
        if (connection.requests >= UNANSWERED_MAX) {
          // The rest of the packet still comes here.
          connection.socket.destroy();
          return false;
        }
        if (connection.requests++ === 0) {
          connection.queue?.remove(connection);
          busy.add(connection);
        }
        connection.response = response;
        response.on('close', endRequest);
      }
      if (options.isDraining?.()) response.shouldKeepAlive = false;
      if (open <= keptMax) return true;
      response.shouldKeepAlive = false;
      ended.answered++;
      options.onCrowded(open);
      return true;
    },
    endStalled,
    endSilent,
    counts: () => ({ open, waiting: silent.size() + idle.size(), max, ended: { ...ended } }),
  };
}

/** Whether the server has nothing to do but wait for the client. */
function isAwaited({ response }: Connection): boolean {
  return (
    response !== null && (!response.req.complete || response.writableEnded || response.writableNeedDrain)
  );
}

/** How many connections are kept between their requests. */
export function keptConnections(filesMax: number): number {
  return Math.floor(filesMax * KEPT_SHARE);
}

function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** The limit of open files of this process; null where the system does not tell. */
export function openFilesMax(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
