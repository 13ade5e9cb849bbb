import type { Ring } from '@tidegate/protocol/rings';

/** What is wrong with rings of the right form, and where; null if nothing is. */
export function ringsFault(rings: readonly Ring[]): { path: string; message: string } | null {
  const last = rings.length - 1;
  let percent = 0;
  for (const [i, { name, members, gate }] of rings.entries()) {
    const path = `/rings/${i}`;
    if (rings.findIndex((one) => one.name === name) !== i)
      return { path: `${path}/name`, message: 'must differ from those of the other rings' };
    if ((members.kind === 'rest') !== (i === last))
      return { path: `${path}/members/kind`, message: 'must be rest for the last ring, and only there' };
    if ((gate === null) !== (i === last))
      return { path: `${path}/gate`, message: 'must be null for the last ring, and only there' };
    if (members.kind !== 'percent') continue;
    percent += members.percent;
    if (percent > 99)
      return { path: `${path}/members/percent`, message: 'must leave a share for the last ring' };
  }
  return null;
}
