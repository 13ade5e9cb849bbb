/** The protocol name of tls-alpn-01 (RFC 8737, section 4). */
export const ACME_PROTOCOL = 'acme-tls/1';
/** Longest ClientHello that is read, in bytes: one TLS record. */
export const HELLO_MAX_BYTES = 5 + 16_384;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const ALPN_EXTENSION = 16;

/**
 * Whether the bytes that a TLS client sends first offer tls-alpn-01: `partial` if more bytes are needed. Everything
 * that is no ClientHello in one record is `no`: TLS itself refuses it (RFC 8446, section 4.1.2; RFC 7301, section 3.1).
 */
export function offersAcme(bytes: Buffer): 'yes' | 'no' | 'partial' {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE_RECORD) return 'no';
  if (bytes.length < 5) return 'partial';
  const recordEnd = 5 + bytes.readUInt16BE(3);
  if (recordEnd > HELLO_MAX_BYTES) return 'no';
  if (bytes.length < recordEnd) return 'partial';
  const protocols = alpnOf(createReader(bytes.subarray(5, recordEnd)));
  return protocols?.includes(ACME_PROTOCOL) ? 'yes' : 'no';
}

/** Reads forward; every read past the end is null. */
interface Reader {
  number(bytes: 1 | 2 | 3): number | null;
  /** What a length of so many bytes announces. */
  vector(lengthBytes: 1 | 2): Reader | null;
  skip(bytes: number): true | null;
  text(): string;
  hasMore(): boolean;
}

function createReader(bytes: Buffer): Reader {
  let at = 0;
  const skip = (count: number): true | null => {
    if (at + count > bytes.length) return null;
    at += count;
    return true;
  };
  const number = (count: 1 | 2 | 3): number | null =>
    skip(count) ? bytes.readUIntBE(at - count, count) : null;
  return {
    number,
    skip,
    vector(lengthBytes) {
      const length = number(lengthBytes);
      if (length === null || !skip(length)) return null;
      return createReader(bytes.subarray(at - length, at));
    },
    text: () => bytes.toString('latin1'),
    hasMore: () => at < bytes.length,
  };
}

/** The protocols that a ClientHello offers; null if it is none, or offers none. */
function alpnOf(hello: Reader): string[] | null {
  if (hello.number(1) !== CLIENT_HELLO) return null;
  // Length, version and random; then session id, cipher suites and compression methods.
  if (!hello.skip(3 + 2 + 32) || !hello.vector(1) || !hello.vector(2) || !hello.vector(1)) return null;
  const extensions = hello.vector(2);
  while (extensions?.hasMore()) {
    const type = extensions.number(2);
    const data = extensions.vector(2);
    if (data === null) return null;
    if (type === ALPN_EXTENSION) return namesIn(data.vector(2));
  }
  return null;
}

function namesIn(list: Reader | null): string[] {
  const names: string[] = [];
  while (list?.hasMore()) {
    const name = list.vector(1);
    if (name === null) break;
    names.push(name.text());
  }
  return names;
}
