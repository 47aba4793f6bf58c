import { entitiesOverFinals } from '../../../src/language/values/over-finals.ts';
import { redactStep, type RedactInput } from '../../../src/language/redaction/redact.ts';
import { lines, type Split } from './language-scores.ts';

/**
 * A question of the agent and the caller's answer, in the finals of a recogniser. Secrets stand in braces. `value` is
 * the meaning of the answer.
 */
export type NumberLine = {
  id: string;
  agent: string;
  finals: string[];
  type?: string;
  value?: string | null;
  name?: boolean;
  currency?: string | null;
  valid?: boolean;
  secret?: boolean;
  neutral?: boolean;
};

export function numberLines(split: Split | 'fresh'): NumberLine[] {
  return lines<NumberLine>(`numbers-${split}`);
}

/** The finals without their braces, and the positions of the secrets in each. */
export function secretsIn(line: NumberLine): { text: string; secrets: [number, number][] }[] {
  return line.finals.map((marked) => {
    const secrets: [number, number][] = [];
    let text = '';
    let from = 0;
    for (const char of marked)
      if (char === '{') from = text.length;
      else if (char === '}') secrets.push([from, text.length]);
      else text += char;
    return { text, secrets };
  });
}

export type SecretScore = {
  secrets: number;
  /** Secrets without any covered word. */
  whole: string[];
  /** Secrets with some words covered and some not. */
  part: string[];
  neutral: number;
  /** Sentences without a secret in which something was covered. */
  alarms: string[];
};

/** The secrets that a redacted call still shows. Each line is a separate call. */
export function scoreSecrets(set: readonly NumberLine[], entityTypes: string[]): SecretScore {
  const score: SecretScore = { secrets: 0, whole: [], part: [], neutral: 0, alarms: [] };
  for (const line of set) {
    const { shown, coveredAny, open, hidden } = redactedLine(line, entityTypes);
    const told = `${line.id} ${line.agent} ${shown.join(' | ')}`;
    if (line.neutral) {
      score.neutral += 1;
      if (coveredAny) score.alarms.push(told);
    }
    if (!line.secret) continue;
    score.secrets += 1;
    if (open > 0) score[hidden === 0 ? 'whole' : 'part'].push(told);
  }
  return score;
}

function redactedLine(line: NumberLine, entityTypes: string[]) {
  const pieces = secretsIn(line);
  const form = 'MARKER' as const;
  const covered = pieces.map((): [number, number][] => []);
  const shown: string[] = [];
  const take = (input: Partial<RedactInput>, state?: RedactInput['state']) => {
    const output = redactStep({
      text: '',
      entityTypes,
      form,
      asked: [line.agent],
      ...input,
      ...(state ? { state } : {}),
    });
    for (const released of output.released) {
      shown.push(released.text);
      for (const { start, end } of released.covered)
        covered[Number(released.id)]?.push([start, end]);
    }
    return output.state;
  };
  let state: RedactInput['state'];
  for (const [i, { text }] of pieces.entries())
    state = take({ id: String(i), text, mayHold: true }, state);
  take({ flush: true }, state);
  let open = 0;
  let hidden = 0;
  for (const [i, { text, secrets }] of pieces.entries())
    for (const [from, to] of secrets)
      for (const word of text.slice(from, to).matchAll(/[\p{L}\p{N}]+/gu)) {
        if (/^(?:um|uh|er|no|sorry|wait)$/.test(word[0])) continue;
        const at = from + word.index;
        const isHidden = covered[i]?.some(([start, end]) => start <= at && at < end);
        if (isHidden) hidden += 1;
        else open += 1;
      }
  return { shown, open, hidden, coveredAny: covered.some((spans) => spans.length > 0) };
}

export type ValueScore = {
  lines: number;
  /** True if the answer has exactly one entity of the requested type. */
  one: number;
  /** True if it has the right value, with its currency and check digit. */
  right: number;
  /** The number of these answers that came in several finals. */
  several: number;
  severalOne: number;
  byType: Record<string, { all: number; right: number }>;
  misses: string[];
};

/** The values of the answers. The calls take place on Wednesday, 4 March 2026, in America. */
export function scoreValues(set: readonly NumberLine[]): ValueScore {
  const score: ValueScore = { lines: 0, one: 0, right: 0, several: 0, severalOne: 0, byType: {}, misses: [] }; // prettier-ignore
  for (const line of set) {
    if (line.value === undefined || line.value === null) continue;
    const finals = secretsIn(line).map(({ text }) => text);
    const about = { day: '2026-03-04', callingCode: '1' };
    const heard = entitiesOverFinals({ finals, asked: [line.agent], about, language: 'en' });
    const ofType = heard.filter(({ type }) =>
      line.name ? type.startsWith('NAME') : type === line.type,
    );
    const [only] = ofType;
    const isOne = ofType.length === 1;
    const isRight =
      isOne &&
      (line.name
        ? only?.value?.split(' ').includes(line.value) === true
        : only?.value === line.value) &&
      (line.currency === undefined || line.currency === null || only?.currency === line.currency) &&
      (line.valid === undefined || only?.valid === line.valid);
    const type = (score.byType[line.name ? 'NAME' : (line.type ?? '')] ??= { all: 0, right: 0 });
    score.lines += 1;
    type.all += 1;
    if (isOne) score.one += 1;
    if (finals.length > 1) score.several += 1;
    if (finals.length > 1 && isOne) score.severalOne += 1;
    if (isRight) {
      score.right += 1;
      type.right += 1;
    } else
      score.misses.push(
        `${line.id} ${line.agent} ${finals.join(' | ')} ${line.value} -> ${JSON.stringify(heard)}`,
      );
  }
  return score;
}
