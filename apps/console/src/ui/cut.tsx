/** Host-supplied text may be long: it is truncated, and complete on hover. */
export function Cut({ text }: { text: string }) {
  return (
    <span title={text} className="mono inline-block max-w-56 truncate align-bottom">
      {text}
    </span>
  );
}
