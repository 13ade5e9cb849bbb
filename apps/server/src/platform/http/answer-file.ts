import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { takeTurn } from '../turns.ts';
import { createSeats } from './seats.ts';

/** Most open files of a kind: in total, and for one operator. */
const FILES_MAX = 8;
export const FILES_PER_OPERATOR = 2;
/** The longest time that a client may take for a file, in milliseconds. */
const FILE_MAX_MS = 10 * 60_000;
/** A piece ends with the item that makes it this long, in characters: items may be long themselves. */
const PIECE_CHARS = 64 * 1024;

export interface AnswerFile {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly type: string;
  readonly name: string;
  /** A piece is made when the client has taken the one before it. */
  readonly pieces: AsyncGenerator<string>;
}

/** Answers with files that are made while they are sent. */
export function createFileAnswers({ stopping, what }: { stopping: AbortSignal; what: string }) {
  const seats = createSeats({ total: FILES_MAX, each: FILES_PER_OPERATOR, what });
  return async ({ request, reply, type, name, pieces }: AnswerFile): Promise<FastifyReply> => {
    const leave = seats.take(request.caller?.kind === 'operator' ? request.caller.operator.operatorId : '');
    reply.raw.once('close', leave);
    // The first piece comes before the headers, so that a refusal is a problem document.
    const first = await pieces.next();
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(FILE_MAX_MS)]);
    return reply
      .header('content-type', type)
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(Readable.from(withFirst(first, pieces), { signal, objectMode: false }));
  };
}

/** A JSON object as text, its lists a piece at a time. */
export async function* jsonPieces(
  members: Readonly<Record<string, unknown>>,
  lists: Readonly<Record<string, Iterable<unknown>>>,
): AsyncGenerator<string> {
  yield JSON.stringify(members).slice(0, -1);
  for (const [name, items] of Object.entries(lists)) {
    const opening = `,\n${JSON.stringify(name)}:[\n`;
    let [before, piece, chars]: [string, string[], number] = [opening, [], 0];
    for (const item of items) {
      const text = JSON.stringify(item);
      piece.push(text);
      chars += text.length;
      if (chars < PIECE_CHARS) continue;
      await takeTurn();
      yield before + piece.join(',\n');
      [before, piece, chars] = [',\n', [], 0];
    }
    yield piece.length > 0 || before === opening ? `${before}${piece.join(',\n')}]` : ']';
  }
  yield '}\n';
}

async function* withFirst(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
