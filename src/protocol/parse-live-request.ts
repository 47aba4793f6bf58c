import type { z } from 'zod';
import { StreamingRequest, Region, type LiveRequest } from './live-request.ts';
import { neutralModel } from './names.ts';
import {
  fieldsOf,
  isFields,
  malformed,
  parseFields,
  takeOut,
  unusable,
  unaskedConfigs,
  type BodyFields,
  type ParsedRequest,
  type ParseOptions,
} from './request-body.ts';

/**
 * Fields of earlier versions of the API, without effect today. Current clients still send them, so they are accepted.
 */
const legacyRealtimeNames = ['words_accurate_timestamps', 'word_timestamps'];

const configsIn = [
  ['realtime_processing', ['custom_vocabulary', 'custom_spelling', 'translation']],
  ['post_processing', ['summarization']],
] as const;

/** Parses a body of POST /v2/live: with every default filled in, or the answer that refuses it. */
export function parseLiveRequest(
  body: unknown,
  options: ParseOptions = {},
): ParsedRequest<LiveRequest> {
  const read = liveFields(body);
  if ('errors' in read) return malformed(read.errors);
  const { fields, ignored } = read;
  ignored.push(...configsUnasked(fields));
  const parsed = parseFields(StreamingRequest, fields, options);
  if (!parsed.ok) return malformed(parsed.errors);
  ignored.push(...parsed.ignored);
  const { request } = parsed;
  if (request.callback && request.callback_config.url === undefined)
    return malformed(['callback_config.url is required when callback is true']);
  if (neutralModel(request.model) !== 'model-1')
    return unusable(`model ${request.model} does not transcribe live audio`);
  if (isG711(request.encoding) && request.bit_depth !== 8) {
    if (options.lenient !== true) return unusable(`bit_depth must be 8 with ${request.encoding}`);
    ignored.push('bit_depth');
    request.bit_depth = 8;
  }
  return { ok: true, request, ignored };
}

/**
 * The schema's objections to such a body, issue by issue. It serves settings that become a body, where a person is told
 * the name that was meant. A body that is no object has none here; `parseLiveRequest` refuses it.
 */
export function liveRequestIssues(body: unknown): readonly z.core.$ZodIssue[] {
  const read = liveFields(body);
  if ('errors' in read) return [];
  return StreamingRequest.safeParse(read.fields, { reportInput: true }).error?.issues ?? [];
}

/** The fields in the form that the schema expects: without nulls and names of earlier versions, G.711 with its bits. */
function liveFields(
  body: unknown,
): { fields: BodyFields; ignored: string[] } | { errors: string[] } {
  const read = fieldsOf(body);
  if ('errors' in read) return read;
  const { fields } = read;
  const ignored = dropLegacyNames(fields);
  if (isG711(fields['encoding'])) fields['bit_depth'] ??= 8;
  return { fields, ignored };
}

/** The query parameter `region`. Other requests ignore it. */
export function parseRegion(
  value: unknown,
): { ok: true; region: string | undefined } | { ok: false; validationErrors: string[] } {
  if (value === undefined) return { ok: true, region: undefined };
  const parsed = Region.safeParse(value);
  if (parsed.success) return { ok: true, region: parsed.data };
  return { ok: false, validationErrors: [`region must be one of ${Region.options.join(', ')}`] };
}

function isG711(encoding: unknown): boolean {
  return encoding === 'wav/ulaw' || encoding === 'wav/alaw';
}

function configsUnasked(fields: BodyFields): string[] {
  return configsIn.flatMap(([part, names]) => {
    const holder = fields[part];
    return isFields(holder) ? unaskedConfigs(holder, names, `${part}.`) : [];
  });
}

function dropLegacyNames(fields: BodyFields): string[] {
  const realtime = fields['realtime_processing'];
  if (!isFields(realtime)) return [];
  return takeOut(realtime, legacyRealtimeNames, 'realtime_processing.');
}
