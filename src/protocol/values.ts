import { z } from 'zod';

/**
 * Ids of sessions, jobs and files. Any hexadecimal UUID is accepted, because some services do not set the version bits.
 */
export const Uuid = z.guid();

/** ISO 8601 in UTC with milliseconds when written. Offsets are accepted when read. */
export const DateTime = z.iso.datetime({ offset: true });

/** An address for a fetch or a callback. */
export const HttpUrl = z.url({ protocol: /^https?$/ });

/** A short text of one line, such as a name. */
export const textLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((text) => !/\p{Cc}/u.test(text), 'must have no control characters');

/** Seconds of audio, or a number of seconds. */
export const Seconds = z.number();

/** A language in an answer. Answers are read tolerantly: an unknown code must not cost a final. */
export const LanguageCode = z.string();

/** Free-form keys and values. */
export const FreeObject = z.record(z.string(), z.unknown());

/** The API's own limit for the object as JSON text. */
const customMetadataCharacters = 2000;

export const CustomMetadata = FreeObject.refine(
  (value) => JSON.stringify(value).length <= customMetadataCharacters,
  { error: `must have at most ${customMetadataCharacters} characters as JSON text` },
).describe(
  `Free-form keys and values, at most ${customMetadataCharacters} characters as JSON text.`,
);
