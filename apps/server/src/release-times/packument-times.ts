/** Deepest nesting of a packument that is read. */
export const PACKUMENT_MAX_DEPTH = 64;
/** Longest key or time that is looked at, in characters; longer ones are none that was asked for. */
const CAPTURED_MAX_CHARS = 512;

export interface PackumentTimes {
  /** Takes the next piece of the text; false once the text is no packument. */
  push(text: string): boolean;
  /** The times of the versions asked for, as they stand in the text; null where the text is no whole packument. */
  end(): ReadonlyMap<string, string | null> | null;
}

/**
 * Reads `time[version]` out of a packument that comes in pieces, and nothing else: a packument can have a hundred
 * megabytes and a million versions, and parsing it as one value would stop the server for a second. Time is linear in
 * the length, memory is bounded by what is asked for. Keys go into a Map, so none of them means anything here. A time
 * that is given twice, or is not text, is null.
 */
export function scanPackument(wanted: ReadonlySet<string>): PackumentTimes {
  const times = new Map<string, string | null>();
  /** Open containers: what closes each. */
  const open: ('}' | ']')[] = [];
  let inString = false;
  let isEscaped = false;
  let captured: string | null = null;
  let isKeyNext = false;
  let rootKey: string | null = null;
  let isTime = false;
  let timeKey: string | null = null;
  let isBroken = false;
  let isOver = false;

  function note(value: string | null): void {
    if (timeKey === null || !wanted.has(timeKey)) return;
    times.set(timeKey, times.has(timeKey) ? null : value);
  }

  /** Whether a string that starts here is one that matters. */
  function isOfInterest(): boolean {
    return (open.length === 1 && isKeyNext) || (open.length === 2 && isTime);
  }

  function endString(): void {
    inString = false;
    if (captured === null) return;
    const text = unescaped(captured);
    captured = null;
    if (open.length === 1) rootKey = text;
    else if (isKeyNext) timeKey = text;
    else note(text);
    isKeyNext = false;
  }

  function openContainer(closing: '}' | ']'): void {
    if (open.length === 0 && closing === ']') isBroken = true;
    if (open.length === 2 && isTime) note(null);
    open.push(closing);
    if (open.length > PACKUMENT_MAX_DEPTH) isBroken = true;
    if (open.length === 2 && rootKey === 'time' && closing === '}') isTime = true;
    isKeyNext = closing === '}';
  }

  function closeContainer(closing: '}' | ']'): void {
    if (open.pop() !== closing) isBroken = true;
    if (open.length === 1) isTime = false;
    if (open.length === 0) isOver = true;
    isKeyNext = false;
  }

  function push(text: string): boolean {
    let i = 0;
    while (i < text.length && !isBroken) {
      if (inString) {
        i = restOfString(text, i);
        continue;
      }
      const c = text[i++];
      switch (c) {
        case '"':
          if (isOver || open.length === 0) isBroken = true;
          inString = true;
          captured = isOfInterest() ? '' : null;
          break;
        case '{':
        case '[':
          if (isOver) isBroken = true;
          openContainer(c === '{' ? '}' : ']');
          break;
        case '}':
        case ']':
          closeContainer(c);
          break;
        case ',':
          isKeyNext = open.at(-1) === '}';
          break;
        case ':':
          isKeyNext = false;
          break;
        case ' ':
        case '\n':
        case '\r':
        case '\t':
          break;
        default:
          if (open.length === 0 || isOver) isBroken = true;
          if (open.length === 2 && isTime && !isKeyNext) note(null);
      }
    }
    return !isBroken;
  }

  /** Goes on in a string up to its end or the end of the piece. */
  function restOfString(text: string, from: number): number {
    let i = from;
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (isEscaped) isEscaped = false;
      else if (c === 0x5c) isEscaped = true;
      else if (c === 0x22) break;
    }
    if (captured !== null && captured.length <= CAPTURED_MAX_CHARS) captured += text.slice(from, i);
    if (i < text.length) endString();
    return i + 1;
  }

  return {
    push,
    end: () => (isBroken || !isOver ? null : times),
  };
}

/** The text between two quotes; null where it is too long or no JSON string. */
function unescaped(raw: string): string | null {
  if (raw.length > CAPTURED_MAX_CHARS) return null;
  try {
    const text: unknown = JSON.parse(`"${raw}"`);
    return typeof text === 'string' ? text : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
