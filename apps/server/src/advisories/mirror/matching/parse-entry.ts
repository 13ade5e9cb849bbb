/** Parses a JSON column of the mirror; invalid JSON becomes `null`, which matching finds undecidable. */
export function parseEntryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
