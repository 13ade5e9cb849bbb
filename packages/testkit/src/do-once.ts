import { keepOriginal } from './keep-original.ts';

/**
 * Work on these folders that several tests begin with. The first call does it; each later one with the same words (as
 * JSON) brings the folders back as it left them and returns the same answer. Work that failed is done again.
 */
export function doOnce<Words extends readonly unknown[], Answer>(
  folders: () => readonly string[],
  work: (...words: Words) => Promise<Answer>,
): (...words: Words) => Promise<Answer> {
  const done = new Map<string, () => Promise<Answer>>();
  return async (...words) => {
    const key = JSON.stringify(words);
    const again = done.get(key);
    if (again) return again();
    const answer = await work(...words);
    const bringBack = await Promise.all(folders().map(keepOriginal));
    done.set(key, async () => {
      await Promise.all(bringBack.map((one) => one()));
      return answer;
    });
    return answer;
  };
}
