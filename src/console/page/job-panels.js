import { h } from './dom.js';
import { moodIn } from './figures.js';
import { entityName } from './entity-names.js';
import { clock, moment, percents, titleOf } from './format.js';
import { entitiesOf, sentimentsOf, talkOf } from './job-result.js';

/** @import { Child } from './dom.js' */

/** @import { Feeling, ShownJob, PageEntity, SpokenEntry } from './shapes.ts' */

/** At most this many entities of one type are shown. The JSON download has all. */
const maxShown = 40;

/**
 * The panels beside a transcript: speakers, moods, entities, answers and the facts of the file.
 * @param {ShownJob} job
 * @param {readonly SpokenEntry[]} entries
 * @param {(seconds: number) => void} onHear
 */
export function panelsOf(job, entries, onHear) {
  const { result } = job;
  return [
    voicesPanel(entries),
    sentimentPanel(sentimentsOf(result)),
    entitiesPanel(entitiesOf(result), onHear),
    answersPanel(result?.audio_to_llm?.results),
    factsPanel(job),
  ].filter((one) => one !== undefined);
}

/**
 * @param {string} title
 * @param {...(Child | readonly Child[])} children
 */
function panel(title, ...children) {
  const id = `panel-${title.toLowerCase()}`;
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': id },
    h('h2', { id }, title),
    ...children,
  );
}

/** @param {[Child, Child][]} rows */
function list(rows) {
  return h(
    'dl',
    {},
    rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

/** @param {readonly SpokenEntry[]} entries */
function voicesPanel(entries) {
  const talk = talkOf(entries).filter(({ name }) => name);
  const all = talk.reduce((sum, { seconds }) => sum + seconds, 0);
  if (all === 0) return undefined;
  const bar = h(
    'div',
    { class: 'ratio', 'aria-hidden': 'true' },
    talk.map(({ voice, seconds }) => {
      const share = h('i', { dataset: { voice } });
      share.style.flexGrow = String(seconds / all);
      return share;
    }),
  );
  const told = percents(talk.map(({ seconds }) => seconds / all));
  /** @type {[Child, Child][]} */
  const rows = talk.map(({ name, voice, seconds }, at) => [
    h('span', { class: 'voice', dataset: { voice } }, name),
    `${told[at]} · ${clock(seconds)}`,
  ]);
  return panel('Speakers', bar, list(rows));
}

const moods = ['positive', 'neutral', 'negative'];

/** @param {readonly Feeling[]} items */
function sentimentPanel(items) {
  /** @type {[Child, Child][]} */
  const rows = moods.flatMap((mood) => {
    const count = items.filter(({ sentiment }) => moodIn(sentiment) === mood).length;
    return count === 0 ? [] : [[titleOf(mood), `${count} of ${items.length}`]];
  });
  return rows.length === 0 ? undefined : panel('Sentiment', list(rows));
}

/**
 * @param {readonly PageEntity[]} entities
 * @param {(seconds: number) => void} onHear
 */
function entitiesPanel(entities, onHear) {
  if (entities.length === 0) return undefined;
  const types = Map.groupBy(entities, ({ entity_type: type }) => type);
  return panel(
    'Entities',
    [...types].map(([type, found]) =>
      h(
        'section',
        { class: 'named' },
        h('h3', {}, entityName(type)),
        h(
          'ul',
          { class: 'entities' },
          found.slice(0, maxShown).map((entity) => h('li', {}, entityButton(entity, onHear))),
          found.length > maxShown
            ? h('li', { class: 'quiet' }, `and ${found.length - maxShown} more`)
            : null,
        ),
      ),
    ),
  );
}

/**
 * @param {PageEntity} entity
 * @param {(seconds: number) => void} onHear
 */
function entityButton({ text, start }, onHear) {
  const hear = { type: 'button', title: clock(start), onclick: () => onHear(start) };
  return h('button', { ...hear, 'aria-label': `${text}, hear from ${clock(start)}` }, text);
}

/** @param {NonNullable<NonNullable<ShownJob['result']>['audio_to_llm']>['results'] | undefined} blocks */
function answersPanel(blocks) {
  const answers = (Array.isArray(blocks) ? blocks : []).flatMap(({ results, error }) =>
    results?.prompt ? [[results.prompt, results.response ?? error?.message ?? 'no answer']] : [],
  );
  if (answers.length === 0) return undefined;
  return panel(
    'Answers',
    answers.flatMap(([prompt, response]) => [h('h3', {}, prompt), h('p', {}, response)]),
  );
}

/** @param {ShownJob} job */
function factsPanel({ id, file, result, request_params: params, created_at: createdAt }) {
  const seconds = file?.audio_duration;
  const took = result?.metadata?.transcription_time;
  /** @type {[string, unknown][]} */
  const facts = [
    ['Length', seconds == null ? undefined : clock(seconds)],
    ['Channels', file?.number_of_channels],
    ['Languages', result?.transcription?.languages?.join(', ')],
    ['Transcribed in', took == null ? undefined : `${took.toFixed(1)} s${speedOf(seconds, took)}`],
    ['Model', params?.model],
    ['Started', moment(createdAt)],
    ['Fetched from', file?.source],
  ];
  const rows = facts.filter(([, value]) => value != null && value !== '');
  /** @type {[Child, Child][]} */
  const known = rows.map(([name, value]) => [name, String(value)]);
  return panel('File', list([...known, ['ID', h('code', {}, id)]]));
}

/**
 * @param {number | null | undefined} seconds
 * @param {number} took
 */
function speedOf(seconds, took) {
  return seconds != null && seconds > 0 && took > 0
    ? ` · ${(seconds / took).toFixed(0)}x real time`
    : '';
}
