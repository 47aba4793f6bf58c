import type { Subtitles, Utterance } from '../../protocol/addons.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import { cuesOf, type Caption, type CueLimits } from './cues.ts';

type SubtitlesConfig = NonNullable<PreRecordedRequest['subtitles_config']>;

/** The subtitle files that a request asks for, one for each format. */
export function subtitlesOf(
  utterances: readonly Utterance[],
  config: SubtitlesConfig = { formats: ['srt'], style: 'default' },
): Subtitles[] {
  const cues = cuesOf(utterances, limitsOf(config));
  const isCompliant = config.style === 'compliance';
  return [...new Set(config.formats)].map((format) => {
    const lines = format === 'srt' ? srtLines(cues) : vttLines(cues, isCompliant);
    return {
      format,
      subtitles: lines.map((line) => line + (isCompliant ? '\r\n' : '\n')).join(''),
    };
  });
}

/**
 * Fills in the settings that a request leaves open: two rows of 42 columns, as broadcasters use, for at most seven
 * seconds. A Chinese, Japanese or Korean sign fills two columns; rows of so many characters count each as one. The style `compliance` adds a minimum of a second, CRLF line ends, and numbers in both formats.
 */
export function limitsOf(config: SubtitlesConfig): CueLimits {
  const { minimum_duration: minS, maximum_duration: maxS } = config;
  const leastS = minS ?? (config.style === 'compliance' ? Math.min(1, maxS ?? 1) : 0);
  return {
    minMs: Math.round(leastS * 1e3),
    maxMs: Math.round((maxS ?? Math.max(7, leastS)) * 1e3),
    rowWidth: config.maximum_characters_per_row ?? 42,
    rowUnit: config.maximum_characters_per_row === undefined ? 'columns' : 'characters',
    rows: config.maximum_rows_per_caption ?? 2,
  };
}

function srtLines(cues: readonly Caption[]): string[] {
  return cues.flatMap((cue, i) => [String(i + 1), timesOf(cue, ','), ...cue.rows, '']);
}

function vttLines(cues: readonly Caption[], isNumbered: boolean): string[] {
  return [
    'WEBVTT',
    '',
    ...cues.flatMap((cue, i) => [
      ...(isNumbered ? [String(i + 1)] : []),
      timesOf(cue, '.'),
      ...cue.rows.map(escaped),
      '',
    ]),
  ];
}

/** In WebVTT these characters begin a tag or a reference. SRT has no escape for them. */
function escaped(row: string): string {
  return row.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function timesOf({ startMs, endMs }: Caption, mark: ',' | '.'): string {
  return `${timeOf(startMs, mark)} --> ${timeOf(endMs, mark)}`;
}

function timeOf(ms: number, mark: ',' | '.'): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const s = Math.floor(ms / 1e3);
  const clock = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60].map(two).join(':');
  return `${clock}${mark}${String(ms % 1e3).padStart(3, '0')}`;
}
