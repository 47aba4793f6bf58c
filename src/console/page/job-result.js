import { clock, voices } from './format.js';

/**
 * What a job's record holds, in the shape that the views draw. No document, no network: record in, entries and texts
 * out. Everything but the interface's required keys may be missing.
 */
const overlapS = 0.05;

/** The utterances in order of time, each with who said it and with what was found in it. */
export function entriesOf(result) {
  const utterances = result?.transcription?.utterances ?? [];
  const voiceOf = voicesOf(utterances);
  const translated = translationsOf(result);
  const entries = utterances
    .map((utterance, at) => ({
      kind: 'utterance',
      ...utterance,
      ...voiceOf(utterance),
      text: utterance.text.trim(),
      words: utterance.words ?? [],
      entities: [],
      sentiments: [],
      translations: translated(utterance, at),
    }))
    .sort((a, b) => a.start - b.start);
  for (const entity of entitiesOf(result))
    entryAt(entries, entity, ({ text }) => includes(text, entity.text))?.entities.push(entity);
  for (const item of sentimentsOf(result))
    entryAt(entries, item, ({ channel }) => channel === item.channel)?.sentiments.push(item);
  return entries;
}

/** Speakers where they were told apart, else channels where there are several, else nobody is named. */
function voicesOf(utterances) {
  if (utterances.some(({ speaker }) => speaker !== undefined))
    return ({ speaker }) =>
      speaker === undefined
        ? { name: 'Speaker unknown' }
        : { voice: speaker % voices, name: `Speaker ${speaker + 1}` };
  const channels = [...new Set(utterances.map(({ channel }) => channel))].sort((a, b) => a - b);
  if (channels.length < 2) return () => ({ voice: 0 });
  return ({ channel }) => ({
    voice: channels.indexOf(channel) % voices,
    name: `Channel ${channel + 1}`,
  });
}

export function entitiesOf(result) {
  const found = result?.named_entity_recognition?.results;
  return Array.isArray(found) ? found.toSorted((a, b) => a.start - b.start) : [];
}

/** The interface gives them as a string of JSON, other services as the list itself. */
export function sentimentsOf(result) {
  const found = result?.sentiment_analysis?.results;
  if (Array.isArray(found)) return found;
  try {
    const parsed = JSON.parse(found || '[]');
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return []; // a service of another kind may answer in words; the JSON download has them
  }
}

export function chaptersOf(result) {
  const found = result?.chapterization?.results;
  return (Array.isArray(found) ? found : found?.chapters) ?? [];
}

/** A translation keeps the utterances' times where it could; the others are in the JSON download alone. */
function translationsOf(result) {
  const targets = result?.translation?.results ?? [];
  const maps = targets.map(({ languages, utterances }) => ({
    language: languages?.[0],
    texts: new Map((utterances ?? []).map((one) => [`${one.channel} ${one.start}`, one.text])),
  }));
  return ({ channel, start }) =>
    maps.flatMap(({ language, texts }) => {
      const text = texts.get(`${channel} ${start}`)?.trim();
      return text ? [{ language, text }] : [];
    });
}

/** The entry in which something was said: by time, and by what `fits` asks where several speak at once. */
function entryAt(entries, { start, end }, fits) {
  const middle = (start + end) / 2;
  const near = entries.filter(
    (entry) => middle >= entry.start - overlapS && middle <= entry.end + overlapS,
  );
  return near.find(fits);
}

function includes(text, part) {
  return text.toLowerCase().includes(part.trim().toLowerCase());
}

const partNames = {
  diarization: 'speakers',
  summarization: 'summary',
  chapterization: 'chapters',
  named_entity_recognition: 'entities',
  sentiment_analysis: 'sentiment',
  translation: 'translation',
  audio_to_llm: 'answers of a language model',
  pii_redaction: 'redaction',
  moderation: 'moderation',
  name_consistency: 'consistent names',
  structured_data_extraction: 'structured data',
  display_mode: 'display mode',
};

/** What was asked for and did not come, with the reason of the service. */
export function failuresOf(result) {
  return Object.entries(partNames).flatMap(([key, part]) => {
    const block = result?.[key];
    if (!block || block.success !== false) return [];
    return [{ part, message: block.error?.message ?? 'the service gives no reason' }];
  });
}

/** Seconds that each voice speaks, the one that speaks most first. */
export function talkOf(entries) {
  const talk = new Map();
  for (const { name, voice, start, end } of entries) {
    const known = talk.get(name) ?? { name, voice, seconds: 0 };
    known.seconds += Math.max(0, end - start);
    talk.set(name, known);
  }
  return [...talk.values()].sort((a, b) => b.seconds - a.seconds);
}

/** The files that a job can be saved as: name, type and text. What was not asked for is not among them. */
export function downloadsOf(job) {
  const { result } = job;
  if (!result) return [];
  const base = fileBase(job);
  const subtitles = (result.transcription?.subtitles ?? []).map(({ format, subtitles: text }) => ({
    format,
    text,
    type: format === 'vtt' ? 'text/vtt' : 'application/x-subrip',
  }));
  return [
    { format: 'txt', type: 'text/plain', text: plainText(entriesOf(result)) },
    ...subtitles.filter(({ format }) => format === 'srt' || format === 'vtt'),
    { format: 'json', type: 'application/json', text: `${JSON.stringify(job, null, 2)}\n` },
  ].map((file) => ({ ...file, name: `${base}.${file.format}` }));
}

function plainText(entries) {
  return entries
    .map(({ start, name, text }) => `${clock(start)} ${name ? `${name}: ` : ''}${text}\n`)
    .join('');
}

/** The name of the file without its ending; what a disk does not take in a name becomes a line. */
function fileBase({ id, file }) {
  const name = (file?.filename ?? '').replace(/\.[A-Za-z0-9]{1,5}$/, '');
  const plain = name.replace(/[\p{Cc}\\/:*?"<>|]/gu, '_').replace(/^[.\s]+|[.\s]+$/g, '');
  return plain || id;
}
