import { z } from 'zod';

/** Ids of sessions, jobs and files. Any hexadecimal uuid: other services do not all set the version bits. */
export const Uuid = z.guid();

/** ISO 8601 in UTC with milliseconds, as we write it; offsets are read too. */
export const DateTime = z.iso.datetime({ offset: true });

/** An address that a fetch or a callback can be sent to. */
export const HttpUrl = z.url({ protocol: /^https?$/ });

/** Seconds of audio, or a span of them. */
export const Seconds = z.number();

/** A language as an answer carries it. Answers are read tolerantly: a final is not lost over a new code. */
export const LanguageCode = z.string();

/** Free-form keys and values. */
export const FreeObject = z.record(z.string(), z.unknown());

/** The interface's own limit, counted once the object is JSON text. */
const customMetadataCharacters = 2000;

export const CustomMetadata = FreeObject.refine(
  (value) => JSON.stringify(value).length <= customMetadataCharacters,
  { error: `must have at most ${customMetadataCharacters} characters as JSON text` },
).describe(
  `Free-form keys and values, at most ${customMetadataCharacters} characters as JSON text.`,
);
