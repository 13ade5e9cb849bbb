import { tmpDir } from '@tidegate/testkit/tmp';
import { openServer } from '../demo/server.ts';

/** Nothing leaves this machine. */
const NOWHERE = 'http://127.0.0.1:9';
const env = Object.fromEntries(
  ['ADVISORY_API', 'ADVISORY_EXPORT', 'KEV', 'EPSS', 'NPM_REGISTRY', 'PYPI'].map((of) => [
    `SERVICE_${of}_URL`,
    NOWHERE,
  ]),
);

/** Two servers without a host: one with its first operator, and one that waits for it at a link. */
export async function openEmptyServers(now: () => number) {
  await using stack = new AsyncDisposableStack();
  const open = async (isSetUp: boolean) => {
    const folder = stack.use(tmpDir('tidegate-gallery-'));
    const server = await openServer(folder.path, { sources: { env }, now, port: 0, isSetUp });
    stack.defer(server.stop);
    return server.url;
  };
  const empty = await open(true);
  const printed = await printedBy(() => open(false));
  const setUp = /http\S+\/setup\/\S+/.exec(printed)?.[0];
  if (setUp === undefined) throw new Error('the server printed no link');
  const held = stack.move();
  return { empty, setUp, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** The link is told to the terminal, and nowhere else. */
async function printedBy(act: () => Promise<unknown>): Promise<string> {
  const { write } = process.stderr;
  let printed = '';
  process.stderr.write = (text: string | Uint8Array) => {
    printed += String(text);
    return true;
  };
  try {
    await act();
  } finally {
    process.stderr.write = write;
  }
  return printed;
}
