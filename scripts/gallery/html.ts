import type { Difference } from './compare.ts';
import type { Picture } from './take.ts';

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;color:#1b1f24;background:#fff}
h2{margin:2rem 0 .5rem;border-top:1px solid #d0d7de;padding-top:1rem}
.row{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}
figure{margin:0;max-width:26rem}img{max-width:100%;border:1px solid #d0d7de}
figure.narrow{max-width:10rem}figcaption{color:#57606a;font-size:.85rem}nav a{margin-right:.75rem}`;

/** One page with every picture, by page of the console. */
export function galleryPage(pictures: readonly Picture[]): string {
  const byPage = Map.groupBy(pictures, ({ page }) => page);
  const links = [...byPage.keys()].map((page) => `<a href="#${page}">${page}</a>`).join('');
  const parts = [...byPage].map(([page, all]) => {
    const figures = all
      .toSorted(inOrder)
      .map((one) =>
        figure(one.file, { note: `${one.state}, ${one.width}, ${one.theme}`, isNarrow: one.width < 600 }),
      );
    return `<h2 id="${page}">${page}</h2><div class="row">${figures.join('')}</div>`;
  });
  return html('Gallery of the console', `<nav>${links}</nav>${parts.join('')}`);
}

/** What has changed since another gallery: before, after, and the pixels that differ. */
export function reviewPage(differences: readonly Difference[], old: string): string {
  const parts = differences.map(({ file, share, shown }) => {
    if (shown === null || share === null) return `<h2>${file}: new</h2>${figure(file, { note: 'after' })}`;
    const before = figure(`${old}/${file}`, { note: 'before' });
    const others = figure(file, { note: 'after' }) + figure(shown, { note: 'what differs' });
    return `<h2>${file}: ${(share * 100).toFixed(2)} %</h2><div class="row">${before}${others}</div>`;
  });
  const lead = `<p>${differences.length} pictures differ. Ids and times differ each time.</p>`;
  return html('What has changed in the console', lead + parts.join(''));
}

/** Widest and light first. */
function inOrder(a: Picture, b: Picture): number {
  return b.width - a.width || b.theme.localeCompare(a.theme) || a.state.localeCompare(b.state);
}

function figure(src: string, { note, isNarrow = false }: { note: string; isNarrow?: boolean }): string {
  const image = `<a href="${src}"><img loading="lazy" src="${src}" alt="${note}"></a>`;
  return `<figure${isNarrow ? ' class="narrow"' : ''}>${image}<figcaption>${note}</figcaption></figure>`;
}

function html(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style><h1>${title}</h1>${body}</html>\n`;
}
