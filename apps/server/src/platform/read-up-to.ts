/** The first bytes of an answer, at most `maxBytes`. Ending early destroys the stream, and with it the connection. */
export async function readUpTo(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: true };
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}
