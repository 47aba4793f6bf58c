import { articleId } from '../../knowledge/article.ts';
import type { FoundArticle } from '../../knowledge/knowledge-index.ts';
import type { OpenQuestion } from '../../knowledge/question-rows.ts';
import { termsOf } from '../../knowledge/terms.ts';
import type { HeardFinal } from '../../assist/heard-text.ts';
import { articlePriority, articlesAsPlaybook, type Hit } from '../../assist/hits.ts';
import { round3 } from '../../lib/round.ts';

/** The articles as a call asks them. Undefined: there is no time for it now. */
export type CallKnowledge = {
  readonly isEmpty: boolean;
  ask(
    question: string,
    options: { limit: number; isLive: true },
  ): Promise<FoundArticle[] | undefined>;
};

type KnowledgeCardsOptions = {
  knowledge: CallKnowledge;
  /** Shows a card among the hints. */
  show(hit: Hit): void;
  /** Keeps a question that no article answers. */
  unanswered(question: Omit<OpenQuestion, 'callId' | 'atMs'>): void;
  failed(error: unknown): void;
};

/** A call asks at most once in this many seconds of its time. */
export const betweenAsksS = 6;
/** The words of a customer belong to one question while nobody else speaks, and for this long. */
const questionS = 30;
const maxQuestionWords = 60;
/** A shorter turn says too little to look for. */
const fewestTerms = 2;
const maxCardLetters = 700;

type CustomerTurn = { text: string; last: HeardFinal };

/**
 * Articles for what a customer says, shown by themselves. A call asks in the background: no result, no rule and no
 * audio waits for an answer. Each article comes once in a call.
 */
export class KnowledgeCards {
  readonly #options: KnowledgeCardsOptions;
  readonly #shown = new Set<string>();
  #turn: CustomerTurn | undefined;
  #askedAtS = -betweenAsksS;
  #asked: string | undefined;
  #isAsking = false;

  constructor(options: KnowledgeCardsOptions) {
    this.#options = options;
  }

  heard(final: HeardFinal): void {
    this.remember(final);
    this.ask(final.end);
  }

  /** Takes a final in without asking, as after a restart. */
  remember(final: HeardFinal): void {
    if (final.role === 'agent') {
      // A question that was asked is over once the agent speaks. One that waits for its turn is not.
      if (this.#turn?.last.utteranceId === this.#asked) this.#turn = undefined;
      return;
    }
    const before = this.#turn;
    const goesOn = before !== undefined && final.start - before.last.end < questionS;
    const words = `${goesOn ? before.text : ''} ${final.text}`.trim().split(/\s+/);
    this.#turn = { text: words.slice(-maxQuestionWords).join(' '), last: final };
  }

  /** Takes over a card that an earlier process showed. */
  restored(hit: Hit): void {
    this.#shown.add(hit.rule);
    this.#asked = hit.cause.utterance_id;
    this.#askedAtS = hit.at;
  }

  /** Asks for the words of the customer so far, unless it was asked just now. */
  ask(nowS: number): void {
    const turn = this.#turn;
    if (turn === undefined || turn.last.utteranceId === this.#asked) return;
    if (this.#isAsking || nowS - this.#askedAtS < betweenAsksS) return;
    if (this.#options.knowledge.isEmpty || termsOf(turn.text).length < fewestTerms) return;
    this.#isAsking = true;
    this.#askedAtS = nowS;
    this.#asked = turn.last.utteranceId;
    void this.#find(turn).finally(() => (this.#isAsking = false));
  }

  async #find({ text, last }: CustomerTurn): Promise<void> {
    try {
      const found = await this.#options.knowledge.ask(text, { limit: 1, isLive: true });
      const first = found?.[0];
      if (found === undefined || (first?.isSure === true && this.#shown.has(ruleOf(first)))) return;
      if (first?.isSure === true) {
        this.#shown.add(ruleOf(first));
        this.#options.show(cardOf(first, text, last));
      } else if (isQuestion(text))
        this.#options.unanswered({ question: text, utteranceId: last.utteranceId });
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

const questionWords = /\?|\b(?:how|what|when|where|which|who|why|can (?:i|you|we)|could (?:i|you|we)|do (?:i|you|we)|does|is there|are there|am i|may i)\b/i; // prettier-ignore

/** Only what sounds like a question is listed as one without an answer: most turns of a call are none. */
function isQuestion(text: string): boolean {
  return questionWords.test(text);
}

function ruleOf({ name }: FoundArticle): string {
  return name.slice(-200);
}

function cardOf(found: FoundArticle, question: string, last: HeardFinal): Hit {
  const { name, title, url, heading, text, say, score, article } = found;
  const { utteranceId: utterance_id, legId: leg_id, role, start, end } = last;
  const passage = heading === '' ? text : `${heading}: ${text}`;
  return {
    key: `${articlesAsPlaybook}/${articleId(name)}@${utterance_id}`,
    playbook: articlesAsPlaybook,
    version: 1,
    digest: article,
    rule: ruleOf(found),
    title,
    isShadow: false,
    at: end,
    cause: { utterance_id, leg_id, role, start, end, matched: question.slice(-300), score: round3(score) }, // prettier-ignore
    did: [
      {
        kind: 'hint',
        source: 'knowledge',
        title,
        text: passage.length > maxCardLetters ? `${passage.slice(0, maxCardLetters)}…` : passage,
        say: say ?? undefined,
        links: [{ title: 'The whole article', url: url ?? `/api/knowledge/articles/${articleId(name)}` }], // prettier-ignore
        priority: articlePriority,
      },
    ],
  };
}
