import { Course } from './call-course.ts';
import { heardWords, type HeardFinal, type PlainWord } from './heard-text.ts';
import { HintGate } from './hint-gate.ts';
import {
  articlePriority,
  articlesAsPlaybook,
  doneBy,
  isInDoubt,
  type Cause,
  type Done,
  type Hit,
} from './hits.ts';
import type { Action } from './playbook.ts';
import type { PhraseMatch } from './phrase-matcher.ts';
import {
  isInScope,
  isSpoken,
  type CallScope,
  type LoadedPlaybook,
  type RuleSet,
  type WatchedRule,
} from './rule-set.ts';
import { seen, type Seen, type WatchState } from './watching.ts';

/** A phrase may go over two finals of one leg that are at most this far apart, and take this many words of the first. */
const joinedS = 2;
const tailWords = 12;
/** A tag or a step may make other rules fire, which may tag again: at most so deep. */
const maxDepth = 4;

/**
 * Triggers that depend on time are judged this many seconds late: by then the finals of that second have come, from
 * both parties.
 */
export const settledS = 3;
/** A long rest is walked through so many seconds at once. */
const strideS = 300;
/** A call without a word for longer than this is not walked through second by second. */
const maxRestS = 86_400;
/** The same where it is not known when the words of a call came: their times are those that a service gave. */
const maxSkippedS = 600;

const noneMeant: ReadonlyMap<number, number> = new Map();

type LastFired = { at: number; wasInDoubt: boolean };
type Tail = { words: PlainWord[]; end: number };

/**
 * The rules of one call, from its begin to its end. Pure: the same inputs in the same order give the same hits, live or
 * on a call of last month.
 */
export class CallRules {
  readonly #set: RuleSet;
  readonly #call: CallScope;
  #language: CallScope['language'];
  readonly #rules: readonly WatchedRule[];
  readonly #timed: readonly WatchedRule[];
  readonly #course = new Course();
  readonly #gate = new HintGate();
  readonly #states = new Map<number, WatchState>();
  readonly #lastFired = new Map<WatchedRule, LastFired>();
  readonly #tails = new Map<string, Tail>();
  readonly tags = new Set<string>();
  readonly stepsDone = new Set<string>();
  #nowS = 0;
  #tickedS = 0;
  #isOver = false;

