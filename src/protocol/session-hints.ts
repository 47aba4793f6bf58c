import { z } from 'zod';

/**
 * Header of the answer to the upgrade of a live socket: this service takes `hint` messages. The interface itself has no
 * such message, so a client of ours sends none to a service that does not say so.
 */
export const takesHintsHeader = 'x-takes-hints';

/** The kinds of answer that a party may be about to give. */
export const expectedAnswers = ['digits', 'code', 'letters', 'date', 'amount', 'email'] as const;
export const ExpectedAnswer = z.enum(expectedAnswers).meta({ id: 'ExpectedAnswer' });
export type ExpectedAnswer = z.infer<typeof ExpectedAnswer>;

/** The longest time that an unfinished number may be waited for, in seconds. */
export const longestNumberPauseS = 3;

/**
 * A hint about the coming speech, sent by the client. It changes how words are recognised and leaves the messages as
 * they are.
 */
export const SessionHint = z.object({
  channel: z.int().min(0).max(7).default(0),
  /** The audio from here on may be an answer of this kind. Null ends that; if absent, nothing changes. */
  expects: ExpectedAnswer.nullable().optional(),
  /** An utterance that ends inside a number, a spelling or an address waits this much longer. */
  number_pause: z.number().min(0).max(longestNumberPauseS).optional(),
});
export type SessionHint = z.infer<typeof SessionHint>;
