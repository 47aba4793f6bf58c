import type { PullProgress } from './pull.ts';

const barSigns = 24;
const everyMs = 5_000;
/** A person notices no faster changes, and chunks of a download come much faster. */
const drawnEveryMs = 100;

export function progressLine(
  name: string,
  { receivedBytes, totalBytes, isConverting }: PullProgress,
): string {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const share = totalBytes > 0 ? Math.min(1, receivedBytes / totalBytes) : 0;
  const percent = totalBytes > 0 ? ` (${String(Math.floor(100 * share))} %)` : '';
  if (isConverting) return `converting ${name}: step ${receivedBytes} of ${totalBytes}${percent}`;
  return `downloading ${name}: ${megabytes(receivedBytes)} of ${megabytes(totalBytes)} MB${percent}`;
}

type ProgressDisplay = {
  progress(name: string, progress: PullProgress): void;
  note(line: string): void;
  end(): void;
};

/** Shows progress as a bar in a terminal, or as a log line every five seconds. */
export function progressDisplay(
  terminal: { isTTY?: boolean; write(text: string): unknown },
  say: (line: string) => void,
): ProgressDisplay {
  let shownMs = -Infinity;
  const show = (line: string, atTerminal: string) => {
    const nowMs = performance.now();
    if (nowMs - shownMs < (terminal.isTTY ? drawnEveryMs : everyMs)) return;
    shownMs = nowMs;
    if (terminal.isTTY) terminal.write(`\r\u001b[K${atTerminal}`);
    else say(line);
  };
  return {
    progress(name, progress) {
      const line = progressLine(name, progress);
      const { receivedBytes, totalBytes } = progress;
      const done = totalBytes > 0 ? Math.round((barSigns * receivedBytes) / totalBytes) : 0;
      show(line, `[${'#'.repeat(Math.min(barSigns, done)).padEnd(barSigns, '-')}] ${line}`);
    },
    note: (line) => {
      show(line, line);
    },
    end() {
      if (terminal.isTTY) terminal.write('\r\u001b[K');
    },
  };
}
