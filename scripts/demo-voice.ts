/** Who is doing something. */
export type Part = 'osv' | 'server' | 'operator' | 'host' | 'agent' | 'executor' | 'fleet';

/** One line of the story: who, and what. */
export function say(part: Part, text: string): void {
  process.stdout.write(`  ${part.padEnd(9)} ${text}\n`);
}

export function title(text: string): void {
  process.stdout.write(`\n${text}\n`);
}
