import { z } from 'zod';
import { subtitlesOf } from '../../language/text/subtitles.ts';
import type { ApiCall } from '../../protocol/api.ts';
import type { Turn } from '../../protocol/events.ts';
import { personName } from '../../protocol/people.ts';

const formats = ['json', 'txt', 'vtt', 'srt', 'csv'] as const;
type TranscriptFormat = (typeof formats)[number];

export const TranscriptQuery = z.object({ format: z.enum(formats).default('json') });

const types: Record<TranscriptFormat, string> = {
  json: 'application/json',
  txt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
};

/** A call's transcript as a file for other programs. For a call in progress, the file holds the words so far. */
export function transcriptFile(
  { id, state, transcript }: Pick<ApiCall, 'id' | 'state' | 'transcript'>,
  format: TranscriptFormat,
): { type: string; name: string; text: string } {
  return { type: types[format], name: `${id}.${format}`, text: textOf(format) };

  function textOf(wanted: TranscriptFormat): string {
    switch (wanted) {
      case 'json':
        return JSON.stringify({ call_id: id, state, items: transcript });
      case 'txt':
        return transcript.map((turn) => `${line(turn)}\n`).join('');
      case 'csv':
        return [['start', 'end', 'role', 'text'], ...transcript.map(cells)]
          .map((row) => `${row.map(cell).join(',')}\r\n`)
          .join('');
      case 'srt':
      case 'vtt':
        return captions(transcript, wanted);
    }
  }
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

/** A spreadsheet would run a cell that begins like a formula, and a caller can say anything. */
function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
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
