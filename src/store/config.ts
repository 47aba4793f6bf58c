import { z } from 'zod';

/** Settings of the store. `TRUNKLINE_DATA` also holds journals and recordings. */
export const StoreConfig = z.strictObject({
  dataDir: z.string().min(1).default('./data').meta({
    env: 'TRUNKLINE_DATA',
    description: 'Folder of the store, journals and recordings; owned by one process.',
  }),
  databaseUrl: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address')
    .optional()
    .meta({
      env: 'DATABASE_URL',
      description:
        'Postgres instead of SQLite, shared by several nodes. Several hosts are separated by commas: the one that takes writes is used.',
      secret: true,
    }),
  statementTimeoutMs: z.number().int().min(1_000).max(600_000).default(5_000).meta({
    env: 'TRUNKLINE_DATABASE_STATEMENT_TIMEOUT_MS',
    description:
      'Postgres gives a statement up after this time. A lock is waited for at most 2 s, and a transaction in which nothing happens ends after 10 s.',
  }),
  migrate: z.enum(['at-start', 'by-command']).default('at-start').meta({
    env: 'TRUNKLINE_MIGRATE',
    description:
      '`at-start`: a start brings the database to its schema. `by-command`: only `trunkline migrate` does, and a start whose schema is missing is refused.',
  }),
  lowWaterBytes: z
    .number()
    .int()
    .min(0)
    .max(2 ** 50)
    .default(268_435_456)
    .meta({
      env: 'TRUNKLINE_DISK_LOW_WATER_BYTES',
      description:
        'Free space on the data disk under which new calls are refused and readiness is off.',
    }),
  ballastBytes: z
    .number()
    .int()
    .min(0)
    .max(2 ** 50)
    .default(16_777_216)
    .meta({
      env: 'TRUNKLINE_DISK_BALLAST_BYTES',
      description:
        'Reserve file that is given back when the disk is full, so that running calls can finish.',
    }),
  setAsideCorrupt: z.boolean().default(false).meta({
    env: 'TRUNKLINE_STORE_SET_ASIDE',
    description:
      'Start with an empty store when the SQLite file is corrupt; the file is kept under another name.',
  }),
});

export type StoreConfig = z.infer<typeof StoreConfig>;
