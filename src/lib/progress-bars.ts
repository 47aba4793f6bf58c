/** The progress of one thing: `uploading 12.5 of 200.0 MB (6 %)`. */
export type Progress = {
  doing: string;
  /** `12.5 of 200.0 MB` */
  amount?: string | undefined;
  /** The completed share. Undefined while it is unknown. */
  share?: number | undefined;
};

type Terminal = {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  write(text: string): unknown;
};

type ProgressOptions = {
  /** The terminal understands no commands. */
  isDumb?: boolean;
  /** Takes the lines if there is no terminal. By default they go where the bars would go. */
  say?: (line: string) => void;
};

const barSigns = 20;
const drawEveryMs = 200;
const sayEveryMs = 5_000;

/** The completed share, between 0 and 1. Undefined if the whole is unknown. */
export function shareOf(done: number, all: number): number | undefined {
  return all > 0 ? Math.min(1, Math.max(0, done / all)) : undefined;
}

/** `12.5 of 200.0 MB` */
export function bytesText(done: number, all: number): string {
  const [unit, size] = Math.max(done, all) < 1e6 ? ['kB', 1e3] : ['MB', 1e6];
  return `${(done / size).toFixed(1)} of ${(all / size).toFixed(1)} ${unit}`;
}

/** `uploading 12.5 of 200.0 MB (6 %)` */
export function progressText({ doing, amount, share }: Progress): string {
  const percent = share === undefined ? [] : [`(${Math.floor(share * 100)} %)`];
  return [doing, ...(amount === undefined ? [] : [amount]), ...percent].join(' ');
}

/** One line of at most `columns` columns. A name that is too long loses its beginning. */
export function barLine(label: string, progress: Progress, columns: number): string {
  const signs = Math.round((progress.share ?? 0) * barSigns);
  const text = progressText(progress);
  const rest = ` [${'#'.repeat(signs).padEnd(barSigns, '-')}] ${text}`;
  const room = columns - rest.length;
  // If there is no room for a part of the name, the bar is left out and the words stay.
  return room >= 8 ? fitted(label, room) + rest : fitted(`${label} ${text}`, columns);
}

/** Shortens a text to its end, because the end of a path says most. East Asian characters are two columns wide. */
function fitted(text: string, columns: number): string {
  const signs = Array.from(text);
  const width = signs.reduce((sum, sign) => sum + widthOf(sign), 0);
  if (width <= columns) return text;
  let left = columns - 1;
  let from = signs.length;
  for (; from > 0; from--) {
    left -= widthOf(signs[from - 1] ?? '');
    if (left < 0) break;
  }
  return `…${signs.slice(from).join('')}`;
}

function widthOf(sign: string): number {
  if (/\p{Mark}/u.test(sign)) return 0;
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u.test(
    sign,
  )
    ? 2
    : 1;
}

/** Progress bars at the bottom of a terminal, one for each label. Without a terminal, a line now and then. */
export class ProgressBars {
  readonly #terminal: Terminal;
  readonly #say: (line: string) => void;
  readonly #isLive: boolean;
  readonly #shown = new Map<string, Progress>();
  readonly #said = new Map<string, { doing: string; text: string; ms: number }>();
  readonly #timer: NodeJS.Timeout | undefined;
  #drawn = 0;

  constructor(terminal: Terminal, options: ProgressOptions = {}) {
    this.#terminal = terminal;
    this.#say = options.say ?? ((line) => terminal.write(`${line}\n`));
    this.#isLive = terminal.isTTY === true && options.isDumb !== true;
    if (this.#isLive) this.#timer = setInterval(() => this.#draw(), drawEveryMs).unref();
  }

  update(label: string, progress: Progress): void {
    this.#shown.set(label, progress);
    if (this.#isLive) return;
    const said = this.#said.get(label);
    const { doing } = progress;
    const text = progressText(progress);
    const nowMs = performance.now();
    if (said?.text === text || (said?.doing === doing && nowMs - said.ms < sayEveryMs)) return;
    this.#said.set(label, { doing, text, ms: nowMs });
    this.#say(`${label}: ${text}`);
  }

  /** A line that stays. */
  say(line: string): void {
    this.#erase();
    if (this.#isLive) this.#terminal.write(`${line}\n`);
    else this.#say(line);
    if (this.#isLive) this.#draw();
  }

  /** Replaces a bar with a line. */
  end(label: string, line: string): void {
    this.#shown.delete(label);
    this.#said.delete(label);
    this.say(`${label}: ${line}`);
  }

  /** Removes the bars before other text is written to the terminal. */
  clear(): void {
    this.#erase();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#erase();
    this.#shown.clear();
  }

  #erase(): void {
    const up = this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : '';
    if (this.#drawn > 0) this.#terminal.write(`${up}\r\u001b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    // A terminal without a size reports 0 columns.
    const columns = this.#terminal.columns || 80;
    const rows = this.#terminal.rows || 24;
    const lines = [...this.#shown]
      .slice(0, Math.max(1, rows - 1))
      .map(([label, progress]) => barLine(label, progress, Math.max(20, columns - 1)));
    this.#erase();
    // No line end follows the last bar. A line of the log that comes between two draws then stays.
    if (lines.length > 0) this.#terminal.write(lines.join('\n'));
    this.#drawn = lines.length;
  }
}
