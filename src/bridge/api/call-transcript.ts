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

/** A call's transcript as a file for other programs. For a call in progress, the file holds the words so far. */
export function transcriptFile(
  call: Pick<ApiCall, 'id' | 'state' | 'transcript'>,
  format: TranscriptFormat,
): { type: string; name: string; text: string } {
  const text = transcriptText(call, format);
  return { type: transcriptTypes[format], name: `${call.id}.${format}`, text };
}

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
      return captions(transcript, format);
  }
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

function captions(transcript: readonly Turn[], format: 'srt' | 'vtt'): string {
  const names = [...new Set(transcript.map((turn) => personName(turn)))];
  const utterances = transcript.map((turn) => ({
    start: turn.start,
    end: turn.end,
    confidence: 1,
    channel: names.indexOf(personName(turn)),
    words: [],
    text: `${personName(turn)}: ${oneLine(turn.text)}`,
    language: 'en',
  }));
  const [file] = subtitlesOf(utterances, { formats: [format], style: 'default' });
  return file?.subtitles ?? '';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
