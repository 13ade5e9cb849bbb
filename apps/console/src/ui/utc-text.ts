/** A time of the server to the second, in UTC: for paper, tooltips and sentences, which do not change with the clock. */
export function utcText(at: string): string {
  return at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}
