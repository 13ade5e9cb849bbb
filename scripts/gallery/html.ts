import type { Difference } from './compare.ts';
import type { Picture } from './take.ts';

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;color:#1b1f24;background:#fff}
h2{margin:2rem 0 .5rem;border-top:1px solid #d0d7de;padding-top:1rem}
.row{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}
figure{margin:0;max-width:26rem}img{max-width:100%;border:1px solid #d0d7de}
figure.narrow{max-width:10rem}figcaption{color:#57606a;font-size:.85rem}nav a{margin-right:.75rem}`;

/** One page with every picture, by page of the console. */
export function galleryPage(pictures: readonly Picture[], faults: readonly string[]): string {
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
  const wrong = faults.map((fault) => `<li>${escaped(fault)}</li>`).join('');
  const lead = wrong === '' ? '' : `<h2>Faults</h2><ul>${wrong}</ul>`;
  return html('Gallery of the console', `<nav>${links}</nav>${lead}${parts.join('')}`);
}

interface Review {
  readonly differences: readonly Difference[];
  /** Pictures that only the other gallery has. */
  readonly gone: readonly string[];
  /** The folder of the other gallery, from that of the page. */
  readonly old: string;
}

/** What has changed since another gallery: before, after, and the pixels that differ; the largest difference first. */
export function reviewPage({ differences, gone, old }: Review): string {
  const links = differences.map(
    ({ file, share }) => `<li><a href="#${file}">${file}</a> ${share === null ? 'new' : percent(share)}</li>`,
  );
  const parts = differences.map(({ file, share, shown }) => {
    const before = share === null ? '' : figure(`${old}/${file}`, { note: 'before' });
    const marked = shown === null ? '' : figure(shown, { note: 'what differs, in red' });
    const head = `<h2 id="${file}">${file}: ${share === null ? 'new' : percent(share)}</h2>`;
    return `${head}<div class="row">${before}${figure(file, { note: 'after' })}${marked}</div>`;
  });
  const lost = gone.map((file) => `<h2>${file}: gone</h2>${figure(`${old}/${file}`, { note: 'before' })}`);
  const lead = `<p>${differences.length} pictures differ, ${gone.length} are gone. Ids, the order of simultaneous events and what chance decides in the fleet, such as which of several hosts restarts first, differ each time.</p><p>Yellow pixels are edges of letters and count as the same.</p>`;
  return html(
    'What has changed in the console',
    `${lead}<ol>${links.join('')}</ol>${parts.join('')}${lost.join('')}`,
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

/** Widest and light first. */
function inOrder(a: Picture, b: Picture): number {
  return b.width - a.width || b.theme.localeCompare(a.theme) || a.state.localeCompare(b.state);
}

/** What it is stands above: a picture may be longer than the window. */
function figure(src: string, { note, isNarrow = false }: { note: string; isNarrow?: boolean }): string {
  const image = `<a href="${src}"><img loading="lazy" src="${src}" alt="${note}"></a>`;
  return `<figure${isNarrow ? ' class="narrow"' : ''}><figcaption>${note}</figcaption>${image}</figure>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function html(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style><h1>${title}</h1>${body}</html>\n`;
}
