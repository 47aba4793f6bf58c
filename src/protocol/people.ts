import type { Role } from './events.ts';

const roleNames: Record<Role, string> = { customer: 'Customer', agent: 'Agent', mixed: 'Speaker' };

type WhoSpeaks = {
  role?: Role | undefined;
  /** Counts from 0, as in the APIs. */
  speaker?: number | undefined;
  speaker_provisional?: boolean | undefined;
  channel?: number | undefined;
  /** The number of channels of the recording. With several channels, each may have speakers of its own. */
  channels?: number | undefined;
};

/**
 * The name of a speaker for every text that a person reads: the role if it is known, otherwise a number that counts
 * from one. A voice that is not certain yet has a question mark. `console/page/format.js` uses the same rule, and a
 * test compares the two.
 */
export function personName({
  role,
  speaker,
  speaker_provisional: isProvisional = false,
  channel = 0,
  channels = 1,
}: WhoSpeaks): string {
  if (speaker !== undefined) {
    const number = `${speaker + 1}${isProvisional ? '?' : ''}`;
    return channels > 1 ? `Channel ${channel + 1}, speaker ${number}` : `Speaker ${number}`;
  }
  if (role !== undefined) return roleNames[role];
  return channels > 1 ? `Channel ${channel + 1}` : 'Speaker';
}
