import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/** The first sign of network access of this process; null when there is none, as an installation requires. */
export function findNetwork(): string | null {
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    if (addresses?.some((address) => !address.internal)) return `interface ${name} has an address`;
  }
  return process.platform === 'linux' ? findRoute(readFileSync('/proc/self/net/route', 'utf8')) : null;
}

/** An interface without an address may still have a route. The first line of the table is its heading. */
export function findRoute(table: string): string | null {
  const [row] = table
    .split('\n')
    .slice(1)
    .filter((line) => line.trim() !== '' && !/^lo\s/.test(line));
  return row === undefined ? null : `there is a route through ${row.split(/\s/)[0]}`;
}
