import { strongThreshold } from './means-rules.ts';
import type { Action } from './playbook.ts';

/** The utterance, or the second, that made a rule fire. */
export type Cause = {
  utterance_id?: string | undefined;
  leg_id?: string | undefined;
  role?: string | undefined;
  start: number;
  end: number;
  /** The words that matched. */
  matched?: string | undefined;
  /** 1 for the very words; the likelihood where `by` is `meaning`. */
  score?: number | undefined;
  /** The sentence means what the rule waits for, in whatever words. */
  by?: 'meaning' | undefined;
  /** The type of an entity. */
  entity?: string | undefined;
};

/** Articles stand among the hits as a playbook of this name, which no playbook can have. */
export const articlesAsPlaybook = '@knowledge';
/** Rules of playbooks come before articles: their authors know the call. */
export const articlePriority = 40;

/** A meaning that is likely enough for a hint, and for nothing that reaches others. */
export function isInDoubt({ by, score = 1 }: Cause): boolean {
  return by === 'meaning' && score < strongThreshold;
}

export type HintLink = { title: string; url: string };

/** An action of a rule that fired, its texts filled. */
export type Done =
  | {
      kind: 'hint';
      /** An article, in place of a rule. */
      source?: 'knowledge' | undefined;
      title: string;
      text?: string | undefined;
      say?: string | undefined;
      links?: HintLink[] | undefined;
      priority: number;
    }
  | { kind: 'alert'; level: 'info' | 'warn' | 'urgent'; title: string; text?: string | undefined }
  | { kind: 'tag'; tag: string }
  | { kind: 'step'; checklist: string; step: string; title: string }
  | { kind: 'pause'; seconds: number }
  | { kind: 'language'; language: string }
  | { kind: 'signal'; name: string; data: Record<string, string> };

/** A rule fired. */
export type Hit = {
  /** The same for the same rule and cause, also after a restart. */
  key: string;
  playbook: string;
  version: number;
  digest: string;
  rule: string;
  title: string;
  /** Nobody sees what a shadow did. */
  isShadow: boolean;
  /** Seconds of the call. */
  at: number;
  cause: Cause;
  did: Done[];
};

export type RuleTexts = { title: string; priority: number };

/** Carries out an action on paper: its texts are filled. Undefined for a tag or step that is there already. */
export function doneBy(
  action: Action,
  rule: RuleTexts,
  {
    fill,
    tags,
    stepTitle,
    stepsDone,
  }: {
    fill: (text: string) => string;
    tags: ReadonlySet<string>;
    stepsDone: ReadonlySet<string>;
    stepTitle: (step: string) => string;
  },
): Done | undefined {
  if ('hint' in action) {
    const { title, text, say, links, priority = rule.priority } = action.hint;
    return {
      kind: 'hint',
      title: fill(title),
      text: text && fill(text),
      say: say && fill(say),
      links,
      priority,
    };
  }
  if ('alert' in action) {
    const { level, title = rule.title, text } = action.alert;
    return {
      kind: 'alert',
      level,
      title: fill(title),
      text: text && fill(text),
    };
  }
  if ('tag' in action) return tags.has(action.tag) ? undefined : { kind: 'tag', tag: action.tag };
  if ('pause' in action) return { kind: 'pause', seconds: action.pause.resume_after };
  if ('language' in action) return { kind: 'language', language: action.language };
  if ('step' in action) {
    if (stepsDone.has(action.step)) return undefined;
    const [checklist = '', step = ''] = action.step.split('.');
    return { kind: 'step', checklist, step, title: stepTitle(action.step) };
  }
  const data = Object.entries(action.signal.data ?? {}).map(([name, text]) => [name, fill(text)]);
  return {
    kind: 'signal',
    name: action.signal.name,
    data: Object.fromEntries(data) as Record<string, string>,
  };
}
