import type { NamedEntity } from '../../protocol/addons.ts';
import { timelineOf } from '../timing.ts';
import type { EntityValue, SpokenTurn, ValueContext } from '../types.ts';
import { entitiesOverFinals } from './over-finals.ts';

type TurnWithWords = SpokenTurn & {
  words?: NonNullable<Parameters<typeof timelineOf>[0]['words']>;
};
type EntityOfTurn = NamedEntity & Partial<EntityValue> & { role: string };

/** A longer silence, in seconds, ends the number. */
const longestPauseS = 8;
const mostTurns = 8;
/** The question is searched for in this many last turns of the other parties. */
const turnsAsked = 4;
/** A redaction marker has no value. */
const marker = /\[[A-Z_]+_\d+\]|\[REDACTED\]|#{2,}/;

/** The entities of a whole call, each once. Consecutive turns of one speaker are searched together. */
export function entitiesOfTurns(
  turns: readonly TurnWithWords[],
  about: ValueContext,
  language: string,
): EntityOfTurn[] {
  return groupsOf(turns)
    .flatMap(({ own, asked }) =>
      entitiesOverFinals({
        finals: own.map(({ text }) => text),
        asked: asked.map(({ text }) => text),
        about,
        language,
      })
        .filter(({ text }) => !marker.test(text))
        .flatMap(({ type, pieces, ...told }) => {
          const times = pieces.flatMap(({ final, start, end }) => {
            const turn = own[final];
            return turn === undefined ? [] : [timesOf(turn, start, end)];
          });
          const [first] = times;
          const last = times.at(-1);
          return first === undefined || last === undefined
            ? []
            : [{ entity_type: type, ...told, start: first.start, end: last.end, role: own[0]?.role ?? '' }]; // prettier-ignore
        }),
    )
    .toSorted((a, b) => a.start - b.start);
}

type TurnsTogether = { own: TurnWithWords[]; asked: TurnWithWords[] };

/**
 * Groups turns. A turn continues its speaker's last one unless the speaker was silent for long or was asked something
 * in between.
 */
function groupsOf(turns: readonly TurnWithWords[]): TurnsTogether[] {
  const groups: TurnsTogether[] = [];
  const open = new Map<string, TurnsTogether>();
  for (const [i, turn] of turns.entries()) {
    for (const role of [...open.keys()])
      if (role !== turn.role && turn.text.includes('?')) open.delete(role);
    const group = open.get(turn.role);
    const last = group?.own.at(-1);
    if (group && last && group.own.length < mostTurns && turn.start - last.end <= longestPauseS) {
      group.own.push(turn);
      continue;
    }
    const asked = turns.slice(Math.max(0, i - 40), i).filter(({ role }) => role !== turn.role).slice(-turnsAsked); // prettier-ignore
    const next = { own: [turn], asked };
    open.set(turn.role, next);
    groups.push(next);
  }
  return groups;
}

function timesOf(turn: TurnWithWords, start: number, end: number): { start: number; end: number } {
  const words = turn.words ?? [];
  return timelineOf({ ...turn, words, confidence: 1, channel: 0, language: 'en' })(start, end);
}

/** The letters at the end of an entity that spell the name before them. */
const spelling = /(?:[\s.,-]+\p{L}(?![\p{L}'’])){3,}\W*$/u;

/** The turns in which a name that was spelled stands as it was spelled, for texts that tell of them. */
export function withSpelledNames<Turn extends SpokenTurn>(
  turns: readonly Turn[],
  entities: readonly Pick<
    EntityOfTurn,
    'entity_type' | 'text' | 'value' | 'start' | 'end' | 'role'
  >[],
): Turn[] {
  const told = [...turns];
  for (const { entity_type, text, value = '', start, end, role } of entities) {
    if (!entity_type.startsWith('NAME') || !spelling.test(text)) continue;
    const heard = text
      .replace(spelling, '')
      .split(/[\s.,]+/)
      .filter(Boolean);
    const right = value.split(/\s+/);
    if (heard.length !== right.length) continue;
    const at = told.findIndex(
      (turn) => turn.role === role && turn.end >= start && turn.start <= end,
    );
    const turn = told[at];
    if (turn === undefined) continue;
    let named = turn.text;
    for (const [index, word] of heard.entries())
      named = named.replace(word, () => right[index] ?? word);
    told[at] = { ...turn, text: named };
  }
  return told;
}
