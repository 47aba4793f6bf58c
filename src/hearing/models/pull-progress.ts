import { bytesText, type Progress, progressText, shareOf } from '../../lib/progress-bars.ts';
import type { PullProgress } from './pull.ts';

/** The progress of a download, for a bar. */
export function pullProgress({ receivedBytes, totalBytes, isConverting }: PullProgress): Progress {
  const share = shareOf(receivedBytes, totalBytes);
  return isConverting
    ? { doing: 'converting', amount: `step ${receivedBytes} of ${totalBytes}`, share }
    : { doing: 'downloading', amount: bytesText(receivedBytes, totalBytes), share };
}

/** `downloading moonshine-tiny-en: 12.5 of 44.1 MB (28 %)` */
export function progressLine(name: string, progress: PullProgress): string {
  const { doing, ...rest } = pullProgress(progress);
  return progressText({ doing: `${doing} ${name}:`, ...rest });
}
