import type { Kysely } from 'kysely';
import type { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { legsOf, roleFrom } from '../events/call-rows.ts';
import { recordingRoles } from '../roles.ts';

/** Reads from the rows whether parties of a call share a channel, and which roles its recording's channels have. */
export async function voicesOf(
  db: Kysely<Database>,
  callId: string,
): Promise<{ isMixed: boolean; channelRoles: readonly [Role, Role] }> {
  const legs = await legsOf(db, callId);
  const roles = legs.filter(({ channels }) => channels === 1).map(({ role }) => roleFrom(role));
  return { isMixed: roles.includes('mixed'), channelRoles: recordingRoles(roles) };
}
