import type { Role } from './events.ts';

const roleNames: Record<Role, string> = { customer: 'Customer', agent: 'Agent', mixed: 'Speaker' };

type WhoSpeaks = {
  role?: Role | undefined;
  /** Counts from 0, as the interfaces give it. */
  speaker?: number | undefined;
  speaker_provisional?: boolean | undefined;
  channel?: number | undefined;
  /** The number of channels of the recording: where there are several, each may have speakers of its own. */
  channels?: number | undefined;
};

/**
 * The one way to name who speaks wherever a person reads it: the role where it is known, else a number that counts
 * from one. A voice that is not yet sure has a question mark. `console/page/format.js` says the same, and a test
 * compares the two.
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
