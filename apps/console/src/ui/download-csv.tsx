import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { getFile } from '../api/client.ts';
import type { OfList } from '../api/queries.ts';
import { Button } from './button.tsx';
import { saveFile } from './save-file.ts';
import { toast } from './toasts.tsx';

const TYPE = 'text/csv';
/** The last line of a file that does not have every row. */
const CUT = /\r\n# cut after (\d+) rows: [^\r\n]*\r\n$/;

/** Saves the list with its filter and order as a file: every row, not only this page. */
export function DownloadCsv({ list, noun }: { list: OfList['list']; noun: string }) {
  const download = useMutation({
    mutationFn: async () => {
      const query = { ...list.query, cursor: undefined, limit: undefined };
      const text = await getFile(list.path, { query, accept: TYPE });
      const path = await saveFile(`${noun.replaceAll(' ', '-')}.csv`, { text, type: TYPE });
      return { path, rows: CUT.exec(text)?.[1] ?? null };
    },
    onSuccess: ({ path, rows }) => {
      const place = path === null ? '' : ` in ${path}`;
      const cut = rows === null ? '' : ` There are more: the file ends after ${rows} rows. A filter helps.`;
      toast(`The ${noun} are saved${place}.${cut}`);
    },
    onError: (error) => toast(error.message, { tone: 'bad' }),
  });
  return (
    <Button
      tone="quiet"
      busy={download.isPending}
      icon={<Download aria-hidden="true" className="size-4" />}
      onClick={() => download.mutate()}
    >
      Download CSV
    </Button>
  );
}
