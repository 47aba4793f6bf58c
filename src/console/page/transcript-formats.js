/**
 * The files in which the words of calls leave: the API's name, the name that people read, the type.
 * @type {[string, string, string][]}
 */
export const transcriptFormats = [
  ['txt', 'Text', 'text/plain'],
  ['srt', 'Subtitles (SRT)', 'application/x-subrip'],
  ['vtt', 'Subtitles (WebVTT)', 'text/vtt'],
  ['csv', 'Table (CSV)', 'text/csv'],
  ['jsonl', 'A line for each turn (JSONL)', 'application/x-ndjson'],
  ['json', 'Data (JSON)', 'application/json'],
];
