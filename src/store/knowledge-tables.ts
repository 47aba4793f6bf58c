import type { Generated } from 'kysely';

/* Tables of the articles for agents. */

/** A passage of an article. Its row belongs to the very text of the article: an edited article has rows of its own. */
export type KnowledgePassagesTable = {
  id: Generated<number>;
  /** The digest of the article. */
  article: string;
  place: number;
  name: string;
  title: string;
  url: string | null;
  say: string | null;
  heading: string;
  text: string;
  /** Questions as callers ask them, a line each. With the first passage alone. */
  asked: string;
  /** The directions of title, text and questions, with the name of the model that made them. Null until then. */
  directions: string | null;
  /** The last time at which a node had the article in its folder. */
  used_at: number;
};

/** A question of a call for which no article was found. */
export type KnowledgeQuestionsTable = {
  call_id: string;
  /** The utterance, or the digest of a question that an agent typed. */
  question_key: string;
  question: string;
  asked_at: number;
  by: 'caller' | 'agent';
};
