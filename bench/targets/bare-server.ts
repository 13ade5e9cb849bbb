import { createServer } from 'node:http';

/** About as long as the answer to an idle check-in. */
const ANSWER = JSON.stringify({
  commands: [],
  report: [],
  next_check_in_seconds: 60,
  state: 'x'.repeat(700),
});

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(ANSWER),
    });
    response.end(ANSWER);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object')
    process.stdout.write(`url=http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
