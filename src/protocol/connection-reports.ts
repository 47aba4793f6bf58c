import { z } from 'zod';
import { DateTime } from './values.ts';

/** A CRM that Trunkline knows, and what a person has to have and to say for it. */
const ApiCrmPreset = z
  .object({
    name: z.string(),
    title: z.string(),
    needs: z
      .array(z.string())
      .describe('The places where a person makes the token, and its rights.'),
    needs_token: z.boolean().describe('False where an `auth` block is needed in its place.'),
    needs_url: z.boolean().describe('True where nobody but the operator knows the address.'),
    has_setup: z
      .boolean()
      .describe('True where the field for the id of a call can be made from here.'),
    options: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        required: z.boolean(),
        default: z.string().nullable(),
        values: z.array(z.string()).nullable().describe('Null where any text will do.'),
      }),
    ),
  })
  .meta({ id: 'CrmPreset' });
export type ApiCrmPreset = z.infer<typeof ApiCrmPreset>;

export const CrmPresetList = z
  .object({ items: z.array(ApiCrmPreset) })
  .meta({ id: 'CrmPresetList' });
export type CrmPresetList = z.infer<typeof CrmPresetList>;

/** An endpoint that was connected while a process ran. No secret of it is told. */
const ApiConnection = z
  .object({
    name: z.string(),
    preset: z.string().nullable(),
    host: z.string(),
    changed_at: DateTime,
    state: z
      .enum(['connected', 'shadowed', 'unreadable'])
      .describe(
        '`shadowed`: the settings have an endpoint of this name, and it is used; `unreadable`: the secret that sealed it is gone, or its preset: connect it again.',
      ),
    detail: z.string().nullable(),
  })
  .meta({ id: 'Connection' });
export type ApiConnection = z.infer<typeof ApiConnection>;

export const ConnectionList = z
  .object({ items: z.array(ApiConnection) })
  .meta({ id: 'ConnectionList' });
export type ConnectionList = z.infer<typeof ConnectionList>;

export const Connected = ApiConnection.extend({
  secret: z
    .string()
    .optional()
    .describe('The secret that signs the events of a webhook; it is told this once.'),
}).meta({ id: 'Connected' });
export type Connected = z.infer<typeof Connected>;

export const ConnectionTrial = z
  .object({
    ok: z.boolean(),
    lines: z.array(z.object({ ok: z.boolean(), text: z.string() })),
  })
  .meta({ id: 'ConnectionTrial' });
export type ConnectionTrial = z.infer<typeof ConnectionTrial>;

/** One part of a trial of an endpoint that is in use. */
export const TrialPart = z.enum(['check', 'setup', 'record', 'kept-record']);
export type TrialPart = z.infer<typeof TrialPart>;

/** The endpoint as the file of the settings has it, without its name. */
export const ConnectionRequest = z
  .looseObject({
    preset: z.string().optional(),
    token: z.string().optional(),
    url: z.string().optional(),
    options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  })
  .describe('The fields of an endpoint in the file of the settings, but its name.')
  .meta({ id: 'ConnectionRequest' });
