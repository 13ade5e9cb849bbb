/** One message of a stream (HTML, "Server-sent events"). */
export interface StreamMessage {
  readonly event: string;
  readonly data: string;
  /** The id that a reconnection sends; empty if there was none. */
  readonly id: string;
}

export interface StreamReader {
  /** The messages that are complete with this piece of text. */
  take(text: string): StreamMessage[];
  /** The id of the last message. */
  lastId(): string;
  /** The delay before a reconnection that the server asked for, in milliseconds; null if it did not. */
  retryMs(): number | null;
}

/** The longest message, in characters. */
const MESSAGE_MAX_LENGTH = 1024 * 1024;

/** Reads a stream of events, piece by piece. Throws on a longer message. */
export function createStreamReader(): StreamReader {
  let rest = '';
  let id = '';
  let retry: number | null = null;
  let event = '';
  let data: string[] = [];

  function takeLine(line: string): StreamMessage | null {
    if (line === '') {
      const message = data.length === 0 ? null : { event: event || 'message', data: data.join('\n'), id };
      event = '';
      data = [];
      return message;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) retry = Number(value);
    return null;
  }

  return {
    take(text) {
      // A carriage return at the end may be half of a line's end.
      const whole = rest + text;
      const keep = whole.endsWith('\r') ? 1 : 0;
      const lines = whole.slice(0, whole.length - keep).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '') + whole.slice(whole.length - keep);
      if (rest.length + data.reduce((sum, { length }) => sum + length, 0) > MESSAGE_MAX_LENGTH)
        throw new Error('A message of the stream is too long');
      return lines.flatMap((line) => takeLine(line) ?? []);
    },
    lastId: () => id,
    retryMs: () => retry,
  };
}
