/** The end of a stream of bytes, in bounded memory. */
export interface Tail {
  add(chunk: Buffer): void;
  /** How many bytes are no longer there. */
  dropped(): number;
  bytes(): Buffer;
}

/** Keeps the last `maxBytes` of what is added. */
export function keepTail(maxBytes: number): Tail {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let dropped = 0;
  return {
    add: (chunk) => {
      chunks.push(chunk);
      bytes += chunk.length;
      for (let first = chunks[0]; first !== undefined && bytes > maxBytes; first = chunks[0]) {
        const excess = Math.min(bytes - maxBytes, first.length);
        chunks.shift();
        bytes -= excess;
        dropped += excess;
        if (excess < first.length) chunks.unshift(first.subarray(excess));
      }
    },
    dropped: () => dropped,
    bytes: () => Buffer.concat(chunks),
  };
}
