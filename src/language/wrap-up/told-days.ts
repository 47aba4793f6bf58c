import type { CallRecordDraft } from './record-draft.ts';
import type { ToldLine } from './told-line.ts';
import { written } from './written-day.ts';

const dayMs = 86_400_000;
const before = '(?:\\b(on|for|by|until|till|from|since|before|of|after) )?';
const tomorrow = new RegExp(`${before}\\b(tomorrow|yesterday)(?: (morning|afternoon|evening|night))?\\b(?! week|'s)`, 'gi'); // prettier-ignore
const lastNight = new RegExp(`${before}\\blast night\\b`, 'gi');
const ofToday = new RegExp(`${before}\\b(today|tonight|this (morning|afternoon|evening))(?!'s)\\b`, 'gi'); // prettier-ignore
const weekday = new RegExp(`(?<!\\b(?:next|last|every|each) )${before}\\b((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)(?: (morning|afternoon|evening|night))?\\b(?!,? (?:the )?\\d|,? (?:the )?(?!(?:and|with|just|at least)\\b)(?:\\w+-)?\\w+(?:st|nd|rd|th)\\b|,? (?:January|February|March|April|May|June|July|August|September|October|November|December)|s\\b|'s)`, 'g'); // prettier-ignore

const everyWeek = /\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days\b/;
const thatDay = /\b(for|on|by) that day\b/g;

/** "Tomorrow" is a day only in the call: the line with the date itself. What is quoted stays as it was said. */
export function withDays(line: ToldLine, { day, facts }: CallRecordDraft): ToldLine {
  if (day === undefined || line.text.includes('"')) return line;
  const text = line.text
    .replace(tomorrow, (_, lead: string | undefined, which: string, part: string | undefined) => {
      const date = written(plus(day, which.toLowerCase() === 'tomorrow' ? 1 : -1));
      return `${lead ?? 'on'} ${part === undefined ? '' : `the ${part} of `}${date}`;
    })
    .replace(
      lastNight,
      (_, lead: string | undefined) => `${lead ?? 'in'} the night of ${written(plus(day, -1))}`,
    ) // prettier-ignore
    .replace(
      ofToday,
      (
        _,
        lead: string | undefined,
        which: string,
        part = which.toLowerCase() === 'tonight' ? 'evening' : undefined,
      ) => `${lead ?? 'on'} ${part === undefined ? '' : `the ${part} of `}${written(day)}`,
    ) // prettier-ignore
    .replace(
      weekday,
      (all: string, lead: string | undefined, name: string, part: string | undefined) => {
        // "The course on Saturdays is full, but there are two places on Wednesday": every week.
        if (everyWeek.test(line.text)) return all;
        const turns = line.turns ?? [line.turn];
        const named = facts.filter(({ kind, value, turns: at }) => kind === 'date' && at.some((turn) => turns.includes(turn)) && written(value).startsWith(`${name},`)); // prettier-ignore
        const [one, ...more] = named;
        if (one === undefined || more.length > 0) return all;
        const date = written(one.value);
        return part === undefined
          ? `${lead === undefined ? '' : `${lead} `}${date}`
          : `${lead ?? 'on'} the ${part} of ${date}`;
      },
    )
    .replace(thatDay, (all: string, lead: string) => {
      const turns = line.turns ?? [line.turn];
      const [one, ...more] = facts.filter(({ kind, turns: at }) => kind === 'date' && at.some((turn) => turns.includes(turn))); // prettier-ignore
      return one === undefined || more.length > 0 ? all : `${lead} ${written(one.value)}`;
    });
  return { ...line, text: text.slice(0, 1).toUpperCase() + text.slice(1) };
}

function plus(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}
