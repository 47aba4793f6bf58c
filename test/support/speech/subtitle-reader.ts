/** A cue as read by a strict player. */
export type ReadCue = { startMs: number; endMs: number; rows: string[] };

/**
 * Reads SRT or WebVTT strictly, character by character: all line ends must be equal, numbers must count from 1, times
 * must have exactly their digits, rows must exist, and nothing may be left over. Throws the error with its position.
 */
export function readSubtitles(
  text: string,
  {
    format,
    newline,
    numbered,
  }: { format: 'srt' | 'vtt'; newline: '\n' | '\r\n'; numbered: boolean },
): ReadCue[] {
  if (newline === '\n' && text.includes('\r')) throw new Error('a carriage return');
  if (newline === '\r\n' && /[^\r]\n|^\n|\r(?!\n)/.test(text)) throw new Error('a bare line end');
  if (text !== '' && !text.endsWith(newline)) throw new Error('the last line has no end');
  const lines = text.split(newline);
  lines.pop();
  let at = 0;
  const take = (): string => {
    const line = lines[at++];
    if (line === undefined) throw new Error('the file ends inside a cue');
    return line;
  };
  if (format === 'vtt') {
    if (take() !== 'WEBVTT') throw new Error('no WEBVTT in the first line');
    if (take() !== '') throw new Error('no empty line after WEBVTT');
  }
  const cues: ReadCue[] = [];
  while (at < lines.length) {
    if (numbered && take() !== String(cues.length + 1)) throw new Error(`number at line ${at}`);
    const cue = { ...timesIn(take(), format === 'srt' ? ',' : '.', at), rows: [] as string[] };
    for (let row = take(); row !== ''; row = take()) cue.rows.push(rowOf(row, format, at));
    if (cue.rows.length === 0) throw new Error(`no text at line ${at}`);
    cues.push(cue);
  }
  return cues;
}

function timesIn(line: string, mark: string, at: number): { startMs: number; endMs: number } {
  const halves = line.split(' --> ');
  const [start, end] = halves.map((half) => msIn(half, mark));
  if (halves.length !== 2 || start === undefined || end === undefined)
    throw new Error(`times at line ${at}`);
  return { startMs: start, endMs: end };
}

function msIn(text: string, mark: string): number | undefined {
  const [clock = '', ms = '', ...rest] = text.split(mark);
  const parts = clock.split(':');
  const isWhole = /^\d{3}$/.test(ms) && rest.length === 0 && parts.length === 3;
  if (!isWhole || !parts.every((part, i) => (i === 0 ? /^\d{2,}$/ : /^[0-5]\d$/).test(part)))
    return undefined;
  const [h = 0, m = 0, s = 0] = parts.map(Number);
  return ((h * 60 + m) * 60 + s) * 1_000 + Number(ms);
}

function rowOf(row: string, format: 'srt' | 'vtt', at: number): string {
  if (row.trim() === '' || row.includes('-->') || /[\p{Cc}\u2028\u2029]/u.test(row))
    throw new Error(`row at line ${at}`);
  if (format === 'srt') return row;
  if (/[<>]|&(?!amp;|lt;|gt;)/.test(row)) throw new Error(`mark-up at line ${at}`);
  return row.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
