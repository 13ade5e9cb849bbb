import { createServer } from 'node:http';

/** The baseline of every comparison: the least work that a Node server can do for a request. */
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '11' });
  response.end('{"ok":true}');
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') {
    process.stdout.write(`url=http://127.0.0.1:${address.port}\n`);
  }
});
process.once('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
