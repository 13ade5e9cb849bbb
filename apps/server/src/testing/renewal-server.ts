import { openSqlite } from '../platform/db/sqlite.ts';
import { createAgentsApp } from './agents-app.ts';
import { databaseOptions } from './database-options.ts';

/**
 * A program for tests that trace or stop single system calls: serves renewals from the given SQLite file,
 * with a seed for its randomness, and prints its address on a line. Ends when its input does.
 */
const [, , file = '', seed = ''] = process.argv;
const database = openSqlite(file, databaseOptions());
const { app } = createAgentsApp(database, { seed, isProgram: true });
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`url=${url}\n`);
process.stdin.resume().once('end', async () => {
  await app.close();
  await database.close();
});
