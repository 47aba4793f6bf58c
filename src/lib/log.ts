import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger } from 'pino';
import type * as Pretty from 'pino-pretty';

export type { Logger } from 'pino';

/**
 * Fields whose values are never written. The rule is that no line of code logs secrets, numbers or words of people;
 * this list is the second defence, for the line that forgets the rule. It looks three levels deep.
 */
const secretFields = [
  'key',
  'keys',
  'apiKey',
  'apiKeys',
  'token',
  'secret',
  'secrets',
  'password',
  'authorization',
  'cookie',
  'signature',
  'url',
  'sessionUrl',
  'from',
  'to',
  'phone',
  'ani',
  'dnis',
  'text',
  'transcript',
  'payload',
  'body',
  'headers',
  'databaseUrl',
];

type LogOptions = { level?: string; pretty?: boolean; destination?: DestinationStream };

/** JSON lines for machines, readable lines for a person at a terminal. */
export function createLog(options: LogOptions = {}): Logger {
  const paths = secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  const settings = {
    level: options.level ?? 'info',
    redact: { paths, censor: '[redacted]' },
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: {
      // A library may put a URL or a body into fields of its errors: only the fields named here are written.
      err: (error: unknown) =>
        error instanceof Error
          ? {
              type: error.name,
              message: scrub(error.message),
              ...('code' in error ? { code: error.code } : {}),
              stack: scrub(error.stack ?? ''),
            }
          : { message: scrub(String(error)) },
    },
  };
  if (options.destination) return pino(settings, options.destination);
  if (!(options.pretty ?? process.stdout.isTTY)) return pino(settings);
  // The library is loaded only where a person watches a terminal: a service never needs it.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof Pretty.default;
  return pino(
    settings,
    pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
  );
}

/** Takes tokens out of URLs, and long runs of digits (numbers of phones and cards) out of a text for a log line. */
export function scrub(text: string): string {
  return text
    .replace(/([?&](?:token|key|secret|signature)=)[^&\s"']+/gi, '$1[redacted]')
    .replace(/(\/\/)[^/\s:@]+:[^/\s@]+@/g, '$1[redacted]@')
    .replace(/\bwhsec_[A-Za-z0-9+/=]+/g, '[redacted]')
    .replace(/\+?\d[\d\s().-]{7,}\d/g, '[number]');
}
