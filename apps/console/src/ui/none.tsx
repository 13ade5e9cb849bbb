/** There is none; as a fact of a card it is left out. */
export function None({ word = 'none' }: { word?: string }) {
  return (
    <span data-none="" className="text-muted">
      {word}
    </span>
  );
}
