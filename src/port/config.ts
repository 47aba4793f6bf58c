import { z } from 'zod';
import { proxiesIn } from './addresses.ts';
import { SharedSecret } from './secrets.ts';

/** The range is checked here, because the library would end the process with its own error. */
const Proxy = z
  .string()
  .min(1)
  .refine((range) => {
    try {
      proxiesIn([range]);
      return true;
    } catch {
      // The library's error only says that the text is no range.
      return false;
    }
  }, 'must be an address or a range such as 10.0.0.0/8');

/**
 * Settings of the one port: its address on this machine, the keys that it accepts, and the address by which others
 * reach it.
 */
export const HttpConfig = z.strictObject({
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .meta({ env: 'PORT', description: 'The one port; 0 takes a free one and prints it.' }),
  host: z.string().min(1).default('127.0.0.1').meta({
    env: 'HOST',
    description: 'The address to listen on. Anything but loopback needs API keys.',
  }),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_PUBLIC_URL',
      description:
        'The address by which carriers and clients reach us; carrier signatures are checked against it.',
    }),
  apiKeys: z.array(SharedSecret).default([]).meta({
    env: 'TRUNKLINE_API_KEYS',
    secret: true,
    description:
      'Keys for the operator API, the console and our speech API, sent as `x-service-key`.',
  }),
  trustedProxies: z.array(Proxy).default([]).meta({
    env: 'TRUNKLINE_TRUSTED_PROXIES',
    description:
      'Addresses or CIDR ranges whose X-Forwarded headers are believed, and which speak for many: other addresses share the connections fairly.',
  }),
  maxConnections: z.int().min(16).max(1_000_000).default(8_192).meta({
    env: 'TRUNKLINE_MAX_CONNECTIONS',
    description:
      'Sockets held at once, all kinds; fewer where the limit of open files is low (ulimit -n).',
  }),
});
export type HttpConfig = z.infer<typeof HttpConfig>;
