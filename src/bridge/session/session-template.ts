import { z } from 'zod';
import { liveRequestIssues, parseLiveRequest } from '../../protocol/parse-live-request.ts';
import { fieldErrors } from '../../protocol/validation.ts';
import { neededMessages, sessionRequest } from './session-request.ts';

/**
 * Fields whose value the stream or the call itself decides. A configured value would be silently overwritten, so it is
 * refused.
 */
const factsOfStream = ['encoding', 'bit_depth', 'sample_rate', 'channels', 'custom_metadata'];

/**
 * The configured fields of every session. They are checked as part of a whole request, with the schema that a speech
 * service uses: otherwise a wrong field would be found only in a call, and cost each call its words.
 */
export const SessionTemplate = z
  .record(z.string(), z.unknown())
  .superRefine((template, context) => {
    const wrong = (path: PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    for (const name of factsOfStream)
      if (Object.hasOwn(template, name))
        wrong([name], 'each stream says this itself; it cannot be set for all');
    const messages = z.record(z.string(), z.unknown()).safeParse(template['messages_config']);
    for (const name of Object.keys(neededMessages))
      if (messages.data?.[name] === false)
        wrong(['messages_config', name], 'cannot be off: the bridge needs these messages');
    const request = sessionRequest({
      template,
      overrides: {},
      format: { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
      metadata: {},
    });
    const issues = liveRequestIssues(request);
    for (const issue of issues)
      if (issue.code === 'unrecognized_keys')
        context.addIssue({ code: issue.code, keys: issue.keys, path: issue.path });
      else
        for (const { path, text } of fieldErrors([issue]))
          wrong(path.split('.'), text + given(issue));
    if (issues.length > 0) return;
    // The whole request is parsed because some errors appear only in combination: each field is valid, but not together
    // with another.
    const parsed = parseLiveRequest(request);
    if (parsed.ok) return;
    if (parsed.status === 422) wrong([], parsed.message);
    else for (const line of parsed.validationErrors) wrong([], line);
  });

/**
 * The value for an error message, if it is short and cannot be a secret: a number, a switch, or a word of a fixed
 * list.
 */
function given({ code, input }: z.core.$ZodIssue): string {
  if (typeof input === 'number' || typeof input === 'boolean') return `, not ${input}`;
  return code === 'invalid_value' && typeof input === 'string' && input.length <= 40
    ? `, not "${input}"`
    : '';
}
