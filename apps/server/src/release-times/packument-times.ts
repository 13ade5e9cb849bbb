/** Maximum nesting of a packument. */
export const PACKUMENT_MAX_DEPTH = 64;
/** Longest key or time that is read, in characters; longer ones cannot be requested ones. */
const CAPTURED_MAX_CHARS = 512;

/** A packument's facts about one version, unparsed; null if a value is not text or is repeated. */
export interface PackumentVersion {
  readonly time: string | null;
  /** Of its tarball; undefined if it has none. */
  readonly integrity: string | null | undefined;
  /** Whether the version can be installed: the time of an unpublished one stays in the packument. */
  readonly isListed: boolean;
}

export interface PackumentTimes {
  /** Takes the next piece of the text; false once the text is not a packument. */
  push(text: string): boolean;
  /** The requested versions that are listed or have a time; null if the text is not a complete packument. */
  end(): ReadonlyMap<string, PackumentVersion> | null;
}

/**
 * Reads only `time[version]` and `versions[version].dist.integrity` from a packument in pieces: a packument
 * can have a hundred megabytes and a million versions, and parsing it as one value would block the server for
 * a second. Time is linear in the length, and the requested versions bound the memory. Keys go into a Map, so
 * prototype names are harmless.
 */
export function scanPackument(wanted: ReadonlySet<string>): PackumentTimes {
  const times = new Map<string, string | null>();
  const integrities = new Map<string, string | null>();
  const listed = new Set<string>();
  /** The closing bracket of each open container. */
  const open: ('}' | ']')[] = [];
  /** The current key in each of them, where it matters. */
  const path: (string | null)[] = [];
  let inString = false;
  let isEscaped = false;
  let captured: string | null = null;
  let isKeyNext = false;
  let isBroken = false;
  let isOver = false;

  function note(value: string | null): void {
    const [root, version] = path;
    if (typeof version !== 'string' || !wanted.has(version)) return;
    if (open.length === 2 && root === 'time') noteOnce(times, version, value);
    if (open.length === 4 && isInDist() && path[3] === 'integrity') noteOnce(integrities, version, value);
  }

  function isInVersion(): boolean {
    const [root, version] = path;
    return root === 'versions' && typeof version === 'string' && wanted.has(version);
  }

  function isInDist(): boolean {
    return isInVersion() && path[2] === 'dist';
  }

  /** Whether a string that starts here matters. */
  function isOfInterest(): boolean {
    switch (open.length) {
      case 1:
        return isKeyNext;
      case 2:
        return path[0] === 'time' || (path[0] === 'versions' && isKeyNext);
      case 3:
        return isKeyNext && isInVersion();
      case 4:
        return isInDist() && (isKeyNext || path[3] === 'integrity');
      default:
        return false;
    }
  }

  function endString(): void {
    inString = false;
    if (captured === null) return;
    const text = unescaped(captured);
    captured = null;
    if (isKeyNext) noteKey(text);
    else note(text);
    isKeyNext = false;
  }

  function noteKey(text: string | null): void {
    path[open.length - 1] = text;
    if (open.length === 2 && isInVersion() && text !== null) listed.add(text);
  }

  function openContainer(closing: '}' | ']'): void {
    if (open.length === 0 && closing === ']') isBroken = true;
    note(null);
    open.push(closing);
    path[open.length - 1] = null;
    if (open.length > PACKUMENT_MAX_DEPTH) isBroken = true;
    isKeyNext = closing === '}';
  }

  function closeContainer(closing: '}' | ']'): void {
    if (open.pop() !== closing) isBroken = true;
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
          if (!isKeyNext) note(null);
      }
    }
    return !isBroken;
  }

  /** Continues in a string until its end or the end of the piece. */
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
    end() {
      if (isBroken || !isOver) return null;
      return new Map(
        [...new Set([...times.keys(), ...listed])].map((of) => [
          of,
          { time: times.get(of) ?? null, integrity: integrities.get(of), isListed: listed.has(of) },
        ]),
      );
    },
  };
}

function noteOnce(said: Map<string, string | null>, version: string, value: string | null): void {
  said.set(version, said.has(version) ? null : value);
}

/** The text between two quotes; null if it is too long or not a JSON string. */
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
