/** The part of the system that acts. */
export type Part =
  | 'console'
  | 'login'
  | 'osv'
  | 'server'
  | 'operator'
  | 'host'
  | 'agent'
  | 'executor'
  | 'fleet';

/** Prints one line: the part, and what it does. */
export function say(part: Part, text: string): void {
  process.stdout.write(`  ${part.padEnd(9)} ${text}\n`);
}

export function title(text: string): void {
  process.stdout.write(`\n${text}\n`);
}
