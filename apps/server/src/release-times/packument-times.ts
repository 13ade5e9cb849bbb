/** Deepest nesting of a packument that is read. */
export const PACKUMENT_MAX_DEPTH = 64;
/** Longest key or time that is looked at, in characters; longer ones are none that was asked for. */
const CAPTURED_MAX_CHARS = 512;

/** What a packument says about one version, as it stands there; null where it is no text or is said twice. */
export interface PackumentVersion {
  readonly time: string | null;
  /** Of its tarball; undefined where there is none. */
  readonly integrity: string | null | undefined;
  /** Whether the version can be installed from there: the time of an unpublished one stays in the packument. */
  readonly isListed: boolean;
}

export interface PackumentTimes {
  /** Takes the next piece of the text; false once the text is no packument. */
  push(text: string): boolean;
  /** The versions asked for that are listed or have a time; null where the text is no whole packument. */
  end(): ReadonlyMap<string, PackumentVersion> | null;
}

/**
 * Reads `time[version]` and `versions[version].dist.integrity` out of a packument that comes in pieces, and nothing
 * else: a packument can have a hundred megabytes and a million versions, and parsing it as one value would stop the
 * server for a second. Time is linear in the length, memory is bounded by what is asked for. Keys go into a Map, so
 * none of them means anything here.
 */
export function scanPackument(wanted: ReadonlySet<string>): PackumentTimes {
  const times = new Map<string, string | null>();
  const integrities = new Map<string, string | null>();
  const listed = new Set<string>();
  /** Open containers: what closes each. */
  const open: ('}' | ']')[] = [];
  /** The key that is being read in each of them, where it matters. */
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

  /** Whether a string that starts here is one that matters. */
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
