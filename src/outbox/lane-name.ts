/** A lane as the key of a map. */
export function laneName(endpoint: string, callId: string): string {
  return `${endpoint} ${callId}`;
}
