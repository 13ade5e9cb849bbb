/** What came of asking each: who refused and why, and how many were asked before it was stopped. */
export interface Asked {
  readonly done: number;
  readonly refused: readonly { readonly id: string; readonly why: string }[];
}

/**
 * Does an act for one after the other, and tells after each how far it is. A refusal ends nothing; the signal does,
 * before the next one.
 */
export async function askEach(
  ids: readonly string[],
  {
    act,
    signal,
    onProgress,
  }: { act: (id: string) => Promise<unknown>; signal: AbortSignal; onProgress: (asked: Asked) => void },
): Promise<Asked> {
  let asked: Asked = { done: 0, refused: [] };
  for (const id of ids) {
    if (signal.aborted) break;
    const why = await refusalOf(act(id));
    asked = { done: asked.done + 1, refused: why === null ? asked.refused : [...asked.refused, { id, why }] };
    onProgress(asked);
  }
  return asked;
}

async function refusalOf(act: Promise<unknown>): Promise<string | null> {
  try {
    await act;
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
