import { clock, personName, voices } from './format.js';

/** @import { Utterance as Spoken } from '../../protocol/addons.ts' */
/** @import { Feeling, ShownJob, JobResult, PageEntity, SpokenEntry } from './shapes.ts' */

/**
 * A job's record in the form that the views draw. It uses no document and no network: a record goes in, entries and
 * texts come out. Everything except the API's required keys may be missing.
 */
const overlapS = 0.05;

/**
 * The utterances in order of time, each with its speaker and the entities and feelings found in it.
 * @param {JobResult | undefined} result
 * @returns {SpokenEntry[]}
 */
export function entriesOf(result) {
  const utterances = result?.transcription?.utterances ?? [];
  const voiceOf = voicesOf(utterances);
  const translated = translationsOf(result);
  const said = utterances
    .map((utterance) => ({ channel: utterance.channel, entry: entryOf(utterance) }))
    .sort((a, b) => a.entry.start - b.entry.start);
  const entries = said.map(({ entry }) => entry);
  for (const entity of entitiesOf(result))
    entryAt(entries, entity, ({ text }) => includes(text, entity.text))?.entities.push(entity);
  for (const item of sentimentsOf(result)) {
    const own = said.filter(({ channel }) => channel === item.channel);
    entryAt(
      own.map(({ entry }) => entry),
      item,
      () => true,
    )?.sentiments.push(item);
  }
  return entries;

  /**
   * @param {Spoken} utterance
   * @returns {SpokenEntry}
   */
  function entryOf(utterance) {
    const { start, end, text, language, words = [], speaker } = utterance;
    return {
      kind: 'utterance',
      ...{ start, end, language, words, speaker, text: text.trim() },
      ...voiceOf(utterance),
      ...{ entities: [], sentiments: [], translations: translated(utterance) },
    };
  }
}

/**
 * Names speakers if they were told apart, otherwise channels if there are several, otherwise nobody.
 * @param {readonly Spoken[]} utterances
 * @returns {(said: Spoken) => { voice?: number, name?: string }}
 */
function voicesOf(utterances) {
  const numbers = [...new Set(utterances.map(({ channel }) => channel))].sort((a, b) => a - b);
  const channels = numbers.length;
  if (utterances.some(({ speaker }) => speaker !== undefined))
    return ({ speaker, channel }) => ({
      ...(speaker === undefined ? {} : { voice: speaker % voices }),
      name: personName({ speaker, channel, channels }),
    });
  if (channels < 2) return () => ({ voice: 0 });
  return ({ channel }) => ({
    voice: numbers.indexOf(channel) % voices,
    name: personName({ channel, channels }),
  });
}

/**
 * @param {JobResult | undefined} result
 * @returns {PageEntity[]}
 */
export function entitiesOf(result) {
  const found = result?.named_entity_recognition?.results;
  return Array.isArray(found) ? found.toSorted((a, b) => a.start - b.start) : [];
}

/**
 * Our API gives sentiments as a string of JSON, other services as a list.
 * @param {JobResult | undefined} result
 * @returns {(Feeling & { channel?: number })[]}
 */
export function sentimentsOf(result) {
  const found = result?.sentiment_analysis?.results;
  if (Array.isArray(found)) return found;
  try {
    const parsed = JSON.parse(found || '[]');
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return []; // another kind of service may answer with prose, which the JSON download contains
  }
}

/** @param {JobResult | undefined} result */
export function chaptersOf(result) {
  const found = result?.chapterization?.results;
  return (Array.isArray(found) ? found : found?.chapters) ?? [];
}

/**
 * The translations of each utterance. Those without the utterance's times are only in the JSON download.
 * @param {JobResult | undefined} result
 * @returns {(said: { channel: number, start: number }) => SpokenEntry['translations']}
 */
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

/**
 * The entry in which something was said, by its time. If several people speak at once, `fits` selects the entry.
 * @template {{ start: number, end: number }} One
 * @param {readonly One[]} entries
 * @param {{ start: number, end: number }} stretch
 * @param {(entry: One) => boolean} fits
 */
function entryAt(entries, { start, end }, fits) {
  const middle = (start + end) / 2;
  const near = entries.filter(
    (entry) => middle >= entry.start - overlapS && middle <= entry.end + overlapS,
  );
  return near.find(fits);
}

/**
 * @param {string} text
 * @param {string} part
 */
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

/**
 * The requested add-ons that failed, with the service's reason.
 * @param {JobResult | undefined} result
 */
export function failuresOf(result) {
  /** @type {Map<string, unknown>} */
  const blocks = new Map(Object.entries(result ?? {}));
  return Object.entries(partNames).flatMap(([key, part]) => {
    const block = blocks.get(key);
    if (typeof block !== 'object' || block === null) return [];
    if (!('success' in block) || block.success !== false) return [];
    const error = 'error' in block ? block.error : undefined;
    const told = typeof error === 'object' && error !== null && 'message' in error;
    return [{ part, message: told ? String(error.message) : 'the service gives no reason' }];
  });
}

/**
 * The speaking time of each voice in seconds, longest first.
 * @param {readonly SpokenEntry[]} entries
 */
export function talkOf(entries) {
  const talk = new Map();
  for (const { name, voice, start, end } of entries) {
    const known = talk.get(name) ?? { name, voice, seconds: 0 };
    known.seconds += Math.max(0, end - start);
    talk.set(name, known);
  }
  return [...talk.values()].sort((a, b) => b.seconds - a.seconds);
}

/**
 * The files that a job can be saved as: name, type and text. Only requested formats are listed.
 * @param {ShownJob} job
 */
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

/** @param {readonly SpokenEntry[]} entries */
function plainText(entries) {
  return entries
    .map(({ start, name, text }) => `${clock(start)} ${name ? `${name}: ` : ''}${text}\n`)
    .join('');
}

/**
 * The name of the file without its extension. Characters that a disk refuses become a dash.
 * @param {ShownJob} job
 */
function fileBase({ id, file }) {
  const name = (file?.filename ?? '').replace(/\.[A-Za-z0-9]{1,5}$/, '');
  const plain = name.replace(/[\p{Cc}\\/:*?"<>|]/gu, '_').replace(/^[.\s]+|[.\s]+$/g, '');
  return plain || id;
}
