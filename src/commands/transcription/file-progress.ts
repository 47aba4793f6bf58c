/** The progress of one recording. */
export type FileState =
  | { at: 'uploading'; bytes: number; ofBytes: number }
  | { at: 'waiting'; why: string }
  | { at: 'reading'; doneS: number; ofS: number };

type Terminal = {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  write(text: string): unknown;
};

const barSigns = 20;
const drawEveryMs = 200;
const sayEveryMs = 5_000;

/** The completed share, between 0 and 1. Undefined while it is unknown. */
function shareOf(state: FileState): number | undefined {
  if (state.at === 'waiting') return undefined;
  const [done, all] =
    state.at === 'uploading' ? [state.bytes, state.ofBytes] : [state.doneS, state.ofS];
  return all > 0 ? Math.min(1, Math.max(0, done / all)) : undefined;
}

/** `uploading 12.5 of 200.0 MB (6 %)` */
export function stateText(state: FileState): string {
  const share = shareOf(state);
  const percent = share === undefined ? '' : ` (${Math.floor(share * 100)} %)`;
  switch (state.at) {
    case 'uploading':
      return `uploading ${sizesText(state.bytes, state.ofBytes)}${percent}`;
    case 'waiting':
      return state.why;
    case 'reading':
      return share === undefined
        ? 'transcribing'
        : `transcribing ${Math.floor(state.doneS)} of ${Math.ceil(state.ofS)} s${percent}`;
  }
}

function sizesText(bytes: number, ofBytes: number): string {
  const [unit, size] = ofBytes < 1e6 ? ['kB', 1e3] : ['MB', 1e6];
  return `${(bytes / size).toFixed(1)} of ${(ofBytes / size).toFixed(1)} ${unit}`;
}

/** One line of at most `columns` columns. A name that is too long loses its beginning. */
export function barLine(label: string, state: FileState, columns: number): string {
  const share = shareOf(state) ?? 0;
  const bar = `[${'#'.repeat(Math.round(share * barSigns)).padEnd(barSigns, '-')}]`;
  const rest = ` ${bar} ${stateText(state)}`;
  const room = columns - rest.length;
  // If there is no room for a part of the name, the bar is left out and the words stay.
  return room >= 8 ? fitted(label, room) + rest : fitted(`${label} ${stateText(state)}`, columns);
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

/** Progress bars at the bottom of a terminal, one per recording. Without a terminal, a line now and then. */
export class ProgressBars {
  readonly #terminal: Terminal;
  readonly #isLive: boolean;
  readonly #states = new Map<string, FileState>();
  readonly #said = new Map<string, { at: string; ms: number }>();
  readonly #timer: NodeJS.Timeout | undefined;
  #drawn = 0;

  constructor(terminal: Terminal, isDumb = false) {
    this.#terminal = terminal;
    this.#isLive = terminal.isTTY === true && !isDumb;
    if (this.#isLive) this.#timer = setInterval(() => this.#draw(), drawEveryMs).unref();
  }

  update(label: string, state: FileState): void {
    this.#states.set(label, state);
    if (this.#isLive) return;
    const said = this.#said.get(label);
    const at = state.at === 'waiting' ? state.why : state.at;
    const nowMs = performance.now();
    if (said?.at === at && (state.at === 'waiting' || nowMs - said.ms < sayEveryMs)) return;
    this.#said.set(label, { at, ms: nowMs });
    this.#terminal.write(`${label}: ${stateText(state)}\n`);
  }

  /** A line that stays. */
  say(line: string): void {
    this.#erase();
    this.#terminal.write(`${line}\n`);
    if (this.#isLive) this.#draw();
  }

  /** Replaces the recording's bar with a line. */
  end(label: string, line: string): void {
    this.#states.delete(label);
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
    this.#states.clear();
  }

  #erase(): void {
    if (this.#drawn > 0) this.#terminal.write(`\u001b[${this.#drawn}A\r\u001b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    // A terminal without a size reports 0 columns.
    const columns = this.#terminal.columns || 80;
    const rows = this.#terminal.rows || 24;
    const lines = [...this.#states]
      .slice(0, Math.max(1, rows - 1))
      .map(([label, state]) => barLine(label, state, Math.max(20, columns - 1)));
    this.#erase();
    if (lines.length > 0) this.#terminal.write(`${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }
}
