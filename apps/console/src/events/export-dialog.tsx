import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Query } from '../api/client.ts';
import { fetchAll } from '../api/fetch-all.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Select } from '../ui/field.tsx';
import { saveFile } from '../ui/save-file.ts';
import { toast } from '../ui/toasts.tsx';
import type { EventItem } from './event-item.ts';
import { EXPORT_MAX, type ExportFormat, exportText } from './export-rules.ts';

const TYPES: Readonly<Record<ExportFormat, string>> = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv',
};

/** Exports the filtered events to a file, page by page, with progress. */
export function ExportDialog({ query, onClose }: { query: Query; onClose: () => void }) {
  const [format, setFormat] = useState<ExportFormat>('jsonl');
  const [progress, setProgress] = useState<{ fetched: number; total: number } | null>(null);
  const abort = useRef<AbortController | null>(null);
  const make = useMutation({
    mutationFn: async () => {
      const aborting = new AbortController();
      abort.current = aborting;
      const bounds = { max: EXPORT_MAX, signal: aborting.signal, onProgress: setProgress };
      const { items, isCut } = await fetchAll<EventItem>('/api/v1/events', query, bounds);
      const text = exportText(items, format);
      const path = await saveFile(`events.${format}`, { text, type: TYPES[format] });
      return { count: items.length, isCut, path };
    },
    onSuccess: ({ count, isCut, path }) => {
      const place = path === null ? '' : ` in ${path}`;
      toast(`${count.toLocaleString('en')} events saved${place}${isCut ? '; there are more' : ''}.`);
      onClose();
    },
  });
  const close = () => {
    abort.current?.abort();
    onClose();
  };
  return (
    <Dialog title="Export events" onClose={close}>
      <div className="space-y-4">
        <p>
          Exports the events that match the filter, in list order, up to {EXPORT_MAX.toLocaleString('en')}. To
          export all events in a form that can be verified anywhere, run <code>tidegate events export</code>{' '}
          on the server.
        </p>
        <Select
          label="Format"
          value={format}
          onChange={(event) => setFormat(event.target.value === 'csv' ? 'csv' : 'jsonl')}
        >
          <option value="jsonl">JSON lines</option>
          <option value="csv">CSV</option>
        </Select>
        {make.isPending && progress && (
          <div role="status">
            <progress className="w-full" max={progress.total} value={progress.fetched} aria-label="Fetched" />
            <p>
              {progress.fetched.toLocaleString('en')} of {progress.total.toLocaleString('en')} fetched
            </p>
          </div>
        )}
        {make.error && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {make.error.message}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button
            tone="primary"
            busy={make.isPending}
            icon={<Download aria-hidden="true" className="size-4" />}
            onClick={() => make.mutate()}
          >
            Save the file
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
