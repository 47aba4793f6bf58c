import { z } from 'zod';

export const ObjectsConfig = z.strictObject({
  url: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[A-Za-z0-9_.-]+)*\/?$/,
      'must be s3://bucket or s3://bucket/prefix, with letters, digits, dots, dashes and underscores',
    )
    .optional()
    .meta({
      env: 'TRUNKLINE_OBJECTS',
      description:
        'S3-compatible bucket for audio, as s3://bucket/prefix: finished recordings and uploads go there and leave the disk.',
    }),
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_OBJECTS_ENDPOINT',
      description: 'Address of the object store; unset: Amazon S3 in TRUNKLINE_OBJECTS_REGION.',
    }),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'letters, digits and dashes')
    .default('us-east-1')
    .meta({ env: 'TRUNKLINE_OBJECTS_REGION', description: 'Region that requests are signed for.' }),
  accessKey: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_OBJECTS_ACCESS_KEY',
    description: 'Access key id of the object store.',
  }),
  secretKey: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_OBJECTS_SECRET_KEY',
    secret: true,
    description: 'Its secret key.',
  }),
  sessionToken: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_OBJECTS_SESSION_TOKEN',
    secret: true,
    description:
      'Session token that belongs to temporary keys; they end, and with them the access.',
  }),
  credentialsUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_OBJECTS_CREDENTIALS_URL',
      description:
        'Instead of keys: an address that gives them for some hours, as the container endpoints of Amazon do. They are fetched anew before they end.',
    }),
  credentialsTokenFile: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_OBJECTS_CREDENTIALS_TOKEN_FILE',
    description: 'File with the token that this address is shown, where it asks for one.',
  }),
  tailS: z.number().min(0).max(3_600).default(0).meta({
    env: 'TRUNKLINE_OBJECTS_TAIL_S',
    description:
      'Every so many seconds the new audio of running calls goes there too, so that a lost disk loses no more than that; 0: never.',
  }),
  pathStyle: z.boolean().default(true).meta({
    env: 'TRUNKLINE_OBJECTS_PATH_STYLE',
    description: '0: the bucket is a part of the host name, and not of the path.',
  }),
});

export type ObjectsConfig = z.infer<typeof ObjectsConfig>;

/** Lists each setting that is set without another setting that it needs. */
export function objectsProblems(config: ObjectsConfig): string[] {
  const { url, accessKey, secretKey, sessionToken, endpoint } = config;
  const { credentialsUrl, credentialsTokenFile } = config;
  const others = [accessKey, secretKey, sessionToken, endpoint, credentialsUrl];
  if (url === undefined)
    return others.every((other) => other === undefined)
      ? []
      : ['objects: the settings of an object store are of use with TRUNKLINE_OBJECTS alone'];
  const problems: string[] = [];
  const hasKeys = accessKey !== undefined && secretKey !== undefined;
  if (!hasKeys && credentialsUrl === undefined)
    problems.push(
      'objects.url: TRUNKLINE_OBJECTS needs TRUNKLINE_OBJECTS_ACCESS_KEY and TRUNKLINE_OBJECTS_SECRET_KEY, or TRUNKLINE_OBJECTS_CREDENTIALS_URL',
    );
  if (credentialsUrl !== undefined && (accessKey ?? secretKey ?? sessionToken) !== undefined)
    problems.push(
      'objects.credentialsUrl: choose TRUNKLINE_OBJECTS_CREDENTIALS_URL or the keys, not both',
    );
  if (credentialsTokenFile !== undefined && credentialsUrl === undefined)
    problems.push(
      'objects.credentialsTokenFile: TRUNKLINE_OBJECTS_CREDENTIALS_TOKEN_FILE is of use with TRUNKLINE_OBJECTS_CREDENTIALS_URL alone',
    );
  return problems;
}
