import { maxEventBytes } from '../../outbox/event-rows.ts';
import type { CallEventData } from '../../protocol/events.ts';

/** Bytes reserved for the envelope around the data: the call, the leg and the metadata, whose sizes are limited. */
const envelopeBytes = 32_768;
/** The data of one event has at most this many bytes as JSON. No endpoint accepts a larger event. */
export const maxDataBytes = maxEventBytes - envelopeBytes;

type LongData = Pick<
  CallEventData<'call.summary'>,
  'transcript' | 'chapters' | 'entities' | 'truncated' | 'transcript_url'
> & { sentiment_course?: CallEventData<'call.summary'>['sentiment_course'] };

/**
 * Shortens the data until it fits into one event. Parts that can be read elsewhere are removed first, and the largest
 * of them first: the texts of the turns, the turns, then the second halves of the other lists. Data that fits is
 * returned unchanged. Pure.
 */
export function fitted<Data extends LongData>(
  data: Data,
  transcriptUrl: string,
  maxBytes = maxDataBytes,
): Data {
  const fits = (one: Data): boolean => Buffer.byteLength(JSON.stringify(one)) <= maxBytes;
  if (fits(data)) return data;
  const transcript = data.transcript.map((turn) => ({ ...turn, text: '' }));
  let short: Data = { ...data, truncated: true, transcript_url: transcriptUrl, transcript };
  if (!fits(short)) short = { ...short, transcript: [] };
  while (!fits(short) && hasLists(short)) short = { ...short, ...halvedLists(short) };
  return short;
}

function hasLists({
  chapters,
  entities,
  sentiment_course: course = { customer: [], agent: [] },
}: LongData): boolean {
  return [chapters, entities, ...Object.values(course)].some((list) => (list?.length ?? 0) > 0);
}

function halvedLists({
  chapters,
  entities,
  sentiment_course: course,
}: LongData): Partial<LongData> {
  return {
    chapters: firstHalf(chapters),
    entities: firstHalf(entities),
    ...(course === undefined
      ? {}
      : {
          sentiment_course: {
            customer: firstHalf(course.customer),
            agent: firstHalf(course.agent),
            mixed: course.mixed && firstHalf(course.mixed),
          },
        }),
  };
}

function firstHalf<T>(list: readonly T[]): T[] {
  return list.slice(0, Math.floor(list.length / 2));
}
