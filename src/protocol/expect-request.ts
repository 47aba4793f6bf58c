import { z } from 'zod';
import { Role } from './events.ts';
import { ExpectedAnswer } from './session-hints.ts';

/** The longest time that somebody may be expected to give an answer, in seconds. */
const longestExpectedS = 120;

/** An order: a party of a running call is about to say this. */
export const ExpectRequest = z
  .strictObject({
    answer: ExpectedAnswer.nullable().describe(
      '`digits`: a number that is read out; `code`: letters and digits; `letters`: a spelling; `date`: a day or an expiry; `amount`: money; `email`: an address of mail; `null`: nothing any more.',
    ),
    role: Role.default('customer').describe('The party that answers.'),
    seconds: z
      .number()
      .min(1)
      .max(longestExpectedS)
      .default(30)
      .describe('The expectation ends after this time, or with the answer.'),
  })
  .meta({ id: 'ExpectRequest' });

export const Expected = z
  .object({ answer: ExpectedAnswer.nullable(), role: Role, seconds: z.number() })
  .meta({ id: 'Expected' });
export type Expected = z.infer<typeof Expected>;
export type ExpectRequest = z.infer<typeof ExpectRequest>;