  constructor(set: RuleSet, call: CallScope, isTrial = false) {
    this.#set = set;
    this.#call = call;
    this.#language = call.language;
    this.#rules = set.rules.filter(
      ({ playbook }) =>
        (isTrial || playbook.status !== 'draft') &&
        // The language may turn out during the call.
        isInScope({ ...playbook.scope, language: undefined }, call),
    );
    this.#timed = this.#rules.filter(({ isTimed }) => isTimed);
  }

  get isIdle(): boolean {
    return this.#rules.length === 0;
  }

  /** The checklists of the call, with what is done of them. */
  get checklists() {
    const playbooks = new Set(
      this.#rules.map(({ playbook }) => playbook).filter(({ scope }) => this.#isSpoken(scope)),
    );
    return [...playbooks].flatMap((playbook) =>
      playbook.checklists.map(({ id, title, steps }) => ({
        id,
        title,
        steps: steps.map((step) => ({
          ...step,
          isDone: this.stepsDone.has(`${id}.${step.id}`),
        })),
      })),
    );
  }

  heard(final: HeardFinal): Hit[] {
    if (this.isIdle) return [];
    this.#nowS = Math.max(this.#nowS, final.end);
    this.#course.speech(final);
    this.#course.forget(this.#nowS);
    const { words, matches } = this.#phrasesIn(final);
    const { utteranceId: utterance_id, legId: leg_id, role, start, end } = final;
    const cause = { utterance_id, leg_id, role, start, end };
    const { text, direction } = final;
    const meant = direction === undefined ? noneMeant : this.#set.means.in(role, text, direction);
    const matched = (match: PhraseMatch): string => matchedText(text, words, match);
    return this.#all({ kind: 'final', role, matches, cause, matched, meant, text });
  }

  /** A hint from elsewhere takes its turn among those of the rules. */
  offer(hit: Hit): Hit[] {
    this.#nowS = Math.max(this.#nowS, hit.at);
    return this.#gate.pass(hit, this.#nowS);
  }

  /** An article took its turn in the call that is heard again. It keeps its place, and is not shown here. */
  cardAsked(at: number): void {
    this.offer(placeOfCard(at));
  }

  /** The language of the call turned out, or changed. */
  spokenIn(language: string): void {
    this.#language = language;
  }

  /** From now on nothing that depends on time is judged. Finals may still come. */
  hungUp(): void {
    this.#isOver = true;
  }

  /**
   * Something reaches the rules at this second of the call. What depends on time is judged up to then, some seconds at
   * once. Where the ticks of a clock fall in between does not change a hit.
   */
  *reach(heardS: number): Generator<Hit[]> {
    if (this.#isOver) return;
    const untilS = heardS - settledS;
    this.#tickedS = Math.max(this.#tickedS, Math.floor(untilS) - maxRestS);
    for (let at = this.#tickedS + strideS; at < untilS; at += strideS) yield this.advance(at);
    yield this.advance(untilS);
  }

  /** Somebody is speaking: no final yet, and no silence either. */
  speaking(atS: number): void {
    this.#course.speaking(atS);
  }

  felt(role: string, end: number, sentiment: string, about?: Partial<Cause>): Hit[] {
    const value = sentiment === 'negative' ? -1 : sentiment === 'positive' ? 1 : 0;
    this.#course.felt(role, end, value);
    return this.#all({ kind: 'sentiment', role, cause: { start: end, end, role, ...about } });
  }

  entity(role: string, type: string, cause: Cause): Hit[] {
    return this.#all({ kind: 'entity', role, type, cause: { ...cause, role, entity: type } });
  }

  pressed(atS: number): Hit[] {
    this.#course.pressed(atS);
    return this.#all({ kind: 'dtmf', cause: { start: atS, end: atS } });
  }

  /** Time has passed: silences, missing steps, hints that waited. Whole seconds, one after the other. */
  advance(toS: number): Hit[] {
    const hits: Hit[] = [];
    this.#tickedS = Math.max(this.#tickedS, Math.floor(toS) - maxSkippedS);
    while (this.#tickedS + 1 <= toS) {
      const at = ++this.#tickedS;
      this.#nowS = Math.max(this.#nowS, at);
      hits.push(...this.#all({ kind: 'tick', cause: { start: at, end: at } }));
      hits.push(...this.#gate.release(this.#nowS).filter(({ rule }) => rule !== ''));
    }
    return hits;
  }

  #isSpoken(scope: LoadedPlaybook['scope']): boolean {
    return isSpoken(scope, { language: this.#language });
  }

  #phrasesIn({ legId, role, start, end, text }: HeardFinal) {
    const before = this.#tails.get(legId + role);
    const tail = before !== undefined && start - before.end < joinedS ? before.words : [];
    const own = heardWords(text);
    // The clause of the last final has ended, unless it goes on without a mark.
    const offset = tail.at(-1)?.clause ?? 0;
    const words = [...tail, ...own.map((word) => ({ ...word, clause: word.clause + offset }))];
    const matches = this.#set.phrases.in(words, role, tail.length);
    this.#tails.set(legId + role, {
      end,
      words: words.slice(-tailWords).map((word) => ({ ...word, start: -1, end: -1 })),
    });
    return { words, matches };
  }

  #all(input: Seen, depth = 0): Hit[] {
    const hits: Hit[] = [];
    for (const watched of input.kind === 'tick' ? this.#timed : this.#rules) {
      const cause = seen(watched.watch, input, {
        states: this.#states,
        course: this.#course,
        nowS: input.cause.end,
        stepsDone: this.stepsDone,
      });
      if (cause === undefined || !this.#isSpoken(watched.playbook.scope)) continue;
      if (!this.#mayFire(watched, cause, input.cause.end)) continue;
      const hit = this.#fire(watched, cause);
      if (hit === undefined) continue;
      hits.push(...this.#gate.pass(hit, this.#nowS));
      if (depth < maxDepth) hits.push(...this.#follow(hit, depth));
    }
    return hits;
  }

  #mayFire(watched: WatchedRule, cause: Cause, nowS: number): boolean {
    if (!this.#isResting(watched, nowS)) return true;
    // A meaning in doubt showed its hint; the rest of the rule still waits for more.
    return this.#lastFired.get(watched)?.wasInDoubt === true && !isInDoubt(cause);
  }

  #isResting(watched: WatchedRule, nowS: number): boolean {
    const last = this.#lastFired.get(watched);
    if (last === undefined) return false;
    return watched.rule.once || nowS - last.at < watched.rule.cooldown;
  }

  /** Takes over what an earlier process found by its meaning, so that it is not found again. */
  restored(hit: Hit): void {
    const watched = this.#rules.find(({ playbook, rule }) => playbook.id === hit.playbook && rule.id === hit.rule); // prettier-ignore
    if (watched === undefined) return;
    this.#lastFired.set(watched, { at: hit.cause.end, wasInDoubt: isInDoubt(hit.cause) });
    if (hit.isShadow) return;
    for (const done of hit.did) {
      if (done.kind === 'tag') this.tags.add(done.tag);
      if (done.kind === 'step') this.stepsDone.add(`${done.checklist}.${done.step}`);
    }
  }

  #fire(watched: WatchedRule, cause: Cause): Hit | undefined {
    const { playbook, rule } = watched;
    const fill = (text: string) => filled(text, cause, this.#call);
    const { tags, stepsDone } = this;
    const stepTitle = (step: string) => titleOfStep(playbook, step);
    const inDoubt = isInDoubt(cause);
    const wasShown = this.#isResting(watched, cause.end);
    const did = rule.then
      .filter((action) => !inDoubt || isForTheAgent(action))
      .filter((action) => !wasShown || !isForTheAgent(action))
      .map((action) => doneBy(action, rule, { fill, tags, stepsDone, stepTitle }))
      .filter((done): done is Done => done !== undefined);
    this.#lastFired.set(watched, { at: cause.end, wasInDoubt: inDoubt });
    if (did.length === 0) return undefined;
    const place = cause.utterance_id ?? String(cause.end);
    return {
      key: `${playbook.id}/${rule.id}@${place}`,
      playbook: playbook.id,
      version: playbook.version,
      digest: playbook.digest,
      rule: rule.id,
      title: rule.title,
      isShadow: playbook.status === 'shadow',
      at: cause.end,
      cause,
      did,
    };
  }

  #follow({ did, isShadow, cause }: Hit, depth: number): Hit[] {
    const hits: Hit[] = [];
    for (const done of did) {
      if (done.kind === 'tag') {
        if (!isShadow) this.tags.add(done.tag);
        hits.push(...this.#all({ kind: 'tag', tag: done.tag, cause }, depth + 1));
      }
      if (done.kind === 'step') {
        const step = `${done.checklist}.${done.step}`;
        if (!isShadow) this.stepsDone.add(step);
        hits.push(...this.#all({ kind: 'step', step, cause }, depth + 1));
      }
    }
    return hits;
  }
}

/** An article of a call that is over, as the gate saw it: a hint of its priority. Its rule has no name. */
function placeOfCard(at: number): Hit {
  const hint = { kind: 'hint', source: 'knowledge', title: '', priority: articlePriority } as const;
  const none = {
    key: '',
    playbook: articlesAsPlaybook,
    version: 1,
    digest: '',
    rule: '',
    title: '',
  };
  return { ...none, isShadow: false, at, cause: { start: at, end: at }, did: [hint] };
}

/** Hints and steps are seen by the agent alone, who hears at once that they are wrong. */
function isForTheAgent(action: Action): boolean {
  return 'hint' in action || 'step' in action;
}

function matchedText(text: string, words: readonly PlainWord[], { from, to }: PhraseMatch): string {
  const [first, last] = [words[from], words[to - 1]];
  if (first !== undefined && last !== undefined && first.start >= 0)
    return text.slice(first.start, last.end);
  return words
    .slice(from, to)
    .map(({ word }) => word)
    .join(' ');
}

function titleOfStep({ checklists }: LoadedPlaybook, step: string): string {
  const named = checklists.flatMap(({ id, steps }) =>
    steps.filter((one) => `${id}.${one.id}` === step),
  );
  return named[0]?.title ?? step;
}

/** Places that a text of a playbook may have: the words that matched, and the metadata of the call. */
function filled(text: string, cause: Cause, call: CallScope): string {
  return text.replace(
    /\{(match|entity|metadata\.([\w.-]{1,100}))\}/g,
    (_, place: string, name?: string) => {
      if (place === 'match') return cause.matched ?? '';
      if (place === 'entity') return cause.entity ?? '';
      const value = call.metadata[name ?? ''];
      return typeof value === 'string' || typeof value === 'number'
        ? String(value).slice(0, 200)
        : '';
    },
  );
}
