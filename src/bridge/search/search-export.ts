import type { AskedSearch } from './asked-search.ts';
import type { FoundHit } from './find-calls.ts';
import { callsJson } from '../api/call-json.ts';
import {
  csvRow,
  cueNumbers,
  transcriptText,
  type TranscriptFormat,
} from '../api/call-transcript.ts';
import type { Calls } from '../call/calls.ts';
import type { Store } from '../../store/store.ts';

/** Only this many calls are in memory at once. */
const callsAtOnce = 10;

type ExportedSearch = {
  store: Store;
  calls: Calls;
  search: AskedSearch;
  format: TranscriptFormat;
  /** At most this many calls are told. */
  most: number;
};

type ExportedCall = Awaited<ReturnType<typeof callsJson>>[number];

/**
 * The whole transcripts of the calls that a search finds, as one file, piece by piece. A call that is erased meanwhile
 * is not told any more.
 */
export async function* exportedSearch(ask: ExportedSearch): AsyncGenerator<string> {
  const { store, calls, search, format, most } = ask;
  const file = fileOf(format, search);
  yield file.head;
  let told = 0;
  let below: number | undefined;
  while (told < most) {
    const limit = Math.min(callsAtOnce, most - told);
    const page = await search.page(below, limit);
    const rows =
      page.callIds.length === 0
        ? []
        : await store.db.selectFrom('calls').selectAll().where('id', 'in', page.callIds).execute();
    const place = new Map(page.callIds.map((id, at) => [id, at]));
    rows.sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
    for (const call of await callsJson({ db: store.db, rows, live: (id) => calls.get(id) })) {
      told += 1;
      yield file.call(call, page.hits.get(call.id) ?? []);
    }
    if (page.next === null) return;
    below = page.next;
  }
}

type ExportedFile = {
  head: string;
  call: (call: ExportedCall, hits: readonly FoundHit[]) => string;
};

function fileOf(format: TranscriptFormat, { isFound }: AskedSearch): ExportedFile {
  let cues = 0;
  switch (format) {
    case 'json':
      return { head: '', call: (call) => `${JSON.stringify(call)}\n` };
    case 'jsonl':
      return {
        head: '',
        call: (call, hits) =>
          call.transcript
            .map(
              (turn) =>
                `${JSON.stringify({ ...about(call), ...turn, found: isFound(turn, hits) })}\n`,
            )
            .join(''),
      };
    case 'csv':
      return {
        head: csvRow([...aboutNames, 'start', 'end', 'role', 'text', 'found']),
        call: (call, hits) =>
          call.transcript
            .map(({ start, end, role, text, ...turn }) =>
              csvRow([
                ...Object.values(about(call)).map((value) => value ?? ''),
                ...[start.toFixed(3), end.toFixed(3), role, text],
                isFound({ start, end, role, text, ...turn }, hits) ? 'yes' : 'no',
              ]),
            )
            .join(''),
      };
    case 'txt':
      return {
        head: '',
        call: (call) => `== ${headingOf(call)}\n${transcriptText(call, 'txt')}\n`,
      };
    case 'vtt':
      return {
        head: 'WEBVTT\n\n',
        call: (call) =>
          `NOTE ${headingOf(call).replaceAll('-->', '->')}\n\n${transcriptText(call, 'vtt').replace(/^WEBVTT\n\n/, '')}`,
      };
    case 'srt':
      return {
        head: '',
        // Cues are numbered through the whole file.
        call: (call) => transcriptText(call, 'srt').replace(cueNumbers, () => String(++cues)),
      };
  }
}

const aboutNames = ['call_id', 'started_at', 'carrier', 'from', 'to'] as const;

function about({ id, started_at, carrier, from, to }: ExportedCall) {
  return { call_id: id, started_at, carrier, from, to };
}

function headingOf(call: ExportedCall): string {
  const parties = [call.from, call.to].filter((party) => party !== null).join(' to ');
  return [call.id, call.started_at, call.carrier, parties].filter(Boolean).join(' · ');
}
