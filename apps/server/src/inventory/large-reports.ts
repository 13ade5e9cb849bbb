import { createLargeWork, type LargeWork } from '../platform/http/large-work.ts';
import type { RandomBytes } from '../platform/ids.ts';
import { createReportReader, type ReaderOptions, type ReportReader } from './report-reader.ts';

/** Larger bodies are read in a thread of their own, in bytes after decompression; 1,500 packages are half of it. */
export const SMALL_REPORT_MAX_BYTES = 256 * 1024;
/** Larger reports are written in many transactions: packages, updates and actions of plans, and what was stored. */
export const SMALL_REPORT_MAX_ITEMS = 3_000;
/** Compressed bodies from this size on are taken for large ones before they are read; 1,500 packages are a third of it. */
export const LARGE_COMPRESSED_BYTES = 64 * 1024;
/** Large reports under way at once: one may be read while another is written. */
const RUNNING_MAX = 2;
/** Large reports that wait for their turn, each with its body. */
export const WAITING_MAX = 8;

/** Where large reports are read and written. */
export interface LargeReports extends ReportReader, LargeWork {}

export function createLargeReports({
  random,
  ...options
}: ReaderOptions & { random: RandomBytes }): LargeReports {
  const work = createLargeWork({
    ...{ what: 'large reports', running: RUNNING_MAX, waiting: WAITING_MAX, random },
  });
  return { ...work, ...createReportReader(options) };
}
