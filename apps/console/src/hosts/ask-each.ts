/** The progress of a batch: how many were asked, and which were refused and why. */
export interface Asked {
  readonly done: number;
  readonly refused: readonly { readonly id: string; readonly why: string }[];
}

/**
 * Runs an act for each id in turn and reports the progress after each. A refusal does not end the batch; the signal
 * does, before the next id.
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
