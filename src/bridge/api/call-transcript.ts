import { z } from 'zod';
import { subtitlesOf } from '../../language/text/subtitles.ts';
import type { ApiCall } from '../../protocol/api.ts';
import type { Turn } from '../../protocol/events.ts';
import { personName } from '../../protocol/people.ts';

export const transcriptFormats = ['json', 'jsonl', 'txt', 'vtt', 'srt', 'csv'] as const;
export type TranscriptFormat = (typeof transcriptFormats)[number];

export const TranscriptQuery = z.object({ format: z.enum(transcriptFormats).default('json') });

export const transcriptTypes: Record<TranscriptFormat, string> = {
  json: 'application/json',
  jsonl: 'application/x-ndjson; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
};

export function transcriptText(
  { id, state, transcript }: Pick<ApiCall, 'id' | 'state' | 'transcript'>,
  format: TranscriptFormat,
): string {
  switch (format) {
    case 'json':
      return JSON.stringify({ call_id: id, state, items: transcript });
    case 'jsonl':
      return transcript.map((turn) => `${JSON.stringify({ call_id: id, ...turn })}\n`).join('');
    case 'txt':
      return transcript.map((turn) => `${line(turn)}\n`).join('');
    case 'csv':
      return [['start', 'end', 'role', 'text'], ...transcript.map(cells)].map(csvRow).join('');
    case 'srt':
    case 'vtt':
      return captions(transcript, format, new Map());
  }
}

/**
 * A call's transcript as a file for other programs, piece by piece: the same text as of the whole, which is never in
 * memory. For a call in progress, the file holds the words so far.
 */
export async function* transcriptPieces(
  { id, state, pages }: Pick<ApiCall, 'id' | 'state'> & { pages: AsyncIterable<Turn[]> },
  format: TranscriptFormat,
): AsyncGenerator<string> {
  if (format === 'srt' || format === 'vtt') {
    yield* captionPieces(pages, format);
    return;
  }
  if (format === 'json') yield `{"call_id":${JSON.stringify(id)},"state":${JSON.stringify(state)},"items":[`; // prettier-ignore
  if (format === 'csv') yield transcriptText({ id, state, transcript: [] }, format);
  let isFirst = true;
  for await (const turns of pages) {
    if (format === 'json') {
      const items = turns.map((turn) => JSON.stringify(turn)).join(',');
      yield isFirst || items === '' ? items : `,${items}`;
      isFirst &&= items === '';
    } else if (format === 'csv') yield turns.map((turn) => csvRow(cells(turn))).join('');
    else yield transcriptText({ id, state, transcript: turns }, format);
  }
  if (format === 'json') yield ']}';
}

/** Captions are spaced out among their neighbours. Nothing moves across a silence of this length. */
const quietS = 4;
/** Captions are parted all the same after this many turns without a silence. */
const mostTurnsOfCaptions = 2_000;

async function* captionPieces(
  pages: AsyncIterable<Turn[]>,
  format: 'srt' | 'vtt',
): AsyncGenerator<string> {
  const names = new Map<string, number>();
  let told = 0;
  const piece = (turns: readonly Turn[]): string => {
    const text = captions(turns, format, names);
    const isFirst = told === 0;
    if (format === 'vtt') {
      told += 1;
      return isFirst ? text : text.replace(/^WEBVTT\n\n/, '');
    }
    return text.replace(cueNumbers, () => String(++told));
  };
  let waiting: Turn[] = [];
  for await (const turns of pages) {
    waiting.push(...turns);
    const end = lastQuiet(waiting) || (waiting.length >= mostTurnsOfCaptions ? waiting.length : 0);
    if (end === 0) continue;
    yield piece(waiting.slice(0, end));
    waiting = waiting.slice(end);
  }
  if (waiting.length > 0 || told === 0) yield piece(waiting);
}

/** Numbers of cues in SRT: whatever was said never begins a line before a time. */
export const cueNumbers = /^\d+(?=\n\d+:\d\d:\d\d,\d{3} --> )/gm;

/** The number of turns before the last silence, or 0 without one. */
function lastQuiet(turns: readonly Turn[]): number {
  let end = -Infinity;
  let quiet = 0;
  for (const [at, turn] of turns.entries()) {
    if (at > 0 && turn.start - end >= quietS) quiet = at;
    end = Math.max(end, turn.end);
  }
  return quiet;
}

export function csvRow(cells: readonly string[]): string {
  return `${cells.map((value) => cell(value)).join(',')}\r\n`;
}

function line(turn: Turn): string {
  const { start, text } = turn;
  const seconds = Math.floor(start);
  const at = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return `[${at}] ${personName(turn)}: ${oneLine(text)}`;
}

function cells(turn: Turn): string[] {
  const { start, end, role, speaker, text } = turn;
  const who = speaker === undefined ? role : personName(turn).toLowerCase();
  return [start.toFixed(3), end.toFixed(3), who, oneLine(text)];
}

/** A spreadsheet would run a cell that begins like a formula, and a caller can say anything. A phone number is none. */
function cell(value: string): string {
  const plain = oneLine(value);
  const isFormula = /^[=+\-@]/.test(plain) && !/^\+\d{7,15}$/.test(plain);
  const safe = isFormula ? `'${plain}` : plain;
  return `"${safe.replaceAll('"', '""')}"`;
}

/** `numbers` has a number for each name, and is added to. */
function captions(
  transcript: readonly Turn[],
  format: 'srt' | 'vtt',
  numbers: Map<string, number>,
): string {
  const captioned = (name: string, start = 0, end = 0, text = '') => {
    const channel = numbers.get(name) ?? numbers.size;
    numbers.set(name, channel);
    return { start, end, text, channel, confidence: 1, words: [], language: 'en' };
  };
  // Captions that begin at once stand in the order in which their speakers first spoke: the silent ones go before.
  const known = [...numbers.keys()].map((name) => captioned(name));
  const said = transcript.map((turn) => {
    const name = personName(turn);
    return captioned(name, turn.start, turn.end, `${name}: ${oneLine(turn.text)}`);
  });
  const utterances = [...known, ...said];
  const [file] = subtitlesOf(utterances, { formats: [format], style: 'default' });
  return file?.subtitles ?? '';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
