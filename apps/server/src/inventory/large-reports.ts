import { createLargeWork, type LargeWork } from '../platform/http/large-work.ts';
import type { RandomBytes } from '../platform/ids.ts';
import { createReportReader, type ReaderOptions, type ReportReader } from './report-reader.ts';

/** A thread reads larger bodies, in bytes after decompression; 1,500 packages are half of it. */
export const SMALL_REPORT_MAX_BYTES = 256 * 1024;
/** Many transactions write larger reports; counts packages, updates, actions of plans, and stored rows. */
export const SMALL_REPORT_MAX_ITEMS = 3_000;
/** Compressed bodies of this size count as large before they are read; 1,500 packages are a third of it. */
export const LARGE_COMPRESSED_BYTES = 64 * 1024;
/** Large reports in progress: one may be read while another is written. */
const RUNNING_MAX = 2;
/** Large reports that wait, each with its body. */
export const WAITING_MAX = 8;

/** Admits and reads large reports. */
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
